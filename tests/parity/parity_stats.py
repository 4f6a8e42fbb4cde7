#!/usr/bin/env python3
"""Compares s.doc_stats and s.statistics with datatrove's stats blocks on the shared corpus.

Usage: parity_stats.py TMP MEGABYTES, with what tests/run sets. Documents: every statistic of each, as equal doubles. Groups (summary, histogram, fqdn, suffix): the
same keys; counts, least and greatest values equal; sums, means and deviations within 1e-9 of each other, as datatrove adds doubles in the
order of its input where Sluice adds exactly (the difference is datatrove's rounding). Exit: 0 equal; 1 a difference; 77 datatrove is missing.
"""
import collections
import json
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kit

try:
    import spacy  # noqa: F401
    from tldextract import TLDExtract
    from datatrove.data import Document
    from datatrove.pipeline import stats as peer
    from datatrove.pipeline.stats import sentence_stats, word_stats
    from datatrove.utils.stats import MetricStats
    from datatrove.utils.word_tokenizers import load_word_tokenizer
except ImportError as error:
    print("skipped: %s" % error)
    sys.exit(77)

CONTAMINATION = ["the", "0", "fox", "cafe"]
SCRIPT = """local s = require "sluice"
local docs = s.files { "input.jsonl", split = "%s" } | s.read_jsonl { columns = { url = "utf8", token_count = "int64", fasttext_en = "float64" } } | s.url_parts {}
local measured = docs | s.doc_stats { contamination = { "the", "0", "fox", "cafe" } }
return s.pipeline { "stats",
  measured | s.write_jsonl { "documents", compression = "none" },
  docs | s.statistics { contamination = { "the", "0", "fox", "cafe" }, groups = { "summary", "histogram", "fqdn", "suffix" } } | s.write_stats { "statistics" } }
"""


class Once:
    """datatrove's English tokenizer, which cuts a text once for the words and the sentences that are asked for one after another."""

    def __init__(self):
        self.real = load_word_tokenizer("en")
        self.texts = collections.OrderedDict()

    def cut(self, text):
        if text not in self.texts:
            if len(self.texts) > 4:
                self.texts.popitem(last=False)
            with self.real.tokenizer.memory_zone():
                self.real.tokenizer.max_length = len(text) + 10
                parts = self.real._do_tokenize(text)
                words = [token.text for part in parts for token in part]
                sentences = [sentence.text for part in parts for sentence in part.sents]
            self.texts[text] = ([w.strip() for w in words if w.strip()], [s.strip() for s in sentences if s.strip()])
        return self.texts[text]

    def word_tokenize(self, text):
        return self.cut(text)[0]

    def sent_tokenize(self, text):
        return self.cut(text)[1]


def theirs(documents, folder):
    """{id: {statistic: value}}, and the blocks' files below folder."""
    once = Once()
    for module in (word_stats, sentence_stats):
        module.load_word_tokenizer = lambda language: once
    blocks = [peer.DocStats(folder), peer.WordStats(folder), peer.LineStats(folder), peer.ParagraphStats(folder), peer.SentenceStats(folder),
              peer.WordsContaminationStats(folder, CONTAMINATION)]
    # The values are there already: neither a tokenizer nor a model is loaded.
    tokens, language = peer.TokenStats.__new__(peer.TokenStats), peer.LangStats.__new__(peer.LangStats)
    for block in (tokens, language):
        peer.token_stats.BaseStats.__init__(block, folder)
    language.language = "en"
    blocks += [tokens, language]
    stream = iter(documents)
    for block in blocks:
        stream = block.run(stream)
    return {document.id: document.metadata for document in stream}


def close(a, b):
    return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def compare_group(ours, value):
    """What differs between our members and datatrove's file entry, or None."""
    if value == 0:  # it says no more of groups that add up to nothing
        return None if ours["total"] == 0 else "total %r, theirs 0" % ours["total"]
    theirs = MetricStats.from_dict(value)
    pairs = [("n", ours["n"], theirs.n, ours["n"] == theirs.n), ("min", ours["min"], theirs.min, ours["min"] == theirs.min), ("max", ours["max"], theirs.max, ours["max"] == theirs.max),
             ("total", ours["total"], theirs.total, ours["total"] == theirs.total if isinstance(theirs.total, int) else close(ours["total"], theirs.total)),
             ("mean", ours["mean"], theirs.mean, close(ours["mean"], theirs.mean)),
             # Their running variance loses what is small beside the squared mean.
             ("std_dev", ours["std_dev"], theirs.standard_deviation, abs(ours["std_dev"] - theirs.standard_deviation) <= 1e-9 * max(abs(theirs.max), abs(theirs.min), theirs.standard_deviation))]
    wrong = ["%s %r, theirs %r" % (name, a, b) for name, a, b, same in pairs if not same]
    return "; ".join(wrong) or None


def compare_groups(ours, folder):
    failed = compared = 0
    exact = total = 0
    found = set()
    for group in sorted(os.listdir(folder)):
        for stat in sorted(os.listdir(os.path.join(folder, group))):
            found.add((group, stat))
            with open(os.path.join(folder, group, stat, "00000.json"), encoding="utf-8") as file:
                values = json.load(file)
            mine = ours.get(group, {}).get(stat, {})
            wrong = []
            for key in sorted(set(values) | set(mine)):
                compared += 1
                if key not in mine or key not in values:
                    wrong.append("%r is only in %s" % (key, "theirs" if key not in mine else "ours"))
                    continue
                why = compare_group(mine[key], values[key])
                if why:
                    wrong.append("%r: %s" % (key, why))
                elif isinstance(values[key], dict):
                    total += 1
                    exact += values[key]["total"] == mine[key]["total"]
            failed += len(wrong)
            for line in wrong[:3]:
                print("  DIFFERS %s/%s %s" % (group, stat, line))
    for group in ours:
        for stat in ours[group]:
            if (group, stat) not in found and stat != "documents":  # datatrove has no such statistic
                failed += 1
                print("  DIFFERS %s/%s is only in ours" % (group, stat))
    print("%-24s %d groups of %d statistics, %d differ; of %d sums %d are the same double" % ("groups", compared, len(found), failed, total, exact))
    return failed if compared else 1


def main():
    tmp, megabytes = sys.argv[1], float(sys.argv[2])
    extract = TLDExtract(suffix_list_urls=(), cache_dir=None)
    documents, newer = [], 0
    with open(os.path.join(tmp, "input.jsonl"), "w", encoding="utf-8", newline="\n") as out:
        for number, record in enumerate(kit.read_corpus(kit.make_corpus(tmp, megabytes))):
            if kit.newer_unicode(record["text"]):
                newer += 1
                continue
            host = extract.extract_str(record["url"])
            extra = {"token_count": len(record["text"].encode()) // 4 + 1, "fasttext_en": number % 97 / 96}
            out.write(json.dumps(dict(record, **extra), ensure_ascii=False) + "\n")
            metadata = {"fqdn": host.fqdn, "suffix": host.suffix, "token_count": extra["token_count"], "language": "en", "language_score": extra["fasttext_en"]}
            documents.append(Document(text=record["text"], id=record["id"], metadata=metadata))
    print("%d documents are left out: they have characters of Unicode 15 that this Python does not know (letters to us, nothing to it)" % newer)
    kit.run_script(SCRIPT % "1MiB", tmp, "stats")
    folder = os.path.join(tmp, "theirs")
    texts = {document.id: document.text for document in documents}
    expected = theirs(documents, folder)
    failed = compared = 0
    for row in kit.read_dataset(os.path.join(tmp, "documents")):
        values = expected.pop(row["id"])
        for name in sorted(set(values) - {"language", "language_score"}):
            compared += 1
            if row.get(name) != values[name]:
                failed += 1
                if failed <= 10:
                    print("  DIFFERS %s %s: %r, theirs %r; %s" % (row["id"], name, row.get(name), values[name], kit.short(texts[row["id"]])))
    failed += len(expected)
    print("%-24s %d documents, %d values, %d differ" % ("documents", len(texts), compared, failed))
    names = [name for name in os.listdir(os.path.join(tmp, "statistics", "latest")) if name.endswith(".stats.json")]
    if len(names) != 1:
        sys.exit("found %d files of statistics, expected one" % len(names))
    with open(os.path.join(tmp, "statistics", "latest", names[0]), encoding="utf-8") as file:
        failed += compare_groups(json.load(file), folder)
    sys.exit(1 if failed else 0)


main()
