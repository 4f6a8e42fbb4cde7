#!/usr/bin/env python3
"""Records what Hugging Face tokenizers and SentencePiece make of texts under small character-level vocabularies, each of which is
about one rule that is easy to get wrong.

Run: python3 make_chars.py     (needs the packages tokenizers 0.23 and sentencepiece 0.2)
Writes chars.json: {"texts", "tokenizers": [{"name", "tokenizer" (a tokenizer.json) or "model" (a SentencePiece model in base64),
"ids" (of each text), "special" (with special tokens as themselves; null: the same)}]}.
"""
import base64
import io
import json
import random

import sentencepiece
from tokenizers import Tokenizer, pre_tokenizers

SPACE = "\u2581"
TEXTS = ["", " ", "  ", "a", " a", "a ", "ab", "ba", "aab", "abab", "a b", "a  b", "  ab  ba ", "aaaa", "aaaaaaa", "x", "xx", "axb", "axxb", "ax", "xa", "a x b", "é", "aéb",
         "\u00e9\u00e8", "\u6f22\u6f23", "a\u6f22b", "\n", "a\nb", "a\n\nb", SPACE, SPACE + "a", "a" + SPACE + "b", SPACE + SPACE + "a", " " + SPACE + " a", "<unk>", "<s>",
         "a<s>b", "a <s> b", "<s>a", "ab<s>", "<s><s>", "<0x41>", "\U0001f600", "a\U0001f600\U0001f600b", "\u00e9\u6f22x", "x\u00e9", "\u00e9x\u00e9", "<w>", "a<w>b", "a <w> b", "<w> <w>", "_<w>",
         "a<n>b", "a <n> b", "<n>", " <n>", "<l>", "a  <l>  b", "<r>", "a  <r>  b", "<n><l> <r><w>", "abc", "cab", "bcabc", "a\t b", "\u00a0a\u3000b", "abcabcabcabc", "b" * 60, "ab" * 40]


def base(**more):
    j = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None}
    j.update(more)
    return j


def bpe(tokens, merges, **more):
    vocab = {}
    for t in tokens:
        vocab.setdefault(t, len(vocab))
    for a, b in merges:
        vocab.setdefault(a + b, len(vocab))
    m = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
         "ignore_merges": False, "vocab": vocab, "merges": [list(x) for x in merges]}
    m.update(more)
    return m


def added(content, i, **more):
    a = {"id": i, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    a.update(more)
    return a


LETTERS = ["a", "b", "c", SPACE, "\n", "\u00e9", "\u6f22", "<", ">", "s"]
MERGES = [("a", "b"), (SPACE, "a"), (SPACE, "ab"), ("b", "a"), ("a", "a"), ("aa", "aa"), (SPACE, SPACE), ("b", "b"), ("bb", "bb"), ("ab", "c"), ("\u00e9", "\u6f22"), ("\n", "\n")]
BYTES = ["<0x%02X>" % i for i in range(256)]
SPACES = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
FRONT = {"type": "Prepend", "prepend": SPACE}
LLAMA = {"type": "Sequence", "normalizers": [FRONT, SPACES]}
DECODER = {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
                                            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
FALLBACK = ["<unk>", "<s>", "</s>"] + BYTES + LETTERS
SPECIALS = [added("<unk>", 0, special=True), added("<s>", 1, special=True), added("</s>", 2, special=True)]


def metaspace(scheme, **more):
    return dict({"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": False}, **more)


def tokenizers():
    yield "llama", base(model=bpe(FALLBACK, MERGES, unk_token="<unk>", fuse_unk=True, byte_fallback=True), normalizer=LLAMA, decoder=DECODER, added_tokens=SPECIALS)
    yield "replace before prepend", base(model=bpe(FALLBACK, MERGES, unk_token="<unk>", byte_fallback=True),
                                         normalizer={"type": "Sequence", "normalizers": [SPACES, {"type": "Sequence", "normalizers": [FRONT]}]}, added_tokens=SPECIALS)
    yield "gemma", base(model=bpe(FALLBACK, MERGES, unk_token="<unk>", fuse_unk=True, byte_fallback=True), normalizer=SPACES, added_tokens=SPECIALS,
                        pre_tokenizer={"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False})
    # Ordinary tokens found in the raw text, as Gemma 3 has them; one is written with visible spaces, one is looked for in normalized text.
    m = bpe(FALLBACK + [SPACE * 2, "<n>", "\n\n"], MERGES, unk_token="<unk>", byte_fallback=True)
    yield "added", base(model=m, normalizer=LLAMA, added_tokens=SPECIALS + [added(SPACE * 2, m["vocab"][SPACE * 2]), added("\n\n", m["vocab"]["\n\n"]),
                        added("<n>", m["vocab"]["<n>"], normalized=True), added("<w>", len(m["vocab"]), single_word=True),
                        added("<l>", len(m["vocab"]) + 1, lstrip=True, special=True), added("<r>", len(m["vocab"]) + 2, rstrip=True)])
    for fuse in (False, True):
        yield "unknown, fused %s" % fuse, base(model=bpe(["<unk>"] + LETTERS, MERGES, unk_token="<unk>", fuse_unk=fuse), normalizer=SPACES)
        yield "the unknown merges, fused %s" % fuse, base(model=bpe(["<unk>"] + LETTERS, [("<unk>", "<unk>"), ("a", "<unk>")] + MERGES, unk_token="<unk>", fuse_unk=fuse))
        # All bytes of a character have tokens or none is used; an unknown token that waits comes behind the bytes that follow it.
        some = [b for b in BYTES if b not in ("<0xA8>", "<0x78>", "<0xF0>")]
        yield "some bytes, fused %s" % fuse, base(model=bpe(["<unk>"] + some + LETTERS[:5], MERGES[:10], unk_token="<unk>", fuse_unk=fuse, byte_fallback=True), normalizer=SPACES)
    yield "nothing for the unknown", base(model=bpe(LETTERS, MERGES))  # dropped, and its neighbours merge
    yield "some bytes, nothing for the unknown", base(model=bpe([b for b in BYTES if b != "<0x78>"] + LETTERS[:4], MERGES[:10], byte_fallback=True), normalizer=LLAMA)
    yield "bytes merge", base(model=bpe(FALLBACK, [("<0xC3>", "<0xA8>"), ("<0x78>", "a"), ("b", "<0xF0>")] + MERGES, unk_token="<unk>", byte_fallback=True), normalizer=SPACES)
    yield "of duplicates the last", base(model=bpe(LETTERS, [("a", "b"), ("b", "a"), ("a", "a"), ("a", "b"), ("ab", "a"), ("b", "a")]))
    yield "merges without parts", base(model=bpe(LETTERS + ["zz"], [("zz", "a"), ("a", "zz"), ("a", "b")]))
    yield "whole pieces", base(model=bpe(FALLBACK + ["cab", "abcabc", SPACE + "b", "<0x41>x"], MERGES, unk_token="<unk>", byte_fallback=True, ignore_merges=True), normalizer=SPACES)
    yield "whole words", base(model=bpe(FALLBACK + ["cab", SPACE + "b", SPACE + "ba"], MERGES, unk_token="<unk>", ignore_merges=True), pre_tokenizer=metaspace("first", split=True))
    for scheme in ("first", "always", "never"):
        for split in (False, True):
            m = bpe(FALLBACK + ["<n>"], MERGES, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
            yield "Metaspace %s, split %s" % (scheme, split), base(model=m, pre_tokenizer=metaspace(scheme, split=split), added_tokens=SPECIALS + [added("<n>", m["vocab"]["<n>"], normalized=True)],
                                                                   decoder={"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": split})
    yield "old Metaspace", base(model=bpe(FALLBACK, MERGES, unk_token="<unk>", byte_fallback=True), pre_tokenizer={"type": "Metaspace", "replacement": SPACE, "str_rep": SPACE, "add_prefix_space": True})
    yield "Replace and Metaspace", base(model=bpe(FALLBACK, MERGES, unk_token="<unk>", byte_fallback=True), normalizer=SPACES, pre_tokenizer=metaspace("first"), added_tokens=SPECIALS)
    yield "Prepend and Metaspace", base(model=bpe(FALLBACK, MERGES, unk_token="<unk>", byte_fallback=True), normalizer=LLAMA, pre_tokenizer=metaspace("always"), added_tokens=SPECIALS)
    yield "spaces are letters", base(model=bpe(["a", "b", " ", SPACE], [("a", " "), (SPACE, "a"), (" ", "b"), (" ", " ")]))
    yield "old files", {"model": {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"], "continuing_subword_prefix": "", "end_of_word_suffix": ""}, "version": "1.0"}


    # What a character's token is depends on its place in the piece.
    def affixed(tokens, merges, prefix, suffix, **more):
        m = bpe(tokens, [], continuing_subword_prefix=prefix, end_of_word_suffix=suffix, **more)
        for a, b in merges:
            m["vocab"].setdefault(a + b[len(prefix or ""):], len(m["vocab"]))
        m["merges"] = [list(x) for x in merges]
        return m

    words = {"type": "WhitespaceSplit"}
    end = ["a", "b", "c", "\u00e9", "a</w>", "b</w>", "c</w>", "\u6f22</w>", "<", ">", "/", "w", "s</w>"]
    end_merges = [("a", "b</w>"), ("a", "b"), ("b", "a</w>"), ("ab", "ab</w>"), ("b", "b"), ("c", "ab</w>"), ("\u00e9", "\u6f22</w>")]
    for unk in (None, "a</w>"):
        for fuse in (False, True):
            yield "suffix, unknown %s, fused %s" % (unk, fuse), base(model=affixed(end, end_merges, None, "</w>", unk_token=unk, fuse_unk=fuse), pre_tokenizer=words,
                                                                      decoder={"type": "BPEDecoder", "suffix": "</w>"})
    inside = ["a", "b", "c", "##a", "##b", "\u6f22", "##\u00e9", "x", "#", "##x</w>", "##b</w>", "c</w>"]
    inside_merges = [("a", "##b"), ("b", "##a"), ("ab", "##a"), ("##a", "##b"), ("b", "##ab"), ("##b", "##b")]
    yield "prefix", base(model=affixed(inside, inside_merges, "##", None, unk_token="x"), pre_tokenizer=words)
    yield "prefix and suffix", base(model=affixed(inside, inside_merges + [("a", "##b</w>"), ("##b", "##b</w>")], "##", "</w>", unk_token="x", fuse_unk=True), pre_tokenizer=words)
    yield "prefix of a whole text", base(model=affixed(inside, inside_merges, "##", ""))
    yield "suffix, whole pieces", base(model=affixed(end + ["abc", "aab", "ba"], end_merges, "", "</w>", ignore_merges=True), pre_tokenizer=words)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    clip = affixed(["<s>"] + alphabet + [c + "</w>" for c in alphabet], end_merges[:-2] + [("\u00c3", "\u00a9</w>"), ("\u00c3", "\u00a9"), ("\u0120", "b</w>"), ("\u0120", "b")], "", "</w>", unk_token="<s>")
    split = {"type": "Split", "pattern": {"Regex": "\\p{L}+|\\p{N}|[^\\s\\p{L}\\p{N}]+"}, "behavior": "Removed", "invert": True}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    folded = {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}, {"type": "Lowercase"}]}
    yield "bytes, suffix", base(model=clip, normalizer=folded, pre_tokenizer={"type": "Sequence", "pretokenizers": [split, level]}, decoder=level,
                                added_tokens=[added("<s>", 0, special=True)])
    yield "bytes, suffix, space in front", base(model=clip, pre_tokenizer=dict(level, add_prefix_space=True), decoder=level)
    lacks = affixed(["a", "b", "a</w>", "b</w>", "\u0120"], end_merges[:4], None, "</w>", unk_token="a")
    yield "some bytes, suffix", base(model=lacks, pre_tokenizer=level)
    # Words are tokens or unknown.
    level_of = {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "ab": 2, "<unk>": 3, "x": 5, "<": 6, SPACE + "a": 9}, "unk_token": "<unk>"}
    yield "WordLevel", base(model=level_of, pre_tokenizer={"type": "Whitespace"})
    yield "WordLevel of a whole text", base(model=level_of)
    yield "WordLevel, Metaspace", base(model=level_of, pre_tokenizer=metaspace("always", split=True), decoder={"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True})
    # All flags of added tokens at once, with and without a normalizer that changes them.
    flags = [(w, l, r, n) for w in (False, True) for l in (False, True) for r in (False, True) for n in (False, True)]
    for normalizer in (None, LLAMA, {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, SPACES]}):
        for w, l, r, n in flags[1::4] + flags[14:15]:
            m = bpe(FALLBACK, MERGES, unk_token="<unk>", byte_fallback=True)
            more = [added("a b", len(m["vocab"]), single_word=w, lstrip=l, rstrip=r, normalized=n), added("<n>", len(m["vocab"]) + 1, single_word=w, lstrip=r, rstrip=l, normalized=not n),
                    added("<W>" if normalizer else "<w>", len(m["vocab"]) + 2, single_word=not w, lstrip=l, rstrip=not r, normalized=n, special=r)]
            yield "added, %d%d%d%d, %s" % (w, l, r, n, normalizer and normalizer["normalizers"][0]["type"]), base(model=m, normalizer=normalizer, added_tokens=SPECIALS + more)
    yield "added, longer once normalized", base(model=bpe(FALLBACK, MERGES, unk_token="<unk>"), normalizer={"type": "NFKC"}, added_tokens=SPECIALS + [added("\ufdfa" * 8, len(bpe(FALLBACK, MERGES)["vocab"]), normalized=True)])
    # Oddities of files.
    yield "ids with holes", base(model={"type": "BPE", "vocab": {"a": 0, "b": 7, "ab": 100000, "<unk>": 3}, "merges": [["a", "b"]], "unk_token": "<unk>"}, normalizer=SPACES)
    yield "no merges", base(model=bpe(LETTERS, []), normalizer=SPACES)
    yield "empty entries", base(model={"type": "BPE", "vocab": {"": 0, "a": 1, "b": 2, "ab": 3}, "merges": ["a b"]})


def models():
    rng = random.Random(4)
    words = ["".join(rng.choice("abc\u00e9\u6f22") for _ in range(rng.randint(1, 7))) for _ in range(300)]
    text = [" ".join(rng.choice(words) for _ in range(20)) for _ in range(200)] + ["a b  <n> \u00e8 x"]
    kinds = {"spm llama": dict(model_type="bpe", vocab_size=330, byte_fallback=True), "spm unknown": dict(model_type="bpe", vocab_size=80),
             "spm no prefix": dict(model_type="bpe", vocab_size=90, add_dummy_prefix=False, split_by_whitespace=False),
             "spm user": dict(model_type="bpe", vocab_size=100, user_defined_symbols=["<n>", "ab", SPACE * 2, "\n"], control_symbols=["<w>"]), "spm char": dict(model_type="char", vocab_size=12)}
    for name, options in kinds.items():
        out = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(text), model_writer=out, normalization_rule_name="identity", remove_extra_whitespaces=False, minloglevel=2,
                                                 character_coverage=0.999, num_threads=1, hard_vocab_limit=False, **options)
        yield name, out.getvalue()


def main():
    rng = random.Random(11)
    texts = TEXTS + ["".join(rng.choice(["a", "b", " ", "c", "\u00e9", "\u6f22", "x", "\n", SPACE, "<s>", "<n>", "\U0001f600"]) for _ in range(rng.randint(3, 60))) for _ in range(20)]
    out = []
    for name, j in tokenizers():
        plain, special = Tokenizer.from_str(json.dumps(j)), Tokenizer.from_str(json.dumps(j))
        plain.encode_special_tokens = True
        ids = [plain.encode(t, add_special_tokens=False).ids for t in texts]
        other = [special.encode(t, add_special_tokens=False).ids for t in texts]
        out.append({"name": name, "tokenizer": j, "ids": ids, "special": [None if a == b else b for a, b in zip(ids, other)]})
    for name, model in models():
        spm = sentencepiece.SentencePieceProcessor(model_proto=model)
        out.append({"name": name, "model": base64.b64encode(model).decode(), "ids": [spm.encode(t) for t in texts]})
    with open("chars.json", "w", encoding="utf-8") as f:
        lines = ",\n".join(json.dumps(x, ensure_ascii=False, separators=(",", ":")) for x in out)
        f.write('{"texts":%s,\n"tokenizers":[\n%s\n]}\n' % (json.dumps(texts, ensure_ascii=False, separators=(",", ":")), lines))


main()
