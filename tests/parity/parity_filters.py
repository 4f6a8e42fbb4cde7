#!/usr/bin/env python3
"""Compares filters that are not about words with datatrove's: every decision, reason, added column and edited text.

Usage: parity_filters.py TMP [NAME...]      (NAME: url, language, fasttext, c4, unigram, regex, sampler, pii, symbols; all by default)

The peer is the installed package. What it would fetch is given to it: the URL lists are those of its package, the suffix list that of
tldextract, bad words and word frequencies are made from the corpus (the same files for both), the language model is lid.176.ftz of
$SLUICE_TEST_DATA where there is one, other models are made here. The peer drops without a reason where it has
only one; ours are named in ONLY. Exit: 0 all equal, 1 a difference.
"""
import json
import logging
import os
import random
import re
import struct
import sys
import warnings
from collections import Counter

TMP = sys.argv[1]
os.environ["TLDEXTRACT_PUBLIC_SUFFIX_LIST_URLS"] = ""  # its snapshot, not the network
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HOME"] = os.path.join(TMP, "hf")
os.environ["HF_ASSETS_CACHE"] = os.path.join(TMP, "hf", "assets")
os.environ["XDG_CACHE_HOME"] = os.path.join(TMP, "cache")
warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import tldextract
from datatrove.data import Document
from datatrove.pipeline.filters import (C4BadWordsFilter, C4ParagraphFilter, FastTextClassifierFilter, LanguageFilter, RegexFilter,
                                        SamplerFilter, UnigramLogProbFilter, URLFilter)
from datatrove.pipeline.filters import c4_filters, unigram_log_probs, url_filter
from datatrove.pipeline.filters.base_filter import get_filter_result
from datatrove.pipeline.formatters import PIIFormatter, SymbolLinesFormatter
from fasttext.FastText import _FastText
from loguru import logger

from kit import Decision, compare, make_corpus, read_corpus, read_dataset, run_script

logger.remove()
DATA = os.environ.get("SLUICE_TEST_DATA", "")
RENAMED = {"< 3 paragraphs": "too_few_paragraphs"}  # a reason is [a-z0-9_]+ in Sluice

# Made documents and URLs of each kind; fewer where little time is given.
MANY = 20000 if float(os.environ.get("PARITY_MEGABYTES") or 50) >= 6 else 4000


def quote(text):
    return '"' + "".join("\\%03d" % b if b < 32 or b in (34, 92) or b > 126 else chr(b) for b in text.encode()) + '"'


def lua(options):
    """A Lua table of stage options."""
    if isinstance(options, dict):
        return "{ " + ", ".join("[%s] = %s" % (quote(k), lua(v)) for k, v in options.items()) + " }"
    if isinstance(options, (list, tuple)):
        return "{ " + ", ".join(lua(v) for v in options) + " }"
    return ("true" if options else "false") if isinstance(options, bool) else quote(options) if isinstance(options, str) else repr(options)


def sluice(stage, options, corpus, name, columns='url = "utf8"', keep=("id",), split="64MiB", workers=2):
    """{id: Decision} of one stage; `keep` are the columns of kept documents that are read back."""
    script = """local s = require "sluice"
local docs = s.files { %s, split = "%s" } | s.read_jsonl { columns = { %s } }
local out = docs | s.%s %s
return s.pipeline { "p", out | s.write_jsonl { "%s/kept", compression = "none", columns = %s },
  out.dropped | s.write_jsonl { "%s/dropped", compression = "none", columns = { "id", "drop_reason" } } }
""" % (json.dumps(corpus, ensure_ascii=False), split, columns, stage, lua(options), name, lua(list(keep)), name)
    run_script(script, TMP, name, workers)
    found = {}
    for row in read_dataset(os.path.join(TMP, name, "kept")):
        found[row["id"]] = Decision(True, None, row.get("text"), row)
    for row in read_dataset(os.path.join(TMP, name, "dropped")):
        found[row["id"]] = Decision(False, row["drop_reason"], None, row)
    return found


def datatrove(block, records, only, metadata=("url",)):
    """{id: Decision} of a filter of the peer; `only` is our name of a reason that it has none for."""
    found = {}
    for record in records:
        doc = Document(text=record["text"], id=record["id"], metadata={k: record[k] for k in metadata if k in record})
        kept, reason = get_filter_result(block.filter(doc))
        reason = None if kept else RENAMED.get(reason, reason or only)
        found[record["id"]] = Decision(bool(kept), reason, doc.text if kept else None, doc.metadata)
    return found


def write_corpus(name, records):
    path = os.path.join(TMP, name)
    with open(path, "w", encoding="utf-8") as out:
        for record in records:
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
    return path


# ---- URL ----

def url_records(corpus, domains, urls):
    """The corpus's URLs, listed ones and their neighbours, hosts that are hard to read."""
    rng = random.Random(11)
    out = [record["url"] for record in read_corpus(corpus)]
    words = [line.strip() for name in ("banned_words", "soft_banned_words", "banned_subwords")
             for line in open(os.path.join(url_filter.ASSETS_PATH, name + ".txt")) if line.strip()]
    plain = ["news", "blog", "shop", "www2", "2021", "index", "item", "essex", "analysis", "Sex", "BUILD", "title"]
    tops = ["com", "co.uk", "ck", "www.ck", "city.kawasaki.jp", "kawasaki.jp", "github.io", "xn--55qx5d.cn", "\u516c\u53f8.cn", "xn--p1ai", "\u0440\u0444",
            "COM", "Co.Uk", "nosuchtop", "compute.amazonaws.com", "example", "mm", "bd", "\u0130.com", "xn--zz--zz"]
    odd = ["//a.com/x", "a.com", "http://", "http:///a.com", "://a.com", "http//a.com", "1http://x.co.uk", "ht!tp://a.com/", "http://user:pw@a.com:80/",
           "http://a.com.", "http://a.com..", "http://a\u3002com", "http://a\uff0ecom\uff61", "http://[::1]/", "http://[::1", "http://[x]y.com", "http://1.2.3.4/", "1.2.3.4.5",
           "http://.com", "http://..com", "http://a..b.com", "http:// a.com /", "\u00a0a.com", "http://a@b@c.com", "http://a.com?x=//b.com", "http://a.com#@b.com",
           "http://a.b.c.d.e.f.co.uk/", "/", "?", "#", "-", "http://\u00fc.de/", "http://xn--.com", "http://A.B.CK", "x" * 3000 + ".com", "http://*.ck/", "http://!www.ck"]
    for k in range(MANY):
        kind = rng.random()
        host = ".".join(rng.choice(words + plain if rng.random() < .3 else plain) for _ in range(rng.randint(1, 4))).replace(" ", "") + "." + rng.choice(tops)
        if kind < .25:
            host = rng.choice(domains)
            host = rng.choice(["", "www.", "a.b.", "x", "W."]) + (host.upper() if rng.random() < .1 else host)
        elif kind < .3:
            out.append(rng.choice(urls) + rng.choice(["", "", "/", "x"]))
            continue
        path = rng.choice("/-_?.&=").join(rng.choice(words + plain if rng.random() < .3 else plain) for _ in range(rng.randint(0, 5)))
        out.append(rng.choice(["http://", "https://", "", "//", "HTTP://", "svn+ssh://"]) + host + rng.choice(["", ":8080", "."]) + rng.choice(["", "/"]) + path)
    return [{"id": "u%d" % k, "text": "x", "url": url} for k, url in enumerate(odd + out)]


def test_url(corpus):
    peer = URLFilter()
    peer.download_data()
    lists = os.path.join(url_filter.cached_assets_path(library_name="datatrove", namespace="filters", subfolder="url_filter"))
    assets = url_filter.ASSETS_PATH
    rng = random.Random(3)
    domains = rng.sample(sorted(peer.block_listed_domains), MANY)
    records = url_records(corpus, domains, sorted(peer.block_listed_url))
    path = write_corpus("urls.jsonl", records)
    suffixes = os.path.join(os.path.dirname(tldextract.__file__), ".tld_set_snapshot")
    files = {"domains": os.path.join(lists, "domains"), "urls": os.path.join(lists, "urls"), "suffixes": suffixes,
             **{name: os.path.join(assets, name + ".txt") for name in ("banned_words", "soft_banned_words", "banned_subwords")}}
    source = {record["id"]: record["url"] for record in records}
    failed = compare("url, the peer's lists", sluice("url_filter", files, path, "url"), datatrove(peer, records, None), texts=False, source=source)
    blank = os.path.join(TMP, "blank.txt")  # an empty line, other line ends, a comment, capitals, punctuation, white space
    with open(blank, "w", newline="") as out:
        out.write("# comment\nindex\n\nNe-ws\r\nblog \r  shop\n #item\n2021")
    with open(blank) as lines:
        lines = list(lines)
    given = dict(use_integrated_lists=False, soft_word_threshold=1)
    cases = [("blank lines", dict(extra_domains=lines), {"domains": blank}),
             ("soft words", dict(soft_banned_words=lines), {"soft_banned_words": blank, "soft_word_threshold": 1}),
             ("hard words", dict(banned_words=lines), {"banned_words": blank}),
             ("subwords", dict(banned_subwords=lines), {"banned_subwords": blank}),
             ("given", dict(extra_domains=domains[:500], extra_urls=[r["url"] for r in records[:3000:7]], banned_words=["index", "Blog"]),
              {"extra_domains": domains[:500], "extra_urls": [r["url"] for r in records[:3000:7]], "extra_words": ["index", "Blog"]})]
    for name, theirs, ours in cases:
        theirs = {**given, **theirs}
        failed += compare("url, " + name, sluice("url_filter", {"suffixes": suffixes, "soft_word_threshold": 1, **ours}, path, "url_" + name.replace(" ", "_")),
                          datatrove(URLFilter(**theirs), records, None), texts=False, source=source)
    peer = URLFilter(extra_domains=domains[:5000] + ["github.io", "a.github.io"], use_integrated_lists=False)
    peer.tldextractor = tldextract.TLDExtract(include_psl_private_domains=True)
    failed += compare("url, private suffixes",
                      sluice("url_filter", {"suffixes": suffixes, "extra_domains": domains[:5000] + ["github.io", "a.github.io"], "private_suffixes": True}, path, "url_private"),
                      datatrove(peer, records, None), texts=False, source=source)
    return failed


# ---- fastText ----

def make_model(records, name, loss, word_ngrams=1, min_n=0, max_n=0, buckets=0):
    """A model with random weights, in the format of fastText 0.9, over words seen in the corpus."""
    rng = random.Random(name)
    path = os.path.join(TMP, name + ".bin")
    words = ["</s>"] + sorted({word for record in records[:400] for word in record["text"].split()[:50] if len(word) < 40 and "\0" not in word and word != "</s>"})
    labels, dim = ["en", "prose", "x__y", "caf\u00e9", "q\"\\"], 6
    rows = len(words) + buckets
    with open(path, "wb") as out:
        out.write(struct.pack("<2i12id", 793712314, 12, dim, 5, 5, 1, 5, word_ngrams, loss, 3, buckets, min_n, max_n, 100, 1e-4))
        out.write(struct.pack("<3i2q", len(words) + len(labels), len(words), len(labels), 1000, -1))
        for word in words:
            out.write(word.encode() + b"\0" + struct.pack("<qb", 5, 0))
        for k, label in enumerate(labels):
            out.write(b"__label__" + label.encode() + b"\0" + struct.pack("<qb", 100 - 10 * k, 1))
        for count, spread in ((rows, 1), (len(labels), 2)):
            out.write(struct.pack("<?2q", False, count, dim))
            out.write(struct.pack("<%df" % (count * dim), *(rng.gauss(0, spread) for _ in range(count * dim))))
    return path


def models(records, most):
    """lid.176 (quantised) where it is, then one model of each loss, some of them with subwords or word n-grams."""
    lid = os.path.join(DATA, "lid.176.ftz")
    made = [("softmax", dict(loss=3, min_n=2, max_n=4, buckets=2000)), ("tree", dict(loss=1, word_ngrams=2, buckets=1000)), ("ova", dict(loss=4))]
    return ([lid] if os.path.isfile(lid) else []) + [make_model(records, name, **options) for name, options in made[:most]]


class Remembering:
    """A model of the peer that predicts every text once."""

    def __init__(self, path):
        self.model, self.known = _FastText(path), {}
        self.labels = self.model.labels

    def predict(self, text, k):
        if (text, k) not in self.known:
            self.known[text, k] = self.model.predict(text, k=k)
        return self.known[text, k]


def same_columns(label, ours, theirs, columns, close=1e-6):
    """Added columns of kept documents: equal, numbers equal to `close`. Gives the number of differences; says how many are not the same bits."""
    wrong = rounded = 0
    for identifier, decision in theirs.items():
        if not decision.kept or identifier not in ours or not ours[identifier].kept:
            continue
        a, b = ours[identifier].row, decision.row
        for mine, yours in columns:
            x, y = mine(a), yours(b)
            flat = [(x, y)] if not isinstance(y, dict) else [(x.get(k), v) for k, v in y.items()] + [(k in y, True) for k in x]
            for left, right in flat:
                rounded += left != right
                if left != right and not (isinstance(right, float) and isinstance(left, (int, float)) and abs(left - right) <= close):
                    wrong += 1
                    if wrong <= 5:
                        print("  DIFFERS %s %s: ours %r, theirs %r" % (label, identifier, left, right))
    print("    %s: columns of %d documents, %d differ, %d in the last digits" % (label, sum(d.kept for d in theirs.values()), wrong, rounded - wrong))
    return wrong




def test_language(corpus):
    records, failed = list(read_corpus(corpus)), 0
    for k, path in enumerate(models(records, 1)):
        model = Remembering(path)
        for n, (theirs, ours) in enumerate([({}, {}), (dict(languages=["en"]), {"languages": ["en"]}), (dict(languages="en", language_threshold=.2), {"languages": ["en"], "threshold": .2}),
                                            (dict(label_only=True, keep_top_pairs_threshold=.05), {"label_only": True, "top_pairs": .05})]):
            peer = LanguageFilter(**theirs)
            peer.model._model = model
            label = "language %s %s" % (os.path.basename(path), ours or "defaults")
            keep = ["id", "language", "language_score"] + (["top_languages"] if "top_pairs" in ours else [])
            a, b = sluice("language", {"model": path, **ours}, corpus, "language%d_%d" % (k, n), keep=keep), datatrove(peer, records, "language", ())
            failed += compare(label, a, b, texts=False)
            columns = [(lambda r: r["language"], lambda r: r["language"]), (lambda r: r["language_score"], lambda r: r["language_score"])]
            if "top_pairs" in ours:
                columns.append((lambda r: r["top_languages"], lambda r: {key[13:-6]: v for key, v in r.items() if key.startswith("top_language_")}))
            failed += same_columns(label, a, b, columns)
    return failed


def test_fasttext(corpus):
    records, failed = list(read_corpus(corpus)), 0
    short = [r for r in records if len(r["text"]) < 20000][:MANY * 3 // 50]
    path = write_corpus("short.jsonl", short)
    for k, model in enumerate(models(records, 3)):
        remembering = Remembering(model)
        for n, mode in enumerate(["document", "paragraph", "sentence"]):
            for name, theirs, ours in [("keep", dict(keep_labels=[("en", .4)]), {"keep_labels": {"en": .4}}),
                                       ("remove", dict(remove_labels=("en", .3), newline_replacement=" "), {"remove_labels": {"en": .3}, "newline_replacement": " "})]:
                if k > 1 and (name == "remove" or mode == "sentence"):
                    continue
                label = "fasttext %s %s %s" % (os.path.basename(model), mode, name)
                a = sluice("fasttext_filter", {"model": model, "by": mode, "columns": {"en": "en"}, **ours}, path, "ft%d_%d_%s" % (k, n, name),
                           keep=["id", "labels", "en"] + (["text"] if mode != "document" else []))
                peer = FastTextClassifierFilter(model, filter_mode=mode.upper(), **theirs)
                peer._model = remembering
                b = datatrove(peer, short, "fasttext", ())
                failed += compare(label, a, b)
                failed += same_columns(label, a, b, [(lambda r: r["labels"], dict), (lambda r: r["en"], lambda r: r.get("__label__en", 0.0))])
    return failed


# ---- C4 ----

def test_c4(corpus):
    records = list(read_corpus(corpus))
    failed = compare("c4_paragraph", sluice("c4_paragraph", {}, corpus, "c4_paragraph"), datatrove(C4ParagraphFilter(), records, None), texts=False)
    rng = random.Random(5)
    texts = [r["text"].lower() for r in records if r["text"].strip()]
    languages = ["en", "de", "fr", "ja", "zh", "th", "ru", "fr-CA-u-sd-caqc", "ar", "kab"]
    files = {}
    for k, language in enumerate(languages):
        words = {"sm", "\u6027", "\u30b0\u30ed", "Capital", "a+b", "$$", "x*", "[1]"}
        for _ in range(120):
            text = rng.choice(texts)
            at = rng.randrange(len(text))
            piece = text[at:at + rng.randint(2, 14)].replace("\n", " ").strip()
            words.add(piece if rng.random() < .3 else rng.choice(text.split())[:30])
        words = sorted(w for w in words if w.strip() and len(w.splitlines()) == 1 and len(w) > (1 if language in ("ja", "zh", "th") else 3))
        files[language] = os.path.join(TMP, "bad." + language)
        with open(files[language], "w", encoding="utf-8", newline="") as out:
            out.write(("\r\n" if k == 1 else "\n").join(" " + w if k == 2 else w for w in words) + ("" if k % 2 else "\n") + ("\n" if language == "kab" else ""))
    original, c4_filters.cached_asset_path_or_download = c4_filters.cached_asset_path_or_download, lambda url, **k: files[url.rsplit("/", 1)[-1]]
    for n, record in enumerate(records):
        if n % 7:
            record["language"] = languages[n % 10] if n % 11 else "xx"
    path = write_corpus("badwords.jsonl", records)
    options = {("fr_ca_u_sd_caqc" if k == "fr-CA-u-sd-caqc" else k): v for k, v in files.items()}
    columns = 'url = "utf8", language = "utf8"'
    source = {r["id"]: r["text"] for r in records}
    failed += compare("c4_badwords", sluice("c4_badwords", {**options, "fail_on_missing_language": False}, path, "badwords", columns),
                      datatrove(C4BadWordsFilter(fail_on_missing_language=False), records, None, ("language",)), texts=False, source=source)
    failed += compare("c4_badwords_datatrove",
                      sluice("c4_badwords_datatrove", {**options, "fail_on_missing_language": False, "keep_fraction": .4, "seed": 42, "default_language": "fr"}, path,
                             "badwords_datatrove", columns, split="8GiB"),
                      datatrove(C4BadWordsFilter(keep_fraction=.4, fail_on_missing_language=False, seed=42, default_language="fr"), records, None, ("language",)), texts=False)
    c4_filters.cached_asset_path_or_download = original
    return failed


# ---- words, chance, patterns ----

def test_unigram(corpus):
    records, failed = list(read_corpus(corpus)), 0
    counts = Counter(word.lower() for record in records for word in record["text"].split()[:200] if len(word) < 60)
    table = os.path.join(TMP, "unigram.csv")
    with open(table, "w", encoding="utf-8", newline="") as out:
        writer = unigram_log_probs.csv.writer(out)
        writer.writerow(["rank", "word", "count"])
        for rank, (word, count) in enumerate(counts.most_common(50000)):
            writer.writerow([rank, word, count * 1000 + rank])
        writer.writerow([0, "the", 123456])
    UnigramLogProbFilter.get_frequencies.__globals__["cached_assets_path"] = lambda **k: TMP
    os.replace(table, os.path.join(TMP, "unigram_freq.csv"))
    table = os.path.join(TMP, "unigram_freq.csv")
    for threshold in (-10, -8.5):
        failed += compare("unigram_log_prob %g" % threshold, sluice("unigram_log_prob", {"frequencies": table, "threshold": threshold}, corpus, "unigram%d" % -threshold),
                          datatrove(UnigramLogProbFilter(threshold), records, "unigram_log_prob", ()), texts=False)
    return failed


def test_regex(corpus):
    records, failed = list(read_corpus(corpus)), 0
    for k, pattern in enumerate(["(?i)copyright", r"\b[A-Z]{3,}\b.*\d{2}", r"(\w+) \1\b", r"^\s*$", r"(?m)^- .*[.!]$", r"[\u4e00-\u9fff]{5}".replace("\\u4e00", "\u4e00").replace("\\u9fff", "\u9fff")]):
        spaces = {r["id"]: r"PCRE2's \s has U+180E, Python's U+001C to U+001F" for r in records if r"\s" in pattern and re.search("[\u180e\x1c-\x1f]", r["text"])}
        failed += compare("regex %s" % pattern, sluice("regex", [pattern], corpus, "regex%d" % k), datatrove(RegexFilter(pattern), records, "regex", ()), texts=False,
                          explained=spaces)
    golden = os.path.join(DATA, "peers.tar.zst")
    if os.path.isfile(golden):
        cases = os.popen("tar --zstd -xOf '%s' peers/datatrove-filters-golden.jsonl" % golden).read().splitlines()
        cases = [case for case in map(json.loads, cases) if case["filter"].startswith("RegexFilter")]
        path = write_corpus("golden.jsonl", [{"id": str(k), "text": case["text"]} for k, case in enumerate(cases)])
        expected = {str(k): Decision(case["expect"] == "keep", None if case["expect"] == "keep" else "regex") for k, case in enumerate(cases)}
        failed += compare("regex, the peer's tests", sluice("regex", ["(?i)copyright"], path, "regex_golden"), expected, texts=False)
    return failed


def test_sampler(corpus):
    records = list(read_corpus(corpus))
    failed = 0
    for k, (rate, seed) in enumerate([(.5, 0), (.1, 42), (.9, 2 ** 40 + 3)]):
        failed += compare("sampler_datatrove %g %d" % (rate, seed), sluice("sampler_datatrove", {"rate": rate, "seed": seed}, corpus, "sampler%d" % k, split="8GiB"),
                          datatrove(SamplerFilter(rate, seed), records, "sampled_out", ()), texts=False)
    return failed


# ---- formatters ----

def formatted(block, records):
    return {r["id"]: Decision(True, None, block.format(r["text"])) for r in records}


def personal(rng, count):
    """Texts full of what looks like addresses."""
    parts = ["john.doe", "a", "x_y", "+tag", "..", ".", "@", "@", "example.com", "ex-ample.co.uk", "-bad.com", "sub.", "b-", "[1.2.3.4]", "[1.2.3.a-b:]", "[1.2.3.]", "\u00e9",
             " ", "\n", "(", ",", "'q'", "8.8.8.8", "1.2.3.4", "256.1.1.1", "10.0.0.1", "192.0.0.9", "01.2.3.4", "1.2.3.4.5.6", "999.1.2.3", "100.64.1.1", "172.16.5.5", "172.32.0.1",
             "127.0.0.1", "1234", "25", "250.250.250.250", "\u4e2d", "_", "#", "\u0663.1.2.3", "203.0.113.7", "198.18.0.1", "240.1.1.1", "9", "0", "mailto:", "=?", "{x}", "-"]
    return ["".join(rng.choice(parts) for _ in range(rng.randint(1, 30))) for _ in range(count)]


def test_pii(corpus):
    records = list(read_corpus(corpus))
    records += [{"id": "pii%d" % k, "text": text, "url": "x"} for k, text in enumerate(personal(random.Random(9), 30000))]
    path = write_corpus("pii.jsonl", records)
    ranges = "new" if not PIIFormatter().ip_replacer.validator("192.0.0.100") else "old"
    source, failed = {r["id"]: r["text"] for r in records}, 0
    for k, (theirs, ours) in enumerate([({}, {}), (dict(remove_ips=False, email_replacement="<email>"), {"remove_ips": False, "email_replacement": ["<email>"]}),
                                        (dict(remove_emails=False, only_remove_public_ips=False, ip_replacement=["a", "", "c"]),
                                         {"remove_emails": False, "only_public": False, "ip_replacement": ["a", "", "c"]})]):
        failed += compare("pii_datatrove %s" % (ours or "defaults"), sluice("pii_datatrove", {"ranges": ranges, **ours}, path, "pii%d" % k, keep=("id", "text"), split="8GiB"),
                          formatted(PIIFormatter(**theirs), records), source=source)
    # Where only one word can be chosen, the order of rows plays no part.
    one = {"email_replacement": ["<e>"], "ip_replacement": ["<i>"]}
    failed += compare("pii, one word each", sluice("pii", {"ranges": ranges, **one}, path, "pii_one", keep=("id", "text")),
                      formatted(PIIFormatter(email_replacement="<e>", ip_replacement="<i>"), records), source=source)
    return failed


def test_symbols(corpus):
    records, failed = list(read_corpus(corpus)), 0
    rng = random.Random(2)
    parts = ["***", "---", " ", "\t", "\n", "\n", "\r\n", "\u2028", "\x0b", "text", "\u3002", "|", "\u00a0", "\x85", "\x01", "#", "\u00b7", "1", "\n\n"]
    records += [{"id": "sym%d" % k, "text": "".join(rng.choice(parts) for _ in range(rng.randint(0, 12))), "url": "x"} for k in range(MANY)]
    path = write_corpus("symbols.jsonl", records)
    source = {r["id"]: r["text"] for r in records}
    for k, (theirs, ours) in enumerate([({}, {}), (dict(replace_char="\n"), {"replacement": "\n"}), (dict(symbols_to_remove=["*", "1", "\u3002"], replace_char="~"), {"symbols": ["*", "1", "\u3002"], "replacement": "~"})]):
        failed += compare("symbol_lines %s" % (ours or "defaults"), sluice("symbol_lines", ours, path, "symbols%d" % k, keep=("id", "text")),
                          formatted(SymbolLinesFormatter(**theirs), records), source=source)
    return failed


def main():
    tests = {"url": test_url, "language": test_language, "fasttext": test_fasttext, "c4": test_c4, "unigram": test_unigram, "regex": test_regex, "sampler": test_sampler,
             "pii": test_pii, "symbols": test_symbols}
    corpus, failed = make_corpus(TMP), 0
    for name in sys.argv[2:] or tests:
        failed += tests[name](corpus)
    print("%d unexplained differences" % failed)
    sys.exit(1 if failed else 0)


main()
