"""Dolma's taggers of models and of tokenizers against dolma_fasttext and dolma_tokens; a part of parity_dolma.py.

The models are the language model of the test data (lid.176.ftz) where there is one, and small ones trained here by the peer's own fastText, since
Dolma's are nowhere but on its servers: what is compared is what the taggers do to a text and what they make of a model's labels.
"""
import collections
import hashlib
import json
import os
import random
import signal
import time
import unicodedata

from kit import read_corpus, read_dataset, run_script

LANGUAGES = """ft_lang_id_doc_v1 ft_lang_id_1e2 ft_lang_id_paragraph_v1 ft_lang_id_en_doc_v2 ft_lang_id_en_only_v2 ft_lang_id_en_paragraph_v2
ft_lang_id_en_paragraph_with_doc_score_v2""".split()
LABELS = {"jigsaw_hatespeech_document_v2": ("non_toxic", "toxic"), "jigsaw_nsfw_document_v1": ("nsfw", "non_nsfw"), "dclm-oh-eli5": ("cc", "hq"),
          "dolma17-quality": ("wiki", "books", "pes2o"), "code_composition": ("code", "prose", "label_a")}
SECONDS = 2.0


class Slow(BaseException):
    pass


def on_alarm(_signal, _frame):
    raise Slow()


def train(path, labels, texts):
    """A model of so many labels that depends on words; the labels are arbitrary."""
    import fasttext
    with open(path + ".txt", "w", encoding="utf-8") as out:
        for text in texts:
            line = " ".join(text.split())[:2000]
            out.write("__label__%s %s\n" % (labels[hashlib.md5(line.encode()).digest()[0] % len(labels)], line))
    model = fasttext.train_supervised(path + ".txt", dim=6, epoch=4, lr=0.8, wordNgrams=2, bucket=2000, minCount=1, minn=2, maxn=4, thread=1, verbose=0)
    model.save_model(path)


def python_name(name):
    return "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)


def close(a, b):
    """Equal spans; a score may be off by one in the fifth digit, where two sums of single precision end on either side of a half."""
    return len(a) == len(b) and all(x[:2] == y[:2] and abs(x[2] - y[2]) <= 1.0001e-5 for x, y in zip(a, b))


def compare_tagger(name, tagger, ours, records, budget):
    """Prints and counts the differences of one tagger; its output's names become those of attributes."""
    prefix = python_name(name)
    compared = failed = near = refused = 0
    ended = collections.Counter()
    begin = time.process_time()
    from dolma.core.data_types import InputSpec
    for record in records:
        if time.process_time() - begin > budget:
            break
        if record["id"] not in ours:
            refused += 1
            continue
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            output = tagger.tag(InputSpec(id=record["id"], text=record["text"], source="parity"))
        except (Slow, IndexError, ValueError, ZeroDivisionError) as error:
            ended[type(error).__name__] += 1
            continue
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        theirs = {"%s__%s__%s" % (prefix, prefix, python_name(key)): [list(span) for span in spans] for key, spans in output.items()}
        mine = ours[record["id"]]
        compared += 1
        if list(mine) == list(theirs) and mine == theirs:
            continue
        if sorted(mine) == sorted(theirs) and all(close(mine[key], theirs[key]) for key in theirs):
            near += 1
            continue
        failed += 1
        if failed <= 4:
            key = next((k for k in list(mine) + list(theirs) if mine.get(k) != theirs.get(k)), "order")
            print("  %s %s: ours %s, theirs %s" % (record["id"], key, str(mine.get(key))[:200], str(theirs.get(key))[:200]))
    print("  %-45s %6d documents, %d differ, %d within the last digit, %d refused; the peer ended: %s" % (name, compared, failed, near, refused, dict(ended) or "never"))
    if refused * 50 > compared:
        print("  %s: too few were compared" % name)
    return failed + (refused * 50 > compared or compared == 0)


def compare_models(tmp, corpus):
    from dolma.core.registry import TaggerRegistry
    import dolma.taggers  # pylint: disable=unused-import
    signal.signal(signal.SIGPROF, on_alarm)
    records = list(read_corpus(corpus))
    random.Random(5).shuffle(records)
    texts = [record["text"] for record in records if record["text"].strip()][:1500]
    models = {}
    language = os.path.join(os.environ.get("SLUICE_TEST_DATA", ""), "lid.176.ftz")
    if os.path.exists(language):
        models.update({name: language for name in LANGUAGES})
    else:
        print("  no lid.176.ftz among the data: a trained model of three languages in its place")
        models.update({name: os.path.join(tmp, "language.bin") for name in LANGUAGES})
        train(os.path.join(tmp, "language.bin"), ("en", "de", "fr"), texts)
    for name, labels in LABELS.items():
        models[name] = os.path.join(tmp, python_name(name) + ".bin")
        train(models[name], labels, texts)
    stages = ["docs | s.dolma_fasttext { %s, tagger = %s } | s.write_jsonl { %s, columns = { 'id', 'attributes' }, compression = 'none' }"
              % (json.dumps(path), json.dumps(name), json.dumps("model-" + name)) for name, path in models.items()]
    run_script("local s = require 'sluice'\nlocal docs = s.files { %s, split = '1MiB' } | s.read_jsonl {}\nreturn s.pipeline { 'models',\n%s }\n"
               % (json.dumps(corpus), ",\n".join(stages)), tmp, "models")
    failed = 0
    budget = float(os.environ.get("PARITY_DOLMA_BUDGET") or 0.05) * os.path.getsize(corpus) / 1e6 + 0.2
    for name, path in models.items():
        kind = TaggerRegistry.get(name)
        tagger = type(kind.__name__, (kind,), {"MODEL_PATH": path})()
        ours = {row["id"]: row["attributes"] for row in read_dataset(os.path.join(tmp, "model-" + name))}
        failed += compare_tagger(name, tagger, ours, records, budget)
    return failed


# ---- tokens ----

REPETITIONS = ["tokenizer_repetitions_v1", "paragraph_tokenizer_repetitions_v1", "tokenizer_repetitions_v2r2"]
COUNTS = ["dolma_v1_tokenizer", "dolma_v2_tokenizer", "tokenizers_EleutherAI_GPT_NeoX_20B", "tokenizers_AI2_OLMo_v1"]


def repeated(count, seed):
    """Texts of runs of words and letters that come again and again, with starts and ends of every kind."""
    rng = random.Random(seed)
    words = [" the", "the", " a", "\n", ".", " .", "ab", " ab", "\u00e9", " \U0001f600", "\u4f60", "0", " 1", "  ", "\n\n", "-", "<|endoftext|>", " spam", "\t", "x"]
    for number in range(count):
        text = ""
        for _ in range(rng.randrange(1, 6)):
            piece = "".join(rng.choice(words) for _ in range(rng.randrange(1, 15)))
            text += piece * rng.choice([1, 2, 3, 4, 9]) + piece[:rng.randrange(len(piece) + 1)] + "".join(rng.choice(words) for _ in range(rng.randrange(4)))
        yield {"id": "repeated-%d" % number, "text": text, "url": "x"}


def compare_tokens(tmp, corpus, folder):
    """folder: that of Dolma's test tokenizers (peers.tar.zst)."""
    import tokenizers
    from dolma.core.registry import TaggerRegistry
    import dolma.taggers  # pylint: disable=unused-import
    signal.signal(signal.SIGPROF, on_alarm)
    if folder is None or not os.path.isdir(folder):
        print("  tokens: no peers.tar.zst among the data: not compared")
        return 0
    plain = os.path.join(folder, "gpt-neo-test-tokenizer.json")
    with open(plain, encoding="utf-8") as text:
        data = json.load(text)
    end = {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}
    data["post_processor"] = {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}, end], "pair": [
        {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": {
            "<|endoftext|>": {"id": "<|endoftext|>", "ids": [0], "tokens": ["<|endoftext|>"]}}}
    ending = os.path.join(tmp, "ending.json")
    with open(ending, "w", encoding="utf-8") as out:
        json.dump(data, out, ensure_ascii=False)
    records = list(read_corpus(corpus))
    # Normalized text has no places in the original here, so that such a document is refused; the peer has them. (Python's NFC knows other
    # characters than the tokenizer's, so that some are refused nevertheless.)
    changed = [r for r in records if unicodedata.normalize("NFC", r["text"]) != r["text"]]
    print("  tokens: %d documents that NFC changes left out of the repetitions" % len(changed))
    gone = {r["id"] for r in changed}
    some = [r for r in records if r["id"] not in gone] + list(repeated(3000, 6))
    paths = {}
    for name, rows in (("some", some), ("all", records)):
        random.Random(8).shuffle(rows)
        paths[name] = os.path.join(tmp, "tokens-%s.jsonl" % name)
        with open(paths[name], "w", encoding="utf-8") as out:
            out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    failed = 0
    budget = float(os.environ.get("PARITY_DOLMA_BUDGET") or 0.05) * os.path.getsize(corpus) / 1e6 + 0.2
    for kind, path, names, rows, source in (("plain", plain, REPETITIONS, some, "some"), ("ending", ending, REPETITIONS, some, "some"), ("ending", ending, COUNTS, records, "all"),
                                            ("llama", os.path.join(folder, "llama-test-tokenizer.json"), COUNTS, records, "all")):
        out = "tokens-%s-%s" % (kind, names[0])
        print("  with %s:" % os.path.basename(path))
        run_script("""local s = require "sluice"
return s.pipeline { "tokens", s.files { %s, split = "1MiB" } | s.read_jsonl {} | s.dolma_tag { { %s }, tokenizer = %s }
  | s.write_jsonl { %s, columns = { "id", "attributes" }, compression = "none" }, max_bad = "1%%" }
""" % (json.dumps(paths[source]), ", ".join('"%s"' % name for name in names), json.dumps(path), json.dumps(out)), tmp, out)
        ours = {row["id"]: row["attributes"] for row in read_dataset(os.path.join(tmp, out))}
        tokenizers.Tokenizer.from_pretrained = staticmethod(lambda _name, file=path: tokenizers.Tokenizer.from_file(file))
        for name in names:
            one = {i: {key: spans for key, spans in row.items() if key.startswith(python_name(name) + "__")} for i, row in ours.items()}
            failed += compare_tagger(name, TaggerRegistry.get(name)(), one, rows, budget)
    return failed
