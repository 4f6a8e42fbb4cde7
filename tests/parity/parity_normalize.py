#!/usr/bin/env python3
"""Compares normalizers, pre-tokenizers, Unigram and WordPiece with Hugging Face tokenizers and SentencePiece.

Usage: parity_normalize.py NORMALIZE_DUMP [--loader BPE_DUMP] [--strings N] [--full] [--only WORD] [--text FILE.jsonl]

Each module is compared by itself on random strings rich in what Unicode has, and then whole tokenizer files of the customary
kinds (BERT, ALBERT, T5, XLM-R, SentencePiece), which are trained here, on such strings and on the texts of FILE; nothing is
downloaded. --loader reads the whole files as the tokenize stage does, added tokens included.
--full adds every code point in context. Needs the packages tokenizers and sentencepiece.
Exit: 0 all equal; 1 a difference; 77 a package is missing (skipped).
"""
import argparse
import base64
import io
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

import parity_strings

try:
    import sentencepiece
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
except ImportError as error:
    print("skipped: %s" % error)
    sys.exit(77)

POOLS = [
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", "     ", "\t\n\r\x0b\x0c\x85", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
    "\u0300\u0301\u0302\u0308\u0327\u0334\u0345\u0328\u0344\u0f71\u0f72\u0f73\u0f74\u0f75\u0f81", "\u00e9\u00c5\u00df\u0130\u0131\u01c5\u1e9e\u03a3\u03c2\u1f88\u2126\u212b",
    "\u1100\u1161\u11a8\u11a7\u1112\u1175\u11c2\uac00\uac01\ud7a3\ua960\ud7b0\ud7cb", "\u00bd\u2460\u32ff\u3300\ufb01\ufdfa\uff21\uff76\uff9e\u2167\u1d6c\u3131\u00a8\u00b4\u2025",
    "\u4e2d\u6587\uf900\u2f00\U00020000\U0002f800\u3005\u3042\u30ab\u3099\u30fc\u30a2", "\u00a0\u1680\u2000\u2003\u200a\u2028\u2029\u202f\u205f\u3000\u180e",
    "\u200b\u200c\u200d\u200e\u200f\ufeff\ufffd\u00ad\u2581\u2060\x00\x01\x08\x1f\x7f\x8f\x9f\u061c\u0600\u0605\u08e2\U000110bd",
    "\u0915\u094d\u0937\u093f\u093c\u0958\u0928\u09c7\u09be\u0bc6\u0bbe\u0d4d\u0d15\u0dd9\u0ddf\u0c4d\u0c15\u1b05\u1b35\u17d2\u1780", "\u0e01\u0e31\u0e33\u0eb3\u0e4d",
    "\U0001f600\U0001f468\U0001f469\ufe0f\U0001f1e9\U0001f1ea\U0001f3fb\u00a9\u2764\u20dd\u20e3", "\u0391\u03b1\u0410\u0431\u05d0\u05b0\u05bf\u0627\u064b\u0654\u0655\ufb1d\u0673",
    "\U00010400\U00010428\U0001e900\U00016e40\U0001d15e\U0001d160\U0001d165\U0001d16e\U0001d400", "\u0897\u1c89\ua7cb\ua7f2\U00011f02\U0001ccf0\U00010d4a\u0378\U00011938\U00011935\U00011930\U0001611e\U0001e030",
    "\u2028\u0663\u0967\u0bf0\u00b2\u3007\u3021\u2080\U0001d7ce\U00010107", "\u2019\u201c\u2014\u3001\u3002\u00a1\u00b7\u037e\u0387\u2e52\u2e5d\U00011fff\u00d7\u20ac\u2192",
]
WORDS = ["Hello", "world", " the", "  ", "don't", "e\u0301", "\r\n", "\n\n", "\u0041\u030a", "\u1100\u1161\u11a8", "<unk>", "[UNK]", "##a", "\u2581a", "\u2581\u2581",
         "a\u0301b", "``", "''", "...", "--", "12345", "\u00bd\u0301", "\ufb01\u0301", "\u2460\u0308", "\u4e2d\u6587", "caf\u00e9", "STRASSE", "Stra\u00dfe", "\U0001f468\u200d\U0001f469", "<x>", "ab", "aab"]
FIRST = ["", " ", "  ", "\u2581", "a", "\u0301", "\u0301a", "\x00", "\x1e", "\x1eab", "\ufb01", "\u00bd", "\u00bda b"]


def every_scalar():
    cps = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    return ["".join("a%sB\u0301%s " % (chr(c), chr(c)) for c in cps[i:i + 16]) for i in range(0, len(cps), 16)]


def dump(program, mode, spec, texts, tmp):
    """What our module makes of each text; None when it refuses the spec. Modes "load" (special tokens in the text are found) and
    "plain" (they are text): spec is a file's content."""
    path = os.path.join(tmp, "spec.json")
    with open(path, "wb") as out:
        out.write(spec if mode in ("load", "plain") else json.dumps(spec).encode())
    command = {"load": [program, path, "--allow"], "plain": [program, path]}.get(mode, [program, mode, path])
    data = b"".join(struct.pack("<I", len(t)) + t for t in (text.encode() for text in texts))
    run = subprocess.run(command, input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if run.returncode != 0:
        return None, run.stderr.decode(errors="replace").strip()
    out, at, raw = [], 0, run.stdout
    for _ in texts:
        n, = struct.unpack_from("<I", raw, at)
        at += 4
        if mode == "normalizer":
            out.append(raw[at:at + n].decode())
            at += n
        elif mode == "splitter":
            pieces = []
            for _ in range(n):
                size, = struct.unpack_from("<I", raw, at)
                pieces.append(raw[at + 4:at + 4 + size].decode())
                at += 4 + size
            out.append(pieces)
        else:
            out.append(list(struct.unpack_from("<%dI" % n, raw, at)))
            at += 4 * n
    return out, None


class Comparison:
    def __init__(self, program, loader, only, tmp):
        self.program, self.loader, self.only, self.tmp = program, loader, only, tmp
        self.failed = self.compared = 0

    def run(self, name, mode, spec, texts, theirs):
        """theirs(text) is the peer's answer."""
        if self.only and self.only not in name:
            return
        loaded = mode in ("load", "plain")
        if loaded and not self.loader:
            return
        ours, refusal = dump(self.loader if loaded else self.program, mode, spec, texts, self.tmp)
        if ours is None:
            print("%-44s FAILED: %s" % (name, refusal))
            self.failed += 1
            return
        bad = 0
        for text, mine in zip(texts, ours):
            expected = theirs(text)
            if mine != expected:
                bad += 1
                if bad <= 3:
                    print("%s: %a\n  ours   %a\n  theirs %a" % (name, text[:200], mine[:60], expected[:60]))
        self.compared += len(texts)
        self.failed += bad > 0
        print("%-44s %7d texts, %d differ" % (name, len(texts), bad))
        sys.stdout.flush()


# ---- SentencePiece's protobuf, as far as it is needed ----

def fields(data):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size = varint()
            yield key >> 3, data[at:at + size]
            at += size


def read_model(blob):
    """The parts of a .model file that encoding needs."""
    model = {"pieces": [], "charsmap": b"", "prefix": 1, "extra": 1, "escape": 1, "suffix": 0, "bytes": 0, "unk": 0}
    for field, value in fields(blob):
        if field == 1:
            piece = {1: b"", 2: struct.pack("<f", 0), 3: 1}
            piece.update(fields(value))
            model["pieces"].append((piece[1].decode(), struct.unpack("<f", piece[2])[0], piece[3]))
        elif field == 2:
            for number, setting in fields(value):
                model.update({24: {"suffix": setting}, 35: {"bytes": setting}}.get(number, {}))
        elif field == 3:
            for number, setting in fields(value):
                name = {2: "charsmap", 3: "prefix", 4: "extra", 5: "escape"}.get(number)
                if name:
                    model[name] = setting
    model["unk"] = next(i for i, p in enumerate(model["pieces"]) if p[2] == 2)
    return model


def rescore(blob, change):
    """The same .model with change(text, score, kind) -> (score, kind) for each piece."""
    def varint(n):
        out = b""
        while n > 127:
            out, n = out + bytes([n & 127 | 128]), n >> 7
        return out + bytes([n])

    out = b""
    for field, value in fields(blob):
        if field == 1:
            piece = {1: b"", 2: struct.pack("<f", 0), 3: 1}
            piece.update(fields(value))
            score, kind = change(piece[1].decode(), struct.unpack("<f", piece[2])[0], piece[3])
            value = b"\x0a" + varint(len(piece[1])) + piece[1] + b"\x15" + struct.pack("<f", score) + b"\x18" + varint(kind)
        out += varint(field << 3 | 2) + varint(len(value)) + value
    return out


def spm_spec(model):
    kinds = {1: 0, 4: 1, 5: 2}
    return {"normalizer": {"charsmap": base64.b64encode(model["charsmap"]).decode(), "prefix": bool(model["prefix"]), "extra": bool(model["extra"]),
                           "escape": bool(model["escape"]), "suffix": bool(model["suffix"]), "symbols": [p[0] for p in model["pieces"] if p[2] == 4]},
            "model": {"unk": model["unk"], "bytes": bool(model["bytes"]), "pieces": [[p[0], p[1], kinds.get(p[2], 3)] for p in model["pieces"]]}}


def train_spm(texts, tmp, **options):
    """A small SentencePiece model; options as its trainer has them."""
    rule = options.pop("rule", None)
    if rule is not None:
        path = os.path.join(tmp, "rule.tsv")
        with open(path, "w") as out:
            out.write(rule)
        options["normalization_rule_tsv"] = path
    out = io.BytesIO()
    settings = dict(model_type="unigram", vocab_size=2500, hard_vocab_limit=False, minloglevel=2, character_coverage=0.98, num_threads=2)
    settings.update(options)
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts), model_writer=out, **settings)
    return out.getvalue()


RULE = "".join("%s\t%s\n" % (" ".join("%X" % ord(c) for c in a), " ".join("%X" % ord(c) for c in b)) for a, b in [
    ("a", "xyz"), ("b", ""), ("ab", "Q"), ("e\u0301", "\u00e9"), ("\r", " "), ("\r\n", " "), ("\ufb01", "fi"), ("\u00bd", "1/2"), ("\u0301", ""),
    ("c", "c c"), ("\u4e2d", " \u4e2d "), ("\u00a9", "(c)"), ("\u0915", "k"), ("\u0600", "N"), ("\u3000", "  "), ("d", " "), ("\x1e", ""), ("\t", "")])


# ---- modules ----

def normalizer_specs(charsmaps):
    def one(kind, **members):
        return dict({"type": kind}, **members)

    def bert(clean, chinese, accents, lower):
        return one("BertNormalizer", clean_text=clean, handle_chinese_chars=chinese, strip_accents=accents, lowercase=lower)

    def replace(pattern, content, kind="String"):
        return one("Replace", pattern={kind: pattern}, content=content)

    yield from (one(k) for k in ("NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Lowercase", "Nmt", "ByteLevel"))
    yield from (one("Strip", strip_left=a, strip_right=b) for a in (False, True) for b in (False, True))
    yield from (bert(*flags) for flags in [(True, True, None, True), (True, True, None, False), (False, False, True, False), (True, False, False, True), (False, True, None, False)])
    yield from (replace(*a) for a in [(" ", "\u2581"), ("``", "\""), ("aa", "a"), ("a", ""), ("\u0301", "xyz"), (" {2,}", "\u2581", "Regex"), ("\\s+", " ", "Regex"), ("[\\r\\n]|a+", "-=-", "Regex")])
    yield one("Prepend", prepend="\u2581")
    yield from (one("Precompiled", precompiled_charsmap=base64.b64encode(map_).decode()) for map_ in charsmaps)
    yield one("Sequence", normalizers=[one("Nmt"), one("NFKC"), one("Strip", strip_left=True, strip_right=True), one("Lowercase"), replace(" {2,}", " ", "Regex"), one("Prepend", prepend="\u2581")])
    yield one("Sequence", normalizers=[one("NFD"), one("Sequence", normalizers=[one("StripAccents"), one("NFC")])])


def splitter_specs():
    def one(kind, **members):
        return dict({"type": kind}, **members)

    behaviors = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
    yield from (one(k) for k in ("Whitespace", "WhitespaceSplit", "UnicodeScripts", "BertPreTokenizer"))
    yield from (one("Digits", individual_digits=x) for x in (False, True))
    yield from (one("Punctuation", behavior=x) for x in behaviors)
    yield one("CharDelimiterSplit", delimiter="a")
    yield one("CharDelimiterSplit", delimiter="\u2581")
    yield from (one("FixedLength", length=n) for n in (1, 5))
    yield from (one("Split", pattern={"String": text}, behavior=b, invert=i) for text in ("a", " ", "--") for b in behaviors for i in (False, True))
    yield from (one("Split", pattern={"Regex": "\\s+|a"}, behavior=b, invert=i) for b in behaviors for i in (False, True))
    yield from (one("Metaspace", replacement=r, prepend_scheme=p, split=s) for r in ("\u2581", "_") for p in ("first", "never", "always") for s in (False, True))
    yield one("Metaspace", replacement="\u2581", add_prefix_space=True)
    yield one("Sequence", pretokenizers=[one("WhitespaceSplit"), one("Metaspace", replacement="\u2581", prepend_scheme="always", split=True)])
    yield one("Sequence", pretokenizers=[one("Punctuation", behavior="Isolated"), one("Metaspace", replacement="\u2581", prepend_scheme="first", split=True), one("Digits", individual_digits=True)])
    yield one("Sequence", pretokenizers=[one("Metaspace", replacement="\u2581", prepend_scheme="first", split=False), one("Metaspace", replacement="_", prepend_scheme="first", split=True)])
    yield one("Sequence", pretokenizers=[one("UnicodeScripts"), one("Metaspace", replacement="\u2581", prepend_scheme="first", split=True)])


def label(spec):
    inner = spec.get("normalizers") or spec.get("pretokenizers")
    if inner:
        return "[" + ", ".join(label(s) for s in inner) + "]"
    rest = ",".join(str(next(iter(v.items())) if isinstance(v, dict) else v)[:14] for k, v in spec.items() if k != "type")
    return "%s(%a)" % (spec["type"], rest) if rest else spec["type"]


def tokenizer_of(normalizer=None, splitter=None, model=None):
    spec = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": normalizer, "pre_tokenizer": splitter,
            "post_processor": None, "decoder": None, "model": model or {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0]], "byte_fallback": False}}
    return spec, Tokenizer.from_str(json.dumps(spec))


def compare_modules(c, texts, charsmaps, rng):
    for spec in normalizer_specs(charsmaps):
        peer = tokenizer_of(normalizer=spec)[1].normalizer
        c.run("normalizer " + label(spec), "normalizer", spec, texts, peer.normalize_str)
    for spec in splitter_specs():
        peer = tokenizer_of(splitter=spec)[1].pre_tokenizer
        c.run("pre_tokenizer " + label(spec), "splitter", spec, texts, lambda t, peer=peer: [p for p, _ in peer.pre_tokenize_str(t)])
    # Which piece counts as the first, behind each normalizer: the model sees the prefix and nothing else.
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["_", -1.0], ["\u2581", -1.0]], "byte_fallback": False}
    split = {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "[a-z1]|\u0301"}, "behavior": "Isolated", "invert": False},
                                                   {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": True}]}
    for normalizer in normalizer_specs(charsmaps):
        spec, peer = tokenizer_of(normalizer, split, model)
        c.run("first piece behind " + label(normalizer), "encode", spec, texts[:len(texts) // 2], lambda t, peer=peer: peer.encode(t, add_special_tokens=False).ids)


def compare_models(c, texts, rng):
    """Vocabularies made to have ties, unknown characters, and entries that runs of unknown characters hit."""
    pieces = [p for t in texts[:4000] for p in t.replace("\x00", "").split() if len(p.encode()) < 30][:3000] or ["a"]
    for number in range(6):
        alphabet = "ab\u00e9\u2581\u4e2d" if number < 3 else None
        words = sorted({"".join(rng.choice(alphabet) for _ in range(rng.randint(1, 5))) for _ in range(40)}) if alphabet else sorted(set(pieces))[:1500]
        scores = [0.0, -1.0, -2.0, -3.5] if number % 3 == 0 else None
        vocab = [["<unk>", 0.0]] + [[w, rng.choice(scores) if scores else rng.uniform(-12, 3 if number == 4 else -1)] for w in words]
        if number in (1, 3):
            vocab += [["<0x%02X>" % b, -6.0 if number == 1 else 0.0] for b in range(256)]
        if number == 2:
            vocab += [["xyz", 30.0], ["\u4e2d\u6587", 25.0], ["zz", -40.0], words[0:1] + [1.5]]
        spec = {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": number in (1, 3)}
        peer = tokenizer_of(model=spec)[1].model
        mixed = texts + ["".join(rng.choice(alphabet or "ab c") + (rng.choice("xyz\u6587") if rng.random() < .2 else "") for _ in range(rng.randint(1, 60))) for _ in range(len(texts) // 2)]
        c.run("Unigram %d" % number, "model", spec, mixed, lambda t, peer=peer: [token.id for token in peer.tokenize(t)] if t else [])
        names = dict.fromkeys(["[UNK]"] + [rng.choice(("", "##")) + w for w in words for _ in (0, 1)] + ["##" + x for x in "ab"])
        spec = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##" if number < 5 else "", "max_input_chars_per_word": 100 if number % 2 else 12,
                "vocab": {name: i for i, name in enumerate(names)}}
        peer = tokenizer_of(model=spec)[1].model
        c.run("WordPiece %d" % number, "model", spec, mixed, lambda t, peer=peer: [token.id for token in peer.tokenize(t)])


def compare_spm(c, texts, training, tmp, rng):
    symbols = ["<x>", "ab", "Hello world", "\u2581\u2581\u2581"]
    settings = [("nmt_nfkc", {}), ("identity", dict(normalization_rule_name="identity")), ("nfkc_cf", dict(normalization_rule_name="nfkc_cf", remove_extra_whitespaces=False)),
                ("suffix", dict(treat_whitespace_as_suffix=True)), ("bytes", dict(byte_fallback=True, add_dummy_prefix=False)),
                ("symbols", dict(byte_fallback=True, user_defined_symbols=symbols)), ("rule", dict(rule=RULE, user_defined_symbols=["<x>"], remove_extra_whitespaces=False))]
    maps = []
    for name, options in settings:
        blob = train_spm(training, tmp, **options)
        model = read_model(blob)
        if model["charsmap"] and name != "symbols":
            maps.append(model["charsmap"])
        peer = sentencepiece.SentencePieceProcessor(model_proto=blob)
        c.run("SentencePiece " + name, "spm", spm_spec(model), texts, peer.encode)
        c.run("SentencePiece %s, loaded" % name, "plain", blob, texts, peer.encode)
        for ties in (False, True):
            def change(text, score, kind):
                if kind != 1 or text in ("\u2581", "a"):
                    return score, kind
                return rng.choice((0.0, -0.5, -1.0, -2.0, 2.5)) if ties else rng.uniform(-9, 4), 5 if rng.random() < .1 else 4 if rng.random() < .05 else 1
            other = rescore(blob, change)
            c.run("SentencePiece %s, scores %s" % (name, "with ties" if ties else "mixed"), "spm", spm_spec(read_model(other)), texts, sentencepiece.SentencePieceProcessor(model_proto=other).encode)
        long = ["".join(rng.sample(texts, min(len(texts), 2000))) for _ in range(2)] + ["ab" * 100000, "".join(rng.choice("abc ") for _ in range(200000))]
        c.run("SentencePiece %s, long" % name, "spm", spm_spec(model), long, peer.encode)
    return maps


# ---- whole files ----

def trained(training, charsmap):
    """(name, tokenizer.json) of the customary kinds."""
    def sequence(*steps):
        return normalizers.Sequence(list(steps))

    bert = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    bert.normalizer, bert.pre_tokenizer, bert.decoder = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    bert.train_from_iterator(training, trainers.WordPieceTrainer(vocab_size=900, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False))
    kinds = {
        "T5": (normalizers.Precompiled(charsmap), pre_tokenizers.Metaspace(prepend_scheme="always")),
        "XLM-R": (sequence(normalizers.Precompiled(charsmap), normalizers.Replace(Regex(" {2,}"), " ")), pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])),
        "ALBERT": (sequence(normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Precompiled(charsmap)),
                   pre_tokenizers.Metaspace(prepend_scheme="first")),
        "Llama-like": (sequence(normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")), None),
    }
    yield "BERT", bert
    for name, (normalizer, splitter) in kinds.items():
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizer
        if splitter:
            tokenizer.pre_tokenizer = splitter
        tokenizer.train_from_iterator(training, trainers.UnigramTrainer(vocab_size=6000, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False))
        yield name, tokenizer


ADDED = [
    [],
    [(True, [AddedToken("<m>", special=True), AddedToken("\u00c9T", special=True, rstrip=True)])],
    [(False, [AddedToken("caf\u00e9", normalized=True), AddedToken("ab", normalized=False, single_word=True), AddedToken("Foo ", normalized=True, lstrip=True)]),
     (True, [AddedToken("<x>", lstrip=True, rstrip=True, special=True)])],
]


def whole_files(c, texts, documents, training, charsmap, rng):
    def sprinkle(text):
        for _ in range(rng.choice((0, 0, 1, 2, 3))):
            at = rng.randint(0, len(text))
            text = text[:at] + rng.choice(("", " ", "  ", "\u3000")) + rng.choice(("<m>", "\u00c9T", "caf\u00e9", "CAF\u00c9", "ab", "Foo ", "foo ", "<x>")) + rng.choice(("", " ", "\n")) + text[at:]
        return text

    for name, tokenizer in trained(training, charsmap):
        spec = json.loads(tokenizer.to_str())
        spec["added_tokens"] = []
        peer = Tokenizer.from_str(json.dumps(spec))
        c.run("file " + name, "encode", spec, texts + documents, lambda t, peer=peer: peer.encode(t, add_special_tokens=False).ids)
        for number, kinds in enumerate(ADDED):
            peer = Tokenizer.from_str(tokenizer.to_str())
            for special, tokens in kinds:
                (peer.add_special_tokens if special else peer.add_tokens)(tokens)
            sprinkled = [sprinkle(t) for t in texts] + documents
            c.run("file %s, loaded, added tokens %d" % (name, number), "load", peer.to_str().encode(), sprinkled,
                  lambda t, peer=peer: peer.encode(t, add_special_tokens=False).ids)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--loader")
    parser.add_argument("--strings", type=int, default=2000)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--text")
    a = parser.parse_args()
    rng = random.Random(a.seed)
    texts = parity_strings.random_strings(a.strings, a.seed, POOLS, WORDS, FIRST, longest=24, kinds=(0.3, 0.6, 0.9), mixed=2, wordy=0.6,
                                          scalars=(0x80, 0x3000, 0x20000, 0x110000))
    documents = []
    if a.text:
        with open(a.text, encoding="utf-8", newline="\n") as lines:
            documents = [json.loads(line)["text"] for line in lines]
    real = [t for t in documents if 50 < len(t) < 50000]
    rng.shuffle(real)
    while real and sum(map(len, real)) > 200 * a.strings:
        real.pop()
    training = [t[:500].replace("\x00", "") for t in real[:80]] + ["Hello world, the quick brown fox aab ab <x> " * 3 + t.replace("\x00", "") for t in texts[20:150]]
    with tempfile.TemporaryDirectory() as tmp:
        c = Comparison(a.program, a.loader, a.only, tmp)
        maps = compare_spm(c, texts, training, tmp, rng)
        compare_modules(c, texts + (every_scalar() if a.full else []), maps[:1] + maps[1:2] + maps[-1:], rng)
        compare_models(c, texts, rng)
        whole_files(c, texts, real, training[-200:], maps[0], rng)
    print("%d comparisons, %d modules differ" % (c.compared, c.failed))
    return 1 if c.failed else 0


if __name__ == "__main__":
    sys.exit(main())
