#!/usr/bin/env python3
"""Compares deduplication and decontamination with datatrove 0.10, the EleutherAI janitor and Dolma's fixtures.

Usage: parity_dedup.py --tmp DIR        (with $SLUICE, $SLUICE_TEST_DATA, $PARITY_MEGABYTES; see kit.py)

The corpus is the shared one with planted copies, runs of sentences of other documents, and benchmark items, told by a seed.
- exact: ExactDedupSignature, ExactFindDedups and ExactDedupFilter, by text and by url with priorities, one task; also against an index.
- sentences: SentenceDedupSignature, SentenceFindDedups and SentenceDedupFilter, one task; survivors and texts.
- decontamination: NGramsDecontIndexer.compute_hashes fed with the items (its own reader of tasks needs lighteval, not here) and
  NGramsDecontFilter: what is dropped, the n-gram and the task.
- janitor: lm_eval/decontamination/janitor.py in pure Python: the pieces that are left.
- Dolma: dedupe-by-url, -paragraphs, -paragraph-ngrams of its tests: the spans.
Left out, and counted: texts with the word IS_ALPHA (see parity_words.py). datatrove's SingleBloomFilter isn't compared: it hashes to 32 bits
and ands with its size, so that its answers are those of another filter than its parameters say.
Exit: 0 all equal; 1 a difference.
"""
import argparse
import contextlib
import csv
import glob
import gzip
import importlib.util
import io
import json
import os
import random
import string
import subprocess
import sys
import time

os.environ.setdefault("TQDM_DISABLE", "1")

import kit
from kit import Decision

import numpy as np
from datatrove.data import Document
from datatrove.pipeline.decont.n_grams import NGramsDecontConfig, NGramsDecontFilter, NGramsDecontIndexer
from datatrove.pipeline.dedup import exact_dedup as exact
from datatrove.pipeline.dedup import sentence_dedup as sentence
from datatrove.utils.hashing import create_hash_func
from datatrove.utils.word_tokenizers import load_word_tokenizer
from loguru import logger


LM_EVAL = "lm_eval==0.4.9.1"


def timed(label, function):
    begin = time.process_time()
    result = function()
    print("    %s: %.1f s of processor time" % (label, time.process_time() - begin))
    return result


def odd_items(records):
    """Items of unusual text: pieces of the adversarial documents, which so are contaminated, and items at the limits of the rules."""
    numbered = ["n%d" % k for k in range(40)]
    pairs = [("?!... --- ***", "., ;: !?"), ("again " * 40, "again " * 40), ("one two three " * 9, "three two one " * 9), ("x" * 5000, "x" * 5000), ("\U0001f600 " * 30, "\U0001f44d\U0001f3fd " * 30)]
    pairs += [(" ".join(numbered[:a]), " ".join(numbered[a:a + b])) for a in (1, 2, 11, 12, 13) for b in (1, 2, 11, 12, 13)]  # n-grams across question and answer
    for record in records:
        text = record["text"]
        for begin, middle, end in ((0, 200, 400), (100, 100, 700), (len(text) - 900, len(text) - 300, len(text))):
            begin = max(begin, 0)
            pairs.append((text[begin:middle], text[middle:end]))
        pairs.append((text[:300].swapcase(), " - ".join(text[:600].split())))
    return [{"task": "odd %d" % (k % 2), "question": question, "answer": answer} for k, (question, answer) in enumerate(pairs) if question.strip() and answer.strip()]


def odd_documents(records):
    """Documents whose n-grams would be an item's if the end of one document went on in the next, and such that hold whole odd items and their halves."""
    numbered = ["n%d" % k for k in range(40)]
    texts = [" ".join(numbered[:k]) for k in (1, 5, 11, 12, 13, 26)] + [" ".join(numbered[k:26]) for k in (5, 11, 12, 13)]
    texts += ["word " + " ".join(numbered[:13]).upper() + "!!! " + ", ".join(numbered[13:26]), "\n".join(numbered[:26]), "again " * 12, "again " * 13, "again, " * 500, "one two three " * 5, ".,;: " * 100]
    texts += [a["text"][-400:] + b["text"][:400] for a, b in zip(records, records[1:])]
    return [{"id": "odd-%d" % k, "text": text, "url": "http://example.com/%d" % k} for k, text in enumerate(texts)]


def make_items(tmp, rng, words, odd):
    """Benchmark items as JSON lines: GSM8K and MMLU where they are, made-up and odd ones elsewhere."""
    items = []
    archive = os.path.join(os.environ.get("SLUICE_TEST_DATA", ""), "benchmarks.tar.zst")
    if os.path.exists(archive):
        folder = os.path.join(tmp, "benchmarks")
        os.makedirs(folder)
        subprocess.run(["tar", "--zstd", "-xf", archive, "-C", folder], check=True)
        for path in sorted(glob.glob(folder + "/**/*test*.jsonl", recursive=True)):
            for line in open(path, encoding="utf-8"):
                record = json.loads(line)
                items.append({"task": "gsm8k", "question": record["question"], "answer": record["answer"]})
        for path in sorted(glob.glob(folder + "/**/*_test.csv", recursive=True))[:12]:
            for row in csv.reader(open(path, encoding="utf-8", newline="")):
                if len(row) != 6 or row[5] not in ("A", "B", "C", "D"):
                    continue
                items.append({"task": os.path.basename(path)[:-4], "question": row[0], "answer": row[1 + "ABCD".index(row[5])]})
    for k in range(200):
        question = " ".join(rng.choice(words) for _ in range(rng.randrange(1, 40)))
        answer = ", ".join(rng.choice(words) for _ in range(rng.randrange(1, 30)))
        items.append({"task": "made %d" % (k % 3), "question": question + "?", "answer": answer + "."})
    rng.shuffle(items)
    items = items[:900] + odd_items(odd)
    for number, item in enumerate(items):
        item["id"] = "item-%d" % number
    return items


def plant(records, items, rng):
    """Copies, runs of sentences from elsewhere and items between the documents."""
    out = []
    for number, record in enumerate(records):
        record = dict(record, priority=rng.randrange(1, 4) if number % 5 else 65535)
        out.append(record)
        kind = number % 9
        copy = dict(record, id=record["id"] + "+%d" % number, priority=rng.randrange(1, 5))
        other = out[rng.randrange(len(out))]["text"][:20000]
        if kind == 1:
            out.append(copy)
        elif kind == 4 and len(record["text"]) < 60000:
            sentences = other.split(". ")
            at = rng.randrange(len(sentences))
            begin = record["text"][:rng.randrange(1, 3000)]
            out.append(dict(copy, text=begin + ". " + ". ".join(sentences[at:at + rng.randrange(2, 9)]) + ". " + record["text"][-900:]))
        elif kind == 7 and len(record["text"]) < 60000:
            item = items[rng.randrange(len(items))]
            middle = rng.choice([item["question"] + " " + item["answer"], item["answer"].upper(), item["question"], (item["question"] + "\n\n - " + item["answer"])[5:]])
            cut = rng.randrange(len(record["text"]) + 1)
            out.append(dict(copy, text=record["text"][:cut] + " " + middle + " " + record["text"][cut:]))
    return out


def documents(records):
    return [Document(text=r["text"], id=r["id"], metadata={"url": r["url"], "priority": r["priority"]}) for r in records]


def by_text(doc) -> str:
    return doc.text


def by_url(doc) -> str:
    return doc.metadata["url"]


def peer_exact(records, tmp, name, getter, priority=None, index=None):
    config = exact.ExactDedupConfig(content_getter=getter, document_priority=priority)
    folder = os.path.join(tmp, "peer-" + name)
    exact.ExactDedupSignature(folder + "/sigs", config=config).run(documents(records), rank=0, world_size=1)
    if index is not None:
        exact.ExactDedupSignature(folder + "/old", config=config).run(documents(index), rank=0, world_size=1)
        exact.ExactDedupBuildIndex(folder + "/old", folder + "/index", index_name="old", config=config).run(rank=0, world_size=1)
    exact.ExactFindDedups(folder + "/sigs", folder + "/dups", config=config, index_folder=folder + "/index" if index is not None else None).run(rank=0, world_size=1)
    kept = {d.id for d in exact.ExactDedupFilter(folder + "/dups", config=config).run(iter(documents(records)), rank=0, world_size=1)}
    return {r["id"]: Decision(r["id"] in kept) for r in records}


def peer_sentences(records, tmp, name, **options):
    config = sentence.SentDedupConfig(**options)
    folder = os.path.join(tmp, "peer-" + name)
    sentence.SentenceDedupSignature(folder + "/sigs", config=config).run(documents(records), rank=0, world_size=1)
    sentence.SentenceFindDedups(folder + "/sigs", folder + "/dups", config=config).run(rank=0, world_size=1)
    kept = {d.id: d.text for d in sentence.SentenceDedupFilter(folder + "/dups", config=config).run(iter(documents(records)), rank=0, world_size=1)}
    return {r["id"]: Decision(r["id"] in kept, None, kept.get(r["id"])) for r in records}


def peer_decontamination(records, items, tmp, **options):
    config = NGramsDecontConfig(**options)
    folder = os.path.join(tmp, "peer-decontamination-%d" % len(options))
    os.makedirs(folder)
    indexer = object.__new__(NGramsDecontIndexer)  # without the check for lighteval, which only reads tasks
    indexer.config, indexer.tokenizer, indexer.hash_func = config, load_word_tokenizer("en"), create_hash_func(config.hash_config)
    hashes = {}
    for item in items:
        hashes.setdefault(item["task"], set()).update(indexer.compute_hashes(item["answer"], item["question"]))
    for task, found in hashes.items():
        np.array(sorted(found), dtype=config.hash_config.np_descr).tofile(os.path.join(folder, "%s.index.hashes" % task.replace(" ", "_")))
    stage = NGramsDecontFilter(folder, config=config)
    out = {}
    for doc in documents(records):
        kept = stage.filter(doc) is True
        out[doc.id] = Decision(kept, None if kept else "%s in %s" % (doc.metadata["contaminated_ngram"], doc.metadata["contaminated_task"]), None)
    return out


def janitor_module(tmp):
    """The janitor's file alone: its package needs a hundred others, which the file does not."""
    folder = os.path.join(tmp, "lm_eval")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", folder, LM_EVAL]
    if subprocess.run(command, check=False).returncode != 0:
        return None
    path = os.path.join(folder, "lm_eval", "decontamination", "janitor.py")
    spec = importlib.util.spec_from_file_location("janitor", path)
    module = importlib.util.module_from_spec(spec)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        spec.loader.exec_module(module)
    return module


def peer_janitor(module, records, items):
    janitor = module.Janitor(delete_chars=string.punctuation)
    for item in items:
        janitor.register_contaminant_python(item["question"])
        janitor.register_contaminant_python(item["answer"])
    out = {}
    for r in records:
        pieces = janitor.clean_python(r["text"])
        # One piece after another, as `join = ""` puts them; the empty string is a document that goes.
        out[r["id"]] = Decision(any(pieces), None, "".join(pieces))
    return out


def dolma(tmp):
    """The spans of Dolma's own tests."""
    archive = os.path.join(os.environ.get("SLUICE_TEST_DATA", ""), "peers.tar.zst")
    if not os.path.exists(archive):
        print("dolma: no peers.tar.zst among the data: not compared")
        return 0
    folder = os.path.join(tmp, "dolma")
    os.makedirs(folder)
    subprocess.run(["tar", "--zstd", "-xf", archive, "-C", folder], check=True)
    folder += "/peers/dolma/tests/data"
    source = folder + "/provided/deduper/documents/000.json.gz"
    docs = [json.loads(line) for line in gzip.open(source, "rt", encoding="utf-8")]

    def expected(name, attribute):
        return {r["id"]: r["attributes"].get(attribute, []) for r in (json.loads(line) for line in gzip.open("%s/expected/%s.json.gz" % (folder, name), "rt", encoding="utf-8"))}

    failed = 0
    # Documents by a key: the second one is a duplicate.
    for doc in docs:
        doc["url"] = doc["metadata"]["url"]
    path = os.path.join(tmp, "dolma.jsonl")
    with open(path, "w", encoding="utf-8") as out:
        for doc in docs:
            out.write(json.dumps({"id": doc["id"], "text": doc["text"], "url": doc["url"]}, ensure_ascii=False) + "\n")
    ours = kit.run_sluice('s.exact { over = "url" }', path, tmp, "dolma-url", columns='url = "utf8"')
    theirs = {i: Decision(not spans) for i, spans in expected("dedupe-by-url", "bff_duplicate_url").items()}
    failed += kit.compare("dolma dedupe-by-url", ours, theirs, reasons=False, texts=False)
    # Spans. Where a text holds characters of several bytes, Dolma's last span ends one behind the text: it compares a count of characters
    # with one of bytes.
    for name, stages in (("dedupe-paragraph-ngrams", "ngram = 6, stride = 3, threshold = 0.5"), ("dedupe-paragraphs", "ngram = 10000, stride = 1, threshold = 0.5")):
        ours = kit.run_sluice('s.bloom_paragraphs { mode = "dolma", action = "tag", expected = 100000, false_positives = 1e-9, %s }' % stages, path, tmp, name)
        wanted = expected(name, "bff_duplicate_paragraph_spans")
        wrong = 0
        for doc in docs:
            found = [[b, e, round(s, 6)] for b, e, s in ours[doc["id"]].row["duplicate_spans"]]
            size = len(doc["text"])
            theirs = [[b, min(e, size), round(s, 6)] for b, e, s in wanted[doc["id"]]]
            if found != theirs:
                wrong += 1
                print("  DIFFERS %s %s: %s, expected %s" % (name, doc["id"], found, theirs))
        print("%-24s %d documents, %d spans, %d differ" % ("dolma " + name, len(docs), sum(len(s) for s in wanted.values()), wrong))
        failed += wrong
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tmp", required=True)
    tmp = parser.parse_args().tmp
    logger.remove()
    rng = random.Random(8)
    base = list(kit.read_corpus(kit.make_corpus(tmp)))
    words = [w for r in base[:3000] for w in r["text"][:2000].split()][:20000]
    odd = [r for r in base if r["id"].startswith("adv/")][:220]
    items = make_items(tmp, rng, words, odd)
    # The odd ones come first: whatever part of the documents is judged has them.
    records = plant(odd_documents(odd) + base, items, rng)
    print("%d documents, %d characters, %d items; %d left out for the word IS_ALPHA" % (
        len(records), sum(len(r["text"]) for r in records), len(items), sum("IS_ALPHA" in r["text"] for r in records)))
    records = [r for r in records if "IS_ALPHA" not in r["text"]]
    corpus = os.path.join(tmp, "planted.jsonl")
    with open(corpus, "w", encoding="utf-8") as out:
        for r in records:
            out.write(json.dumps(r, ensure_ascii=False) + "\n")
    with open(os.path.join(tmp, "items.jsonl"), "w", encoding="utf-8") as out:
        for item in items:
            out.write(json.dumps(item, ensure_ascii=False) + "\n")
    source = {r["id"]: r["text"] for r in records}
    columns = 'url = "utf8", priority = "int64"'
    failed = 0

    def run(stages, name):
        return kit.run_sluice(stages, corpus, tmp, name, columns=columns)

    theirs = peer_exact(records, tmp, "exact", by_text)
    failed += kit.compare("exact", run("s.exact {}", "exact"), theirs, reasons=False, texts=False)
    theirs = peer_exact(records, tmp, "url", by_url, lambda doc: doc.metadata["priority"])
    failed += kit.compare("exact by url, priorities", run('s.exact { over = "url", priority = "priority" }', "url"), theirs, reasons=False, texts=False)
    old = records[::3]
    with open(os.path.join(tmp, "old.jsonl"), "w", encoding="utf-8") as out:
        for r in old:
            out.write(json.dumps(r, ensure_ascii=False) + "\n")
    kit.run_script('local s = require "sluice"\nreturn s.pipeline { "index", s.files "old.jsonl" | s.read_jsonl {} | s.exact_index {} | s.write_jsonl { "index" } }\n', tmp, "index")
    theirs = peer_exact(records, tmp, "against", by_text, index=old)
    failed += kit.compare("exact against an index", run('s.exact { against = "index", against_only = true }', "against"), theirs, reasons=False, texts=False)

    # spaCy takes a minute for 10 MB: where the test must be fast, it judges a quarter.
    if float(os.environ.get("PARITY_MEGABYTES") or 50) < 20:
        records = records[:len(records) // 4] if len(records) > 2000 else records[:1000]
        corpus = os.path.join(tmp, "quarter.jsonl")
        with open(corpus, "w", encoding="utf-8") as out:
            for r in records:
                out.write(json.dumps(r, ensure_ascii=False) + "\n")
    theirs = timed("datatrove, sentences", lambda: peer_sentences(records, tmp, "sentences"))
    failed += kit.compare("sentences", run("s.sentence_dedup { peer = true }", "sentences"), theirs, reasons=False, source=source)
    part = records[:len(records) // 4]
    corpus_all, corpus = corpus, os.path.join(tmp, "part.jsonl")
    with open(corpus, "w", encoding="utf-8") as out:
        for r in part:
            out.write(json.dumps(r, ensure_ascii=False) + "\n")
    theirs = peer_sentences(part, tmp, "lines", split_sentences=False, n_sentences=2, min_words_to_remove_span=9, min_num_sentences=2, min_doc_words=5)
    ours = run('s.sentence_dedup { peer = true, unit = "lines", n = 2, min_words_to_remove = 9, min_units = 2, min_words = 5 }', "lines")
    failed += kit.compare("lines, words to remove", ours, theirs, reasons=False, source=source)
    corpus = corpus_all

    for name, options, settings in (("n-grams", {}, ""), ("n-grams, queries", {"n_grams": 8, "find_query_ngrams": True}, ", ngram = 8, query_ngrams = true")):
        theirs = timed("datatrove, " + name, lambda o=options: peer_decontamination(records if not o else part, items, tmp, **o))
        corpus = corpus_all if not options else os.path.join(tmp, "part.jsonl")
        ours = run('s.decontaminate { reference = "items.jsonl"%s }' % settings, "decontaminate-%d" % len(options))
        ours = {i: d if d.kept else d._replace(reason="%s in %s" % (d.row["contamination"]["ngram"], d.row["contamination"]["task"].replace(" ", "_"))) for i, d in ours.items()}
        failed += quietly(kit.compare, "decontamination, " + name, ours, theirs)
    corpus = corpus_all

    module = janitor_module(tmp)
    if module is None:
        print("janitor: no %s to be had: not compared" % LM_EVAL)
    else:
        theirs = timed("janitor", lambda: peer_janitor(module, records, items))
        ours = run('s.decontaminate { reference = "items.jsonl", rule = "janitor", join = "", peer = true }', "janitor")
        failed += kit.compare("janitor", ours, theirs, reasons=False, source=source)
    failed += dolma(tmp)
    sys.exit(1 if failed else 0)


def quietly(compare, label, ours, theirs):
    """Without the list of reasons, which are n-grams here."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        failed = compare(label, ours, theirs, texts=False)
    lines = out.getvalue().split("\n")
    print(lines[0] + "; %d contaminated" % sum(not d.kept for d in theirs.values()))
    for line in lines[2:-1]:
        print(line)
    if all(d.kept for d in theirs.values()):
        print("  DIFFERS %s: nothing is contaminated, so nothing was compared" % label)
        failed += 1
    return failed


if __name__ == "__main__":
    main()
