#!/usr/bin/env python3
"""Dolma's taggers and mixer against dolma_tag and dolma_mix.

Usage: parity_dolma.py TMP

Taggers: every attribute of every document of the shared corpus, spans and rounded scores, from the package `dolma` in this Python and from
the pipeline. Documents of which a tagger of Dolma makes an error or takes more than SECONDS are listed and left out for that tagger.
Mixer: Dolma's own end-to-end fixtures (peers.tar.zst, Apache-2.0), and rules, spans and documents made at random, run through both.
"""
import collections
import gzip
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import unicodedata

import yaml

from dolma_models import compare_models, compare_tokens
from kit import make_corpus, read_corpus, read_dataset, run_script

SECONDS = 0.5
TAGGERS = """gopher_v1 gopher_v2 c4_v1 c4_v2 repetitions_v1 paragraph_repetitions_v1 pii_regex_v1 pii_regex_v2 pii_regex_with_counts_v2
pii_regex_with_counts_fast_v2 bytes_length_v1 doc_count_v1 char_length_v1 char_length_strip_ws_v1 char_length_with_paragraphs_v1
whitespace_tokenizer_v1 whitespace_tokenizer_with_paragraphs_v1 uniseg_length_v1 uniseg_length_paragraphs_v1
uniseg_length_paragraphs_with_empty_v1 uniseg_length_paragraphs_with_doc_length_v1 code_redpajama_taggers_v1 code_copyright_comments_v1
not_alphanum_paragraph_v1""".split()
# Each tagger of the peer gets so many seconds for a megabyte of corpus; the documents behind are not compared for it.
BUDGET = float(os.environ.get("PARITY_DOLMA_BUDGET") or 0.2)
# What they say depends on the Unicode version: ours is 15.0, Python 3.11's 14.0, that of the package uniseg 16.0. A difference in a document
# with characters that Unicode 14.0 doesn't have is explained by that.
UNICODE = {name for name in TAGGERS if name.startswith("uniseg") or name in ("gopher_v1", "gopher_v2", "code_redpajama_taggers_v1")}
# More than linear, or slow, in the peer: documents longer than this are not compared for them.
SLOW = {name for name in TAGGERS if name.startswith(("uniseg", "pii_regex_v", "pii_regex_with_counts_v")) or "repetitions" in name}
SLOW_LENGTH = 20000


class Slow(BaseException):
    pass


def on_alarm(_signal, _frame):
    raise Slow()


def peer_taggers(names):
    from dolma.core.registry import TaggerRegistry
    import dolma.taggers  # pylint: disable=unused-import
    return {name: TaggerRegistry.get(name)() for name in names}


def word_list():
    import dolma
    return os.path.join(os.path.dirname(dolma.__file__), "data", "naughty_words_en.txt")


def tag_ours(corpus, tmp):
    run_script("""local s = require "sluice"
return s.pipeline { "tags", s.files { %s, split = "4MiB" } | s.read_jsonl {} | s.dolma_tag { { %s }, bad_words = %s }
  | s.write_jsonl { "tags", columns = { "id", "attributes" }, compression = "none" } }
""" % (json.dumps(corpus), ", ".join('"%s"' % name for name in TAGGERS), json.dumps(word_list())), tmp, "tags")
    return {row["id"]: row["attributes"] for row in read_dataset(os.path.join(tmp, "tags"))}


def compare_taggers(tmp):
    import logging
    import warnings
    from dolma.core.data_types import InputSpec
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    corpus = make_corpus(tmp)
    begin = time.time()
    ours = tag_ours(corpus, tmp)
    print("dolma_tag: %d documents, %d taggers in %.1f s" % (len(ours), len(TAGGERS), time.time() - begin))
    taggers = peer_taggers(TAGGERS)
    signal.signal(signal.SIGPROF, on_alarm)
    failed, compared, spent = collections.Counter(), collections.Counter(), collections.Counter()
    explained = collections.Counter()
    left_out = collections.defaultdict(list)
    budget = BUDGET * os.path.getsize(corpus) / 1e6 + 1
    records = list(read_corpus(corpus))
    random.Random(4).shuffle(records)  # so that the budgets are spent on documents of all kinds
    for record in records:
        row = InputSpec(id=record["id"], text=record["text"], source="parity")
        theirs = {}
        skipped = set()
        for name, tagger in taggers.items():
            if spent[name] > budget or (name in SLOW and len(record["text"]) > SLOW_LENGTH):
                skipped.add(name)
                continue
            begin = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            try:
                output = tagger.tag(row)
            except (Slow, ZeroDivisionError) as error:
                skipped.add(name)
                left_out[name].append("%s: %s" % (record["id"], type(error).__name__))
                continue
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
                spent[name] += time.process_time() - begin
            for key, spans in output.items():
                theirs["%s__%s__%s" % (name, name, key)] = [list(span) for span in spans]
            compared[name] += 1
        mine = {key: spans for key, spans in ours[record["id"]].items() if key.split("__")[0] not in skipped}
        if list(mine) == list(theirs) and mine == theirs:
            continue
        newer = any(unicodedata.category(c) == "Cn" for c in record["text"])
        for key in dict.fromkeys(list(mine) + list(theirs)):
            if mine.get(key) != theirs.get(key):
                name = key.split("__")[0]
                if newer and name in UNICODE:
                    explained[name] += 1
                    continue
                failed[name] += 1
                if failed[name] <= 5:
                    a, b = mine.get(key) or [], theirs.get(key) or []
                    at = next((k for k, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
                    print("  %s %s: ours %s, theirs %s at %d (%d and %d spans)" % (record["id"], key, a[at:at + 2], b[at:at + 2], at, len(a), len(b)))
                    if a[at:at + 1] or b[at:at + 1]:
                        span = (a[at:at + 1] or b[at:at + 1])[0]
                        print("     %r" % record["text"][max(0, span[0] - 10):min(span[1], span[0] + 150) + 10])
        if mine == theirs:
            failed["order"] += 1
            print("  %s: the attributes come in another order" % record["id"])
    for name in TAGGERS:
        print("  %-45s %6d documents, %d differ, %d explained, %d left out, peer %.1f s" % (name, compared[name], failed[name], explained[name], len(left_out[name]), spent[name]))
        if left_out[name]:
            print("      left out: " + "; ".join(left_out[name][:6]))
    return sum(failed.values())


# ---- the mixer ----

def write_gz(path, records):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as out:
        for record in records:
            out.write(json.dumps(record, ensure_ascii=False) + "\n")


def read_gz(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        return [json.loads(line) for line in lines]


def merged(documents, attributes):
    """The documents with attributes joined by line, as the mixer's input would be."""
    rows = []
    for k, document in enumerate(documents):
        row = dict(document)
        row["attributes"] = dict(document.get("attributes") or {})
        for lines in attributes:
            assert lines[k]["id"] == document["id"]
            row["attributes"].update(lines[k]["attributes"])
        rows.append(row)
    return rows


def lua_list(texts):
    return "{ %s }" % ", ".join("[====[%s]====]" % text for text in texts)


def mix_ours(tmp, name, rows, streams):
    """[(id: text) kept, in order] of each stream of {include, exclude, replace, min_text_length, syntax}."""
    folder = os.path.join(tmp, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "in.jsonl"), "w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    script = ['local s = require "sluice"', 'local docs = s.files { "%s/in.jsonl" } | s.read_jsonl {}' % name, 'return s.pipeline { "mix",']
    for k, stream in enumerate(streams):
        script.append('  docs | s.dolma_mix { include = %s, exclude = %s, replace = %s, min_text_length = %d, syntax = "%s", unchecked = true }'
                      ' | s.write_jsonl { "%s/%d", columns = { "id", "text" }, compression = "none" },'
                      % (lua_list(stream.get("include", [])), lua_list(stream.get("exclude", [])),
                         lua_list(json.dumps(r, ensure_ascii=False) for r in stream.get("replace", [])),
                         stream.get("min_text_length", 0), stream.get("syntax", "jsonpath"), name, k))
    run_script("\n".join(script + ["}", ""]), tmp, name)
    return [[(row["id"], row["text"]) for row in read_dataset(os.path.join(folder, str(k)))] for k in range(len(streams))]


def mix_theirs(tmp, name, documents, attributes, streams):
    """The same from dolma's mixer, all streams in one run; None for a stream on which it fails."""
    folder = os.path.join(tmp, name + "-peer")
    shutil.rmtree(folder, ignore_errors=True)
    write_gz(folder + "/documents/0.json.gz", documents)
    for kind, lines in attributes.items():
        write_gz("%s/attributes/%s/0.json.gz" % (folder, kind), lines)
    config = {"streams": [], "processes": 1, "work_dir": {"input": folder + "/wi", "output": folder + "/wo"}}
    for k, stream in enumerate(streams):
        output = {"path": folder + "/out", "max_size_in_bytes": 10 ** 9}
        if "min_text_length" in stream:
            output["min_text_length"] = stream["min_text_length"]
        entry = {"name": "s%d" % k, "documents": [folder + "/documents/*.gz"], "attributes": list(attributes), "output": output}
        if "include" in stream:
            entry["filter"] = {"include": stream.get("include", []), "exclude": stream.get("exclude", []), "syntax": stream.get("syntax", "jsonpath")}
        if "replace" in stream:
            entry["span_replacement"] = stream["replace"]
        config["streams"].append(entry)
    with open(folder + "/config.json", "w", encoding="utf-8") as out:
        json.dump(config, out)
    result = subprocess.run([sys.executable, "-m", "dolma.cli", "-c", folder + "/config.json", "mix"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, check=False)
    outs = []
    for k in range(len(streams)):
        path = "%s/out/s%d-0000.json.gz" % (folder, k)
        outs.append([(row["id"], row["text"]) for row in read_gz(path)] if os.path.exists(path) else None)
    if all(out is None for out in outs):
        sys.exit("dolma mix failed: " + result.stdout.decode(errors="replace")[-3000:])
    return outs


def compare_streams(name, ours, theirs, streams):
    failed = refused = 0
    for a, b, stream in zip(ours, theirs, streams):
        if b is None:
            refused += 1
        elif a != b:
            failed += 1
            if failed <= 5:
                both = [(x, y) for x, y in itertools.zip_longest(a, b) if x != y][:1]
                print("  %s: %s\n    ours %.600s\n  theirs %.600s" % (name, json.dumps(stream, ensure_ascii=False), both[0][0], both[0][1]))
    print("  %-45s %6d configurations, %d differ, %d on which the peer fails" % (name, len(streams), failed, refused))
    return failed


RULES = ["$.attributes[?(@.%(a)s[0][2] %(c)s %(n)s)]", "$.attributes[?(@.%(a)s && @.%(a)s[0] && @.%(a)s[0][2] %(c)s %(n)s)]", "$.attributes[?(@.%(a)s)]",
         "$.attributes.%(a)s", "$.attributes['%(a)s'][0]", "$.attributes.%(a)s[*][2]", "$.attributes.%(a)s[?(@[2] %(c)s %(n)s)]", "$.attributes[?(@.flag == true)]",
         "$.attributes[?(!(@.%(a)s))]", "$.attributes[?(@.%(a)s[0][2] %(c)s %(n)s || @.%(b)s[0][2] %(c)s 0.5)]", "$.metadata[?(@.length %(c)s 300)]",
         "$.attributes[?(@.%(a)s[0][2] %(c)s @.%(b)s[0][2])]", "$.attributes[?(%(n)s %(c)s @.%(a)s[0][2])]", "$.attributes[?(@.name %(e)s 'x')]", "$.source",
         "$.attributes[?(@.%(a)s[0][1] %(c)s 5)]", "$.attributes[?(@.%(a)s[0][2] > 0.2 && (@.flag == true || @.%(b)s))]", "$@.attributes[?(@.%(a)s[0][2] %(c)s %(n)s)]"]


def random_mix(seed, n_documents, n_streams):
    rng = random.Random(seed)
    documents, lines = [], []
    for k in range(n_documents):
        text = "".join(rng.choice(["word", " ", "\n", "\u00e9", "\U0001f600", "a", ". ", "\u4e16\u754c", "\u00a0"]) for _ in range(rng.randrange(0, 30)))
        documents.append({"id": "d%d" % k, "text": text, "source": "s", "metadata": {"length": rng.randrange(0, 600)}})
        attributes = {}
        for name in ("x", "y", "z"):
            if rng.random() < 0.8:
                spans = []
                for _ in range(rng.randrange(0, 4)):
                    start = rng.randrange(0, len(text) + 1)
                    end = rng.randrange(start, len(text) + 1)
                    spans.append([start, end, rng.choice([0.0, 0.25, 0.5, 0.75, 1.0, 1])])
                attributes[name] = spans
        if rng.random() < 0.5:
            attributes["flag"] = rng.random() < 0.5
        if rng.random() < 0.5:
            attributes["name"] = rng.choice(["x", "y"])
        lines.append({"id": "d%d" % k, "attributes": attributes})

    def rule():
        return rng.choice(RULES) % {"a": rng.choice("xyz"), "b": rng.choice("xyz"), "c": rng.choice(["<", "<=", ">", ">=", "==", "!="]),
                                    "e": rng.choice(["==", "!="]), "n": rng.choice(["0.5", "0.25", "1", "1.0", "0", "-1"])}
    streams = []
    for _ in range(n_streams):
        stream = {}
        if rng.random() < 0.7:
            stream["include"] = [rule() for _ in range(rng.randrange(0, 3))]
            stream["exclude"] = [rule() for _ in range(rng.randrange(0, 3))]
        if rng.random() < 0.7:
            stream["replace"] = []
            for _ in range(rng.randrange(1, 3)):
                syntax = rng.choice(["jsonpath", "jq"])
                entry = {"span": ("$.attributes.%s" if syntax == "jsonpath" else ".attributes?.%s?") % rng.choice("xyz"), "min_score": rng.choice([0.0, 0.25, 0.5]),
                         "replacement": rng.choice(["", "X", "[{}]", " |||E||| ", "{}{}"]), "syntax": syntax}
                if rng.random() < 0.5:
                    entry["max_score"] = rng.choice([0.5, 0.75, 1.0])
                stream["replace"].append(entry)
        if rng.random() < 0.3 or not stream:
            stream["min_text_length"] = rng.randrange(1, 40)
        if not stream.get("include") and not stream.get("exclude") and ("include" in stream or "replace" not in stream):
            stream.update(include=["$.id"], exclude=[])  # the peer refuses a filter without rules
        streams.append(stream)
    return documents, lines, streams


def compare_random(tmp):
    failed = 0
    for seed in range(int(os.environ.get("PARITY_DOLMA_ROUNDS") or 1)):
        documents, lines, streams = random_mix(seed, 120, 60)
        ours = mix_ours(tmp, "random-%d" % seed, merged(documents, [lines]), streams)
        theirs = mix_theirs(tmp, "random-%d" % seed, documents, {"a": lines}, streams)
        failed += compare_streams("mixer, random rules and spans %d" % seed, ours, theirs, streams)
    return failed


def fixtures(tmp):
    """The folder tests of Dolma's repository, or None."""
    archive = os.path.join(os.environ.get("SLUICE_TEST_DATA", ""), "peers.tar.zst")
    if not os.path.exists(archive):
        return None
    folder = os.path.join(tmp, "fixtures")
    os.makedirs(folder, exist_ok=True)
    subprocess.run("zstd -dcq '%s' | tar -x -C '%s'" % (archive, folder), shell=True, check=True)
    return os.path.join(folder, "peers", "dolma", "tests")


FIXTURES = [("mixer", "mixer.json", ["pii", "toxicity"]), ("filter-by-spans", "filter-by-spans.json", ["sample"]),
            ("email-spans", "email-spans.json", ["pii"]), ("email-spans-jq", "email-spans-jq.yaml", ["pii"]),
            ("remove-paragraphs", "paragraph-spans.json", ["duplicate_paragraphs"])]


def compare_fixtures(tmp):
    """What Dolma's own tests expect of its mixer: committed expectations, not a run of it."""
    tests = fixtures(tmp)
    if tests is None:
        print("  mixer, fixtures: peers.tar.zst is not at hand")
        return 0
    failed = 0
    documents = read_gz(os.path.join(tests, "data/provided/documents/000.json.gz"))
    for name, config, kinds in FIXTURES:
        with open(os.path.join(tests, "config", config), encoding="utf-8") as text:
            stream = yaml.safe_load(text)["streams"][0]
        lines = [read_gz(os.path.join(tests, "data/provided/attributes/%s/000.json.gz" % kind)) for kind in kinds]
        rows = merged(documents, lines)
        filters = stream.get("filter", {})
        ours = mix_ours(tmp, "fixture-" + name, rows, [{"include": filters.get("include", []), "exclude": filters.get("exclude", []),
                                                        "replace": stream.get("span_replacement", [])}])[0]
        theirs = [(row["id"], row["text"]) for row in read_gz(os.path.join(tests, "data/expected/%s.json.gz" % name))]
        same = ours == theirs
        failed += not same
        print("  fixture %-37s %6d of %d documents, %s" % (name, len(ours), len(documents), "equal" if same else "DIFFERENT"))
        if not same:
            both = [(x, y) for x, y in itertools.zip_longest(ours, theirs) if x != y][0]
            print("    ours %.300s\n  theirs %.300s" % both)
    return failed


def join_ours(tmp, name, documents, patterns, stream, by='"file"'):
    """What dolma_join and dolma_mix make of files as they are: [(id, text)] kept."""
    filters = stream.get("filter", {})
    run_script("""local s = require "sluice"
return s.pipeline { "join", s.files { %s, split = "64KiB" } | s.read_jsonl {} | s.dolma_join { attributes = %s, by = %s, partitions = 2 }
  | s.dolma_mix { include = %s, exclude = %s, replace = %s, unchecked = true } | s.write_jsonl { %s, columns = { "id", "text" }, compression = "none" } }
""" % (json.dumps(documents), lua_list(patterns), by, lua_list(filters.get("include", [])), lua_list(filters.get("exclude", [])),
       lua_list(json.dumps(r, ensure_ascii=False) for r in stream.get("span_replacement", [])), json.dumps(name)), tmp, name)
    return [(row["id"], row["text"]) for row in read_dataset(os.path.join(tmp, name))]


def compare_files(tmp):
    """Attribute files as files: those of the fixtures read by dolma_join, and ours, in the same layout, read by Dolma's mixer."""
    failed = 0
    tests = fixtures(tmp)
    if tests is not None:
        provided = os.path.join(tests, "data/provided")
        for name, config, kinds in FIXTURES:
            with open(os.path.join(tests, "config", config), encoding="utf-8") as text:
                stream = yaml.safe_load(text)["streams"][0]
            ours = join_ours(tmp, "join-" + name, provided + "/documents/{file}.json.gz",
                             ["%s/attributes/%s/{file}.json.gz" % (provided, kind) for kind in kinds], stream)
            theirs = [(row["id"], row["text"]) for row in read_gz(os.path.join(tests, "data/expected/%s.json.gz" % name))]
            failed += ours != theirs
            print("  fixture %-30s joined %6d documents, %s" % (name, len(ours), "equal" if ours == theirs else "DIFFERENT"))
    folder = os.path.join(tmp, "files")
    shutil.rmtree(folder, ignore_errors=True)
    records = [record for record in read_corpus(make_corpus(tmp)) if record["text"]]
    random.Random(7).shuffle(records)
    # In nested folders, as Dolma's sources are.
    for k, place in enumerate(("", "web/", "books/a/b/")):
        write_gz("%s/documents/%s%03d.json.gz" % (folder, place, k), ({**record, "source": "parity"} for record in records[k * 100:k * 100 + 100]))
    run_script("""local s = require "sluice"
return s.pipeline { "files", s.files { "files/documents/{dir**}/{file}.json.gz", split = "64KiB" } | s.read_jsonl {}
  | s.dolma_tag { { "char_length_v1", "pii_regex_with_counts_fast_v2" } }
  | s.attribute_files { path = "files/attributes/ours", by = { "dir", "file" }, partitions = 2 } }
""", tmp, "files-write")
    stream = {"filter": {"include": [], "exclude": ["$.attributes[?(@.char_length_v1__char_length_v1__length[0][2] > 2000)]"]},
              "span_replacement": [{"span": "$.attributes.pii_regex_with_counts_fast_v2__pii_regex_with_counts_fast_v2__EMAIL_ADDRESS", "min_score": 0.5,
                                    "replacement": "|E|"}]}
    ours = join_ours(tmp, "files-join", "files/documents/{dir**}/{file}.json.gz", ["files/attributes/ours/latest/{dir**}/{file}.json.gz"], stream,
                     '{ "dir", "file" }')
    with open(folder + "/config.json", "w", encoding="utf-8") as out:
        json.dump({"streams": [{"name": "s", "documents": [folder + "/documents/**/*.gz"], "attributes": ["ours/latest"],
                                "output": {"path": folder + "/out", "max_size_in_bytes": 10 ** 9}, **stream}],
                   "processes": 1, "work_dir": {"input": folder + "/wi", "output": folder + "/wo"}}, out)
    result = subprocess.run([sys.executable, "-m", "dolma.cli", "-c", folder + "/config.json", "mix"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, check=False)
    path = folder + "/out/s-0000.json.gz"
    if not os.path.exists(path):
        sys.exit("dolma mix failed: " + result.stdout.decode(errors="replace")[-3000:])
    ours = sorted(ours)  # the peer takes nested folders in another order
    theirs = sorted((row["id"], row["text"]) for row in read_gz(path))
    failed += ours != theirs
    print("  attribute files of ours, mixed by Dolma %13d of %d documents kept, %s" % (len(theirs), min(300, len(records)), "equal" if ours == theirs else "DIFFERENT"))
    return failed


def main():
    tmp = sys.argv[1]
    parts = sys.argv[2:] or ["fixtures", "files", "random", "models", "tokens", "taggers"]
    if float(os.environ.get("PARITY_MEGABYTES") or 50) < 10 and not sys.argv[2:]:
        parts.remove("tokens")  # half a minute of loading vocabularies; tests/pipeline/dolma.sh has vectors
    failed = 0
    if "fixtures" in parts:
        failed += compare_fixtures(tmp)
    if "files" in parts:
        failed += compare_files(tmp)
    if "random" in parts:
        failed += compare_random(tmp)
    if "models" in parts:
        failed += compare_models(tmp, make_corpus(tmp))
    if "tokens" in parts:
        tests = fixtures(tmp)
        failed += compare_tokens(tmp, make_corpus(tmp), tests and os.path.join(tests, "data/tokenizer"))
    if "taggers" in parts:
        failed += compare_taggers(tmp)
    sys.exit(1 if failed else 0)


main()
