#!/usr/bin/env python3
"""Compares the word rule and the sentence rule spacy-en with datatrove's English tokenizer, token for token.

Usage: parity_words.py WORDS_DUMP CORPUS.jsonl [--strings N] [--seed S] [--bench]

The texts are those of CORPUS.jsonl (corpus.py) and N random strings made of what the rules speak of: special cases, affixes, infixes,
units, URLs, code points of every class and of every kind of white space. Words are datatrove's word_tokenize; sentences its span_tokenize.
Code points that this Python's Unicode does not know are left out of random strings. --bench prints processor seconds of both.
Exit: 0 all equal; 1 a difference.

Left out, and counted: a text in which a token IS_ALPHA stands. Its number in spaCy's table is the mark of a deleted entry, so
that its second occurrence in a process reads freed memory; datatrove then deletes the string. Here it is a word like any other.
"""
import argparse
import json
import random
import re
import struct
import subprocess
import sys
import time
import unicodedata

from datatrove.utils.word_tokenizers import load_word_tokenizer
from spacy.lang import char_classes as cc
from spacy.pipeline.sentencizer import Sentencizer

PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
SPACES = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\u00a0\u1680\u2000\u2003\u2009\u2028\u2029\u202f\u205f\u3000"
LETTERS = ["abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", "\u00e9\u00df\u00c0\u0130\u01c5\u02b0\u00b5\u00b2\u00b3\u00b0",
           "\u0430\u0431\u0433\u043a\u043c\u041a\u0411\u0401\u0451", "\u03b1\u03c9\u0391\u03a9\u03ac", "\u4e2d\u6587\u3042\u30a2\ud55c\uae00\u3007", "\u0627\u0645\u0643\u0645", "\u05d0\u05d1\u0591", "\u0995\u09e6\u09ef\u0e81",
           "\u0301\u200d\ufe0f\u200b", "\u0663\u0967\u2167\u00bd", "\U00010400\U0001d7d8\U00020000\U0001f600\U0001f1e9", "\uffff\ufffd\ue000\u00a1"]
URLS = ["http://", "https://", "ftp://", "x://", "a.b+c-d://", "://", "www.", ".com", ".co.uk", "example", "localhost", "user@", "user:pass@", "@", ":80", ":8080", ":123456", ":1", "/path", "?q=1", "#frag",
        "/", "10.0.0.1", "127.0.0.1", "192.168.1.1", "169.254.1.1", "172.16.0.1", "172.32.0.1", "1.2.3.4", "8.8.8.8", "223.255.255.254", "224.0.0.1", "0.1.2.3", "1.1.1.255", "256.1.1.1", "1.2.3", "01.2.3.4",
        "a" * 62, "a" * 63, "a" * 64, "a-b", "-a", "a-", "_a", "\u0661.2.3.4", "1\u0662.3.4.5", "xn--e1afmkfd", "\u00fc", "\u4f8b\u5b50", "foo.Bar", "foo.bar"]
AFFIXES = ["...", "..", ".", "\u2026", "\u2026\u2026", "'s", "'S", "\u2019s", "\u2019S", "--", "---", "----", "\u2014", "\u2014\u2014", "\u2013", "~", "+", "*", "^", "US$", "C$", "A$", "$", "\u20ac", "%", "\u00b0", "\u00b0C", "\u00b0F.", "C.",
           "5", "12", "km", "C", "F", "K", "cannot", "gonna", "IS", "_", "=", "<", ">", ":", "/", ",", "\u00ae", "\u2122"]


class Strings:
    """Random strings over the alphabet of the rules."""

    def __init__(self, tokenizer, seed):
        self.rng = random.Random(seed)
        rules = sorted(tokenizer.rules)
        self.pieces = [rules, URLS, AFFIXES, sorted(set(cc.UNITS.split("|")) | set(cc.CURRENCY.replace("\\", "").split("|")))]
        self.characters = LETTERS + [PUNCTUATION, PUNCTUATION, "".join(Sentencizer.default_punct_chars), re.sub(r"[\\|]", "", cc.PUNCT + cc.CONCAT_QUOTES)]
        self.known = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000 and unicodedata.category(chr(c)) != "Cn"]
        self.low = [c for c in self.known if ord(c) < 0x3100]

    def word(self):
        rng = self.rng
        kind = rng.random()
        if kind < 0.35:
            return rng.choice(rng.choice(self.pieces))
        if kind < 0.5:  # a special case, broken
            text = rng.choice(self.pieces[0])
            at = rng.randrange(len(text) + 1)
            return text[:at] + rng.choice(["", " ", rng.choice(rng.choice(self.characters))]) + text[at + rng.randrange(2):]
        if kind < 0.9:
            pools = [rng.choice(self.characters) for _ in range(2)]
            return "".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(1, 5)))
        return rng.choice(self.low if kind < 0.97 else self.known)

    def make(self):
        rng = self.rng
        spaces = rng.choice([0.05, 0.3, 0.6])
        out = []
        for _ in range(rng.randint(1, 24)):
            out.append(self.word())
            if rng.random() < spaces:
                out.append(rng.choice([" ", " ", " ", "  ", "\n", " \n", rng.choice(SPACES), rng.choice(SPACES) + rng.choice(SPACES)]))
        return "".join(out)


def dump(program, what, texts, *options):
    data = b"".join(struct.pack("<I", len(t)) + t for t in texts)
    out = subprocess.run([program, what, "spacy-en", *options], input=data, stdout=subprocess.PIPE, check=True).stdout
    if options:
        return out.decode()
    lists, at = [], 0
    for _ in texts:
        (count,) = struct.unpack_from("<I", out, at)
        flat = struct.unpack_from("<%dI" % (2 * count), out, at + 4)
        lists.append(list(zip(flat[::2], flat[1::2])))
        at += 4 + 8 * count
    return lists


def compare(program, name, texts, tokenizer):
    """The number of texts that differ, of tokens, of sentences, and of texts left out."""
    data = [t.encode() for t in texts]
    words, sentences = dump(program, "words", data), dump(program, "sentences", data)
    bad = tokens = total = left_out = 0
    for text, raw, spans, parts in zip(texts, data, words, sentences):
        mine = [raw[a:b].decode() for a, b in spans]
        if "IS_ALPHA" in mine:
            left_out += 1
            continue
        theirs = tokenizer.word_tokenize(text)
        ends = {}
        at = 0
        their_parts = tokenizer.span_tokenize(text)
        if text.isascii():
            mine_parts = parts
        else:
            wanted = {x for pair in parts for x in pair}
            for i, c in enumerate(text):
                if at in wanted:
                    ends[at] = i
                at += len(c.encode())
            ends[at] = len(text)
            mine_parts = [(ends.get(a), ends.get(b)) for a, b in parts]
        tokens += len(theirs)
        total += len(their_parts)
        if mine != theirs or mine_parts != their_parts:
            bad += 1
            if bad <= 10:
                what = "words" if mine != theirs else "sentences"
                pair = (mine, theirs) if mine != theirs else (mine_parts, their_parts)
                at = next((i for i, (a, b) in enumerate(zip(*pair)) if a != b), min(map(len, pair)))
                print("%s: %s differ at %d: mine %r, theirs %r; text %r" % (name, what, at, pair[0][max(0, at - 2):at + 5], pair[1][max(0, at - 2):at + 5], text[:200]))
    print("%s: %d texts, %d words, %d sentences: %d differ, %d left out" % (name, len(texts), tokens, total, bad, left_out))
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("corpus")
    parser.add_argument("--strings", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bench", action="store_true")
    args = parser.parse_args()
    tokenizer = load_word_tokenizer("en")
    with open(args.corpus, encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    if args.bench:
        data = [t.encode() for t in texts]
        print("mine: " + dump(args.program, "words", data, "--bench", "5"), end="")
        start = time.process_time()
        for text in texts:
            tokenizer.word_tokenize(text)
        took = time.process_time() - start
        print("datatrove: %.6f s %.2f MB/s" % (took, sum(map(len, data)) / took / 1e6))
        return 0
    strings = Strings(tokenizer.tokenizer.tokenizer, args.seed)
    bad = compare(args.program, "random", [strings.make() for _ in range(args.strings)], tokenizer)
    bad += compare(args.program, "corpus", texts, tokenizer)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
