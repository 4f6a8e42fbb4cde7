#!/usr/bin/env python3
"""Compares the stages web_quality, web_newlines, web_repetition, web_lines and web_madlad with DCLM's and datamap-rs' rules.

Usage: parity_web.py TMP

DCLM is no package, datamap-rs is a Rust program: what stands below is a model of our own, written from their sources' behaviour and shared with
neither them nor the C code. It leans on the libraries that the peers use, where these have a package: fastText's tokenizer and uniseg
(DCLM), the crate unicode-segmentation (datamap-rs), Python's and the `regex` module's classes, numpy's float32. uniseg takes a minute a megabyte, so
the crate cuts the words for both, and the two are compared on a sample.

Documents with code points that this Python's Unicode does not know are left out, and counted. Every drop is compared with its reason and its
value, every kept text byte by byte. Exit: 0 all equal, 1 a difference.
"""
import json
import os
import re
import sys
import unicodedata
from collections import Counter

import fasttext
import numpy
import regex
import unicode_segmentation_rs as rust
import uniseg.wordbreak

from kit import compare, Decision, make_corpus, read_corpus, read_dataset, run_script

F = numpy.float32
numpy.seterr(all="ignore")
STOP = {"the", "be", "to", "of", "and", "that", "have", "with"}
SYMBOLS = ("#", "...", ". . .", "\u2026")
ALPHABETIC = regex.compile(r"\p{Alphabetic}")
UPPERCASE = regex.compile(r"\p{Uppercase}")
RUST_SPACE = regex.compile(r"[\p{White_Space}]+")
THINGS = "likes|shares|comments|retweets|reposts|quotes|bookmarks|upvotes|downvotes|downloads|views|followers"
COUNTER_PYTHON = re.compile(r"^\W*\d(?:,|\.|\d)*(?:K|k|M|m|B|b)?\s+(?:%s)\W*$" % THINGS)
W = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]"
NOT_W = r"[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]"
S = r"\p{White_Space}"
COUNTER_RUST = regex.compile(r"\A%s*\p{Nd}(?:,|\.|\p{Nd})*[kKmMbB]?%s+(?:%s)%s*\Z" % (NOT_W, S, THINGS, NOT_W))


# ---- DCLM ----

def fasttext_words(text):
    return [token for token in fasttext.FastText.tokenize(text) if token[0].isalnum()]


def filled_lines(text, separator="\n"):
    return [line for part in text.split(separator) if (line := part.strip())]


def dclm_measures(text):
    words, lines = text.split(), filled_lines(text)
    hits = [word.lower() for word in words if word.lower() in STOP]
    return {"chars": len(text), "page": len(fasttext_words(text)), "words": len(words), "mean": sum(map(len, words)) / len(words) if words else 0,
            "symbols": sum(text.count(symbol) for symbol in SYMBOLS) / len(words) if words else 0, "lines": len(lines),
            "bullets": sum(line.startswith(("\u25cf", "\u2022", "*", "-")) for line in lines),
            "ellipses": sum(line.endswith(("...", ". . .", "\u2026")) for line in lines),
            "letters": sum(not any(map(str.isalpha, word)) for word in words) / len(words) if words else 1, "stop": len(hits), "unique": len(set(hits))}


QUALITY_LIMITS = dict(min_chars=0, min_words=50, max_words=100000, min_word_length=3, max_word_length=10, max_symbol_ratio=0.1, max_bullet_ratio=0.9,
                      max_ellipsis_ratio=0.3, max_non_alpha_ratio=0.2, min_stop_words=2, unique_stop_words=False)


def length_reason(m, o):
    if m["chars"] < o["min_chars"]:
        return "page_length_char", m["chars"]
    if (o["min_words"] >= 0 and m["page"] < o["min_words"]) or 0 <= o["max_words"] < m["page"]:
        return "page_length_word", m["page"]
    return None


def stop_reason(m, o):
    hits = m["unique" if o["unique_stop_words"] else "stop"]
    return ("stop_word", hits) if hits < o["min_stop_words"] else None


def dclm_quality(m, **given):
    o = dict(QUALITY_LIMITS, **given)
    none = m["words"] == 0
    if length_reason(m, o):
        return length_reason(m, o)
    if (o["min_word_length"] >= 0 and (none or m["mean"] < o["min_word_length"])) or (o["max_word_length"] >= 0 and (none or m["mean"] > o["max_word_length"])):
        return "word_length", m["mean"]
    if o["max_symbol_ratio"] >= 0 and (none or m["symbols"] > o["max_symbol_ratio"]):
        return "symbol_ratio", m["symbols"]
    for name, reason in (("bullet", "bullets"), ("ellipsis", "ellipses")):
        limit = o["max_%s_ratio" % name]
        if limit >= 0 and m[reason] > limit * m["lines"]:
            return name + "_count", m[reason] / m["lines"]
    if o["max_non_alpha_ratio"] >= 0 and (none or m["letters"] > o["max_non_alpha_ratio"]):
        return "alphabetic_word_ratio", m["letters"]
    return stop_reason(m, o)


def dclm_words(text):
    return [word for word in rust.split_word_bounds(text) if word[0].isalnum()]


TOP = ("top_2_gram", "top_3_gram", "top_4_gram")
LIMITS = {"line": .3, "paragraph": .3, "line_chars": .2, "paragraph_chars": .2, "top_2_gram": .2, "top_3_gram": .18, "top_4_gram": .16,
          "dup_5_gram": .15, "dup_6_gram": .14, "dup_7_gram": .13, "dup_8_gram": .12, "dup_9_gram": .11, "dup_10_gram": .10}
NAMES = {"line": "dup_line", "paragraph": "dup_paragraph", "line_chars": "dup_line_char", "paragraph_chars": "dup_paragraph_char"}


def grams_of(words, n):
    return list(zip(*(words[i:] for i in range(n))))


def covered(grams, counts, n, lengths):
    places = set()
    for at, gram in enumerate(grams):
        if counts[gram] > 1:
            places.update(range(at, at + n))
    return sum(lengths[i] for i in places)


def dclm_shares(text):
    """[(limit's name, reason, share)] in the order of the tests; a reason without a name always drops."""
    segments = {"line": filled_lines(text), "paragraph": filled_lines(text, "\n\n")}
    if not segments["line"]:
        return [(None, "empty", 0)]
    shares = []
    for name in ("line", "paragraph", "line_chars", "paragraph_chars"):
        pieces = segments[name.split("_")[0]]
        counts = Counter(pieces)
        if len(pieces) < 2:
            continue
        if name.endswith("_chars"):
            share = sum(len(piece) * count for piece, count in counts.items() if count > 1) / sum(map(len, pieces))
        else:
            share = sum(count for count in counts.values() if count > 1) / len(pieces)
        shares.append((name, NAMES[name], share))
    words = dclm_words(text)
    lengths = list(map(len, words))
    for n in range(2, 11):
        grams = grams_of(words, n)
        counts = Counter(grams)
        most = max(counts.values(), default=1)
        if most == 1:
            break
        name = "%s_%d_gram" % ("top" if n < 5 else "dup", n)
        if n < 5:
            share = max(sum(map(len, gram)) for gram, count in counts.items() if count == most) * most / sum(lengths)
        else:
            share = covered(grams, counts, n, lengths) / sum(lengths)
        shares.append((name, name, share))
    return shares


def repetition(shares, convert=float, **given):
    limits = dict(LIMITS, **given)
    for name, reason, share in shares:
        if name is None or (limits[name] >= 0 and share > convert(limits[name])):
            return reason, float(share)
    return None


def dclm_cut(text, phrase, place, most):
    pattern = {"": r"\s?(?:%s)", "suffix": r"\s?(?:%s)$", "prefix": r"^(?:%s)\s?"}[place] % phrase
    lines = []
    for line in text.split("\n"):
        if most < 0 or len(line.split()) <= most:
            new = re.sub(pattern, "", line, flags=re.IGNORECASE)
            if line and not new.strip():
                continue
            line = new
        lines.append(line)
    return "\n".join(lines).strip()


def dclm_lines(text, max_uppercase=.5, max_numeric=.999999, counters=True, min_line_words=2, cut_max_words=10, max_removed=.05):
    before = len(fasttext_words(text))
    steps = []
    if max_uppercase >= 0:
        steps.append(lambda t: keep(t, lambda line: sum(map(str.isupper, line)) / len(line) <= max_uppercase).strip())
    if max_numeric >= 0:
        steps.append(lambda t: keep(t, lambda line: sum(map(str.isdigit, line)) / len(line) <= max_numeric).strip())
    if counters:
        steps.append(lambda t: keep(t, lambda line: not COUNTER_PYTHON.search(line.lower())).strip())
    if min_line_words > 0:
        steps.append(lambda t: keep(t, lambda line: len(line.split()) >= min_line_words))
    for phrase, place in (("items in cart", ""), ("Read more...", "suffix"), ("Sign-in", "prefix")):
        steps.append(lambda t, phrase=phrase, place=place: dclm_cut(t, phrase, place, cut_max_words))
    for step in steps:
        text = step(text)
        if text == "":
            return "no_lines_left", 0
    removed = (before - len(fasttext_words(text))) / before if before else 1
    if max_removed >= 0 and (not before or removed > max_removed):
        return "word_removal_ratio", removed
    return text


def keep(text, test):
    return "\n".join(line for line in text.split("\n") if not line or test(line))


# ---- datamap-rs ----

def utf8(text):
    return len(text.encode())


def rust_split(text):
    return [word for word in RUST_SPACE.split(text) if word]


def rust_lines(text):
    lines = text.split("\n")
    last = lines.pop()
    lines = [line[:-1] if line.endswith("\r") else line for line in lines]
    return lines + [last] if last else lines


def divided(a, b):
    return F(a) / F(b)


def page_words(text):
    return len(regex.findall(r"[A-Za-z0-9]+", text)) if text.isascii() else len(rust.unicode_words(text))


def datamap_measures(text):
    words, lines = rust_split(text), text.split("\n")
    filled = [line for line in rust_lines(text) if line]
    hits = [word.lower() for word in words if word.lower() in STOP]
    return {"chars": len(text), "page": page_words(text), "words": len(words), "mean": divided(sum(map(utf8, words)), len(words)),
            "symbols": divided(sum(text.count(symbol) for symbol in SYMBOLS), max(len(rust_split(text.replace(". . .", "..."))), 1)),
            "bullets": divided(sum(line.startswith(("\u25cf", "\u2022", "*", "-")) for line in lines), len(lines)),
            "ellipses": divided(sum(line.endswith(("...", ". . .", "\u2026")) for line in filled), max(len(filled), 1)),
            "letters": divided(sum(not ALPHABETIC.search(word) for word in words), len(words)), "stop": len(hits), "unique": len(set(hits))}


def datamap_quality(m, **given):
    o = dict(QUALITY_LIMITS, **given)
    if length_reason(m, o):
        return length_reason(m, o)
    if (o["min_word_length"] >= 0 and not m["mean"] >= F(o["min_word_length"])) or (o["max_word_length"] >= 0 and not m["mean"] <= F(o["max_word_length"])):
        return "word_length", float(m["mean"]) if m["words"] else 0
    for name, measure, reason in (("symbol", "symbols", "symbol_ratio"), ("bullet", "bullets", "bullet_count"), ("ellipsis", "ellipses", "ellipsis_count")):
        limit = o["max_%s_ratio" % name]
        if limit >= 0 and not m[measure] <= F(limit):
            return reason, float(m[measure])
    if o["max_non_alpha_ratio"] >= 0 and (m["words"] == 1 or not m["letters"] <= F(o["max_non_alpha_ratio"])):
        return "alphabetic_word_ratio", float(m["letters"]) if m["words"] else 1
    return stop_reason(m, o)


def datamap_share(elements, n, weighted):
    """Of the n-grams that are as frequent and as long the first seen (the peer: the last in its hash table)."""
    grams = grams_of(elements, n)
    if len(grams) < 2:
        return F(not grams and n == 1)
    counts = Counter(grams)
    lengths = list(map(utf8, elements))
    if n == 1 and not weighted:
        return divided(sum(count for count in counts.values() if count > 1), len(elements))
    if n == 1:
        return divided(sum(utf8(gram[0]) * count for gram, count in counts.items() if count > 1), sum(lengths))
    if n < 5:
        most = max(counts.values())
        best = max((gram for gram, count in counts.items() if count == most), key=lambda gram: sum(map(utf8, gram)))
        counts = {best: most}
        grams = [gram if gram == best else None for gram in grams]
        counts[None] = 0
    return divided(covered(grams, counts, n, lengths), sum(lengths))


def datamap_shares(text):
    lines = [line for line in text.split("\n") if line]
    if not lines:
        return [(None, "empty", 0)]
    paragraphs = [piece for piece in text.split("\n\n") if piece]
    shares = [(name, NAMES[name], datamap_share(pieces, 1, name.endswith("_chars")))
              for name, pieces in (("line", lines), ("paragraph", paragraphs), ("line_chars", lines), ("paragraph_chars", paragraphs))]
    words = rust.unicode_words(text)
    for n in range(2, 11):
        name = "%s_%d_gram" % ("top" if n < 5 else "dup", n)
        shares.append((name, name, datamap_share(words, n, True)))
    return shares


def datamap_cut(text, phrase, place, most):
    pattern = {"": r"%s?(?:%s)%s?" % (S, phrase, S), "suffix": r"%s?(?:%s)\Z" % (S, phrase), "prefix": r"\A(?:%s)%s?" % (phrase, S)}[place]
    lines = []
    for line in rust_lines(text):
        if line and (most < 0 or len(rust.unicode_words(line)) <= most):
            line = regex.sub(pattern, "" if place else " ", line)
            if not RUST_SPACE.sub("", line):
                continue
        elif line and not RUST_SPACE.sub("", line):
            continue
        lines.append(line)
    return "\n".join(lines)


def datamap_lines(text, max_uppercase=.5, max_numeric=.999999, counters=True, min_line_words=2, cut_max_words=10, max_removed=.05):
    before = len(rust.unicode_words(text))
    if max_uppercase >= 0:
        text = keep(text, lambda line: divided(len(UPPERCASE.findall(line)), utf8(line)) <= F(max_uppercase))
    if max_numeric >= 0:
        text = keep(text, lambda line: divided(len(re.findall("[0-9]", line)), utf8(line)) <= F(max_numeric))
    if counters:
        lines = [line for line in text.split("\n") if not COUNTER_RUST.search(line.lower())]
        if not lines:
            return "no_lines_left", 0
        text = "\n".join(lines)
    if min_line_words > 0:
        lines = [line for line in text.split("\n") if not line or len(rust.unicode_words(line)) >= min_line_words]
        if not lines:
            return "no_lines_left", 0
        text = "\n".join(lines)
    for phrase, place in (("items in cart", ""), ("Read more...", "suffix"), ("Sign-in", "prefix")):
        text = datamap_cut(text, phrase, place, cut_max_words)
    removed = divided(before - len(rust.unicode_words(text)), before) if before else F(1)
    if max_removed >= 0 and not (before and removed <= F(max_removed)):
        return "word_removal_ratio", float(removed)
    return text


CURSED = ["orem ipsum ", " sex ", "ownload", "Facebook", "Vol.", "mp3", "the t", r"\|\s*$", r" nr\.$", r"\d{4}", " ([^ ] ){9}"]


def madlad(text, rules=(2,), min_sentences=5, max_suspicious=.2):
    sentences = [piece for piece in regex.split(r"[.!?]+%s+" % S, text) if RUST_SPACE.sub("", piece)]
    if len(sentences) < min_sentences:
        return "too_few_sentences", len(sentences)
    hits = 0
    for sentence in sentences:
        words = rust.unicode_words(sentence) if 2 in rules else []
        capitals = sum(bool(UPPERCASE.match(word)) for word in words)
        size = utf8(sentence)
        hits += bool((2 in rules and len(words) >= 12 and F(capitals) > F(len(words)) * F(.5)) or
                     (3 in rules and not 20 <= size <= 500) or
                     (4 in rules and F(sum(c in "0123456789{}+/()>" for c in sentence)) > F(size) * F(.2)) or
                     (5 in rules and (any(item in sentence for item in CURSED[:-4]) or
                                      any(regex.search(item.replace("$", r"\Z").replace(r"\s", S).replace(r"\d", r"\p{Nd}"), sentence) for item in CURSED[-4:]))))
    return ("suspicious_sentences", hits / len(sentences)) if hits >= len(sentences) * max_suspicious else None


def newlines(text, most=2):
    return re.sub("\n{%d,}" % (most + 1), "\n" * most, text)


# ---- the comparison ----

OFF = dict(min_words=-1, max_words=-1, min_word_length=-1, max_word_length=-1, max_symbol_ratio=-1, max_bullet_ratio=-1, max_ellipsis_ratio=-1,
           max_non_alpha_ratio=-1, min_stop_words=0)
NONE = {name: -1 for name in LIMITS}
QUALITY = [{}, dict(OFF, min_chars=1500), dict(OFF, min_words=120), dict(OFF, max_words=300), dict(OFF, min_word_length=5.3), dict(OFF, max_word_length=5.1),
           dict(OFF, max_symbol_ratio=0), dict(OFF, max_bullet_ratio=0.02), dict(OFF, max_ellipsis_ratio=0.001), dict(OFF, max_non_alpha_ratio=0.08),
           dict(OFF, min_stop_words=60), dict(OFF, min_stop_words=8, unique_stop_words=True)]
REPETITION = [{}, dict(NONE, line=.05), dict(NONE, paragraph=.05), dict(NONE, line_chars=.02), dict(NONE, paragraph_chars=.02), dict(NONE, top_2_gram=.02),
              dict(NONE, top_3_gram=.015), dict(NONE, top_4_gram=.012), dict(NONE, dup_5_gram=.01), dict(NONE, dup_7_gram=.01), dict(NONE, dup_10_gram=.005)]
LINES = [dict(max_removed=-1, cut_max_words=-1), {}, dict(max_removed=0, max_uppercase=.1, max_numeric=.2, min_line_words=5)]
MADLAD = [dict(rules=(3, 4)), dict(rules=(2, 5), min_sentences=1), dict(rules=(5,), max_suspicious=.6)]


def lua(options):
    def value(v):
        if isinstance(v, tuple):
            return "{ %s }" % ", ".join('"%s"' % item for item in v)
        return str(v).lower() if isinstance(v, (bool, str)) else repr(v)
    return ", ".join("%s = %s" % (name, value(v)) for name, v in options.items())


def cases():
    """(name, Lua, measure of a text or None, model of the measure)"""
    models = {"dclm": (dclm_measures, dclm_quality, dclm_shares, repetition, dclm_lines),
              "datamap": (datamap_measures, datamap_quality, datamap_shares, lambda shares, **given: repetition(shares, F, **given), datamap_lines)}
    for peer, (measures, quality, shares, repeated, lines) in models.items():
        for stage, configs, measure, model in (("quality", QUALITY, measures, quality), ("repetition", REPETITION, shares, repeated), ("lines", LINES, None, lines)):
            for k, given in enumerate(configs):
                yield ("%s_%s_%d" % (stage, peer, k), 's.web_%s { peer = "%s"%s }' % (stage, peer, ", " + lua(given) if given else ""), measure,
                       lambda text, model=model, given=given: model(text, **given))
    for k, given in enumerate(MADLAD):
        extra = ', cursed = "cursed.txt"' if 5 in given.get("rules", ()) else ""
        yield "madlad_%d" % k, "s.web_madlad { %s%s }" % (lua(given), extra), None, lambda text, given=given: madlad(text, **given)
    yield "newlines", "s.web_newlines { max_newlines = 1 }", None, lambda text: newlines(text, 1)


# What the corpus lacks: each rule's own material.
MADE = [
    "The cart is full.\n3 items in cart\nITEMS IN CART and more\nRead more...\nnews Read more ab\nread MORE\u2026\u2026\u2026\nSign-in here\nsign-in\nS\u0131gn-in\n\u017fign-\u0130n to go on\n\u2003items \u0131n cart\u2003x\nend of it all",
    "3 likes\n1.2K followers\n12,345 views !\n\u0663 shares\n5\u212a likes\n7 m likes\n- 9 comments -\n3 likes of me\nx 3 likes\n_3 likes\n\u0345 3 likes\n\u20ac4b\u00a0quotes\u2163\n8 dislikes\nmore words",
    "\u24b6 \u24b7 words \u0345 and \u0903 or \u0488 marks \u00b2\u00b3\n\u00b2\u00b3\u00b9\n12345\n\u0661\u0662\u0663\n\u2460\u2461\nBUY NOW\nBuY nO\n\u00c9\u00c8\u00ca e\n1\n",
    "one line\r\ntwo lines\r\n\r\nthree lines\r\nfour\r\n", "a \x1c b \x1d\n\x1e\nitems in cart\x1cq\n \x1f \nword word\x1c", " \n \n", "\n\n\n", "word", "a b", "#", "the the",
    "a a a a a a a a a a a a b c d e", "a b a b a b a b c d c d c d c d", "ab cd ef ab cd ef gh ij kl gh ij kl", "x\n\nx\n\n\nx\n\ny\n", "- a\n-b\n * c\n\u2022d\n", "wait...\nno . . .\nyes\u2026 \n\nend",
    ". . . and . . . with # to the . . . . . of", "A B C D E F G H I J K L M. a! b? c... d. e. f.. g?! h", "Don't stop 3.14 snake_case _x x_ \u0e01\u0e02 \u30ab\u30bf\u30ab\u30ca",
    "nr. one nr. two |\n. three |. four | . five. six. seven. ownload. x", "sentence one. " * 7 + "1{2}(3)/4+5>6. " * 3 + "Very Long " * 60 + ". " + "mp3. Facebook",
]


def unknown_ranges():
    first = None
    for c in range(0x110001):
        unknown = c < 0x110000 and unicodedata.category(chr(c)) == "Cn"
        if unknown and first is None:
            first = c
        elif not unknown and first is not None:
            yield "\\U%08x-\\U%08x" % (first, c - 1)
            first = None


# Characters whose place in words Unicode 16 changed (the peers' segmentation; ours is of Unicode 15): found by comparing all of them.
CHANGED = "\\u00b8\\u19da\\ufe10\\ufe14"
UNKNOWN = re.compile("[%s%s]" % ("".join(unknown_ranges()), CHANGED))


def known(text):
    return not UNKNOWN.search(text)


def main():
    tmp = sys.argv[1]
    texts, left_out = {}, 0
    for record in read_corpus(make_corpus(tmp, max(1, int(os.environ.get("PARITY_MEGABYTES") or 50) // 3))):
        if known(record["text"]):
            texts[record["id"]] = record["text"]
        else:
            left_out += 1
    texts.update(("made/%d" % k, text) for k, text in enumerate(MADE))
    print("%d documents, %d with code points that Unicode %s does not know left out" % (len(texts), left_out, unicodedata.unidata_version))
    with open(os.path.join(tmp, "web.jsonl"), "w", encoding="utf-8") as out:
        for name, text in texts.items():
            out.write(json.dumps({"id": name, "text": text}) + "\n")
    with open(os.path.join(tmp, "cursed.txt"), "w", encoding="utf-8") as out:
        out.write("\n".join(CURSED) + "\n")
    size, sampled = 0, 0
    for name, text in sorted(texts.items(), key=lambda item: (not item[0].startswith("made"), item[0])):
        if size + len(text) > 30000 or len(text) > 10000:
            continue
        size, sampled = size + len(text), sampled + 1
        if list(uniseg.wordbreak.words(text)) != rust.split_word_bounds(text):
            print("uniseg and unicode-segmentation differ on %s" % name)
    print("uniseg compared on %d documents" % sampled)
    all_cases = list(cases())
    outputs = "".join('  docs_%d | s.write_jsonl { "%s/kept", compression = "none" },\n  docs_%d.dropped | s.write_jsonl { "%s/dropped", compression = "none" },\n'
                      % (k, case[0], k, case[0]) for k, case in enumerate(all_cases))
    script = 'local s = require "sluice"\nlocal docs = s.files { "web.jsonl", split = "4MiB" } | s.read_jsonl {}\n'
    script += "".join("local docs_%d = docs | %s\n" % (k, case[1]) for k, case in enumerate(all_cases))
    run_script(script + 'return s.pipeline { "web",\n%s}\n' % outputs, tmp, "web")
    failed, measured = 0, {}
    for name, _, measure, model in all_cases:
        if measure and measure not in measured:
            measured = {measure: {identifier: measure(text) for identifier, text in texts.items()}}
        ours, theirs, values = {}, {}, 0
        for row in read_dataset(os.path.join(tmp, name, "kept")):
            ours[row["id"]] = Decision(True, None, row["text"], row)
        for row in read_dataset(os.path.join(tmp, name, "dropped")):
            ours[row["id"]] = Decision(False, row["drop_reason"], None, row)
        for identifier, text in texts.items():
            result = model(measured[measure][identifier] if measure else text)
            if isinstance(result, tuple):
                theirs[identifier] = Decision(False, result[0])
                mine = ours.get(identifier)
                if mine and mine.reason == result[0] and mine.row["drop_value"] != result[1]:
                    values += 1
                    if values <= 5:
                        print("  DIFFERS %s: value of %s: ours %r, theirs %r" % (identifier, result[0], mine.row["drop_value"], result[1]))
            else:
                theirs[identifier] = Decision(True, None, text if result is None else result)
        failed += values + compare(name, ours, theirs, source=texts)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
