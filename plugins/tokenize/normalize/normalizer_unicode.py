#!/usr/bin/env python3
"""Writes normalizer_unicode_data.h: what tokenizers' normalizers and pre-tokenizers think of every code point.

They draw on five crates with Unicode versions of their own, so the answers are taken from the engine itself.
Needs the packages tokenizers==0.23.3, unicode-segmentation-rs==1.0.0 (grapheme clusters) and unicodedata2==16.0.0 (what
later versions of Unicode normalize).
Run:  python3 normalizer_unicode.py > normalizer_unicode_data.h
"""
import unicodedata2
import unicode_segmentation_rs
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P

SCALARS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CONTROL, NONSPACING, MARK, PUNCTUATION, NUMERIC, WORD, INERT = 1, 2, 4, 8, 16, 32, 64
GCB = ("OTHER CR LF CONTROL EXTEND ZWJ SPACING PREPEND REGIONAL L V T LV LVT PICTOGRAPH CONSONANT LINKER CONJUNCT").split()


def pieces(pretokenizer, text):
    return [piece for piece, _ in pretokenizer.pre_tokenize_str(text)]


def blocks():
    for i in range(0, len(SCALARS), 4096):
        yield SCALARS[i:i + 4096]


def removed(normalizer):
    """The code points that the normalizer drops."""
    gone = set()
    for block in blocks():
        out = set(normalizer.normalize_str("".join(map(chr, block))))
        gone |= {c for c in block if chr(c) not in out}
    return gone


def flags():
    value = dict.fromkeys(range(0x110000), 0)
    # Mapped white space is no longer there either.
    space = set(range(9, 14)) | {0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000} | set(range(0x2000, 0x200B))
    split = {c for c in SCALARS if not pieces(P.WhitespaceSplit(), chr(c))}
    assert split == space
    clean = N.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    for c in SCALARS:
        out = clean.normalize_str(chr(c))
        if out == "":
            value[c] |= CONTROL
        else:
            assert out == (" " if c in space else chr(c)), hex(c)
    accents = N.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)
    for c in SCALARS:
        if accents.normalize_str(chr(c)) == "" and N.NFD().normalize_str(chr(c)) == chr(c):
            value[c] |= NONSPACING
    for c in removed(N.StripAccents()):
        value[c] |= MARK
    for c in SCALARS:
        if pieces(P.Punctuation(), "a" + chr(c)) != ["a" + chr(c)]:
            value[c] |= PUNCTUATION
        if pieces(P.Digits(), "a" + chr(c)) != ["a" + chr(c)]:
            value[c] |= NUMERIC
        if pieces(P.Whitespace(), "a" + chr(c)) == ["a" + chr(c)]:
            value[c] |= WORD
    # What later versions of Unicode decompose, compose or reorder, and this engine does not.
    for c in SCALARS:
        s = chr(c)
        if unicodedata2.category(s) == "Cn":
            value[c] |= INERT  # nor what is still to come
        forms = [("NFD", N.NFD()), ("NFKD", N.NFKD())]
        if any(unicodedata2.normalize(name, s) != s and form.normalize_str(s) == s for name, form in forms):
            value[c] |= INERT
        if unicodedata2.combining(s):
            for other in ("\u0334", "\u0345"):
                probe = "a" + s + other
                if unicodedata2.normalize("NFD", probe) != probe and N.NFD().normalize_str(probe) == probe:
                    value[c] |= INERT
                probe = "a" + other + s
                if unicodedata2.normalize("NFD", probe) != probe and N.NFD().normalize_str(probe) == probe:
                    value[c] |= INERT
        if value[c] & INERT == 0:
            for name, form in forms + [("NFC", N.NFC()), ("NFKC", N.NFKC())]:
                assert form.normalize_str(s) == unicodedata2.normalize(name, s), (hex(c), name)
    return [value[c] for c in range(0x110000)]


def lowercase():
    """Runs (first, last, step, delta) of code points with another lower case."""
    runs = []
    for c in SCALARS:
        lower = N.Lowercase().normalize_str(chr(c))
        if c == 0x130:
            assert lower == "i\u0307"
            continue
        assert len(lower) == 1
        delta = ord(lower) - c
        if delta == 0:
            continue
        last = runs[-1] if runs else None
        if last and last[3] == delta and c - last[1] in (1, 2) and last[2] in (0, c - last[1]):
            last[1], last[2] = c, c - last[1]
        else:
            runs.append([c, c, 0, delta])
    return runs


def scripts():
    """A number for each script as UnicodeScripts tells them apart; 0 is Any."""
    split = P.UnicodeScripts()
    value, known, last = [0] * 0x110000, [], None
    for c in SCALARS:
        if not pieces(split, chr(c)):
            last = None
            continue
        if last is not None and len(pieces(split, chr(last) + chr(c))) == 1:
            value[c] = value[last]
        else:
            for number, one in enumerate(known):
                if len(pieces(split, chr(one) + chr(c))) == 1:
                    value[c] = number + 1
                    break
            else:
                known.append(c)
                value[c] = len(known)
        last = c
    assert len(known) < 255
    return value


def graphemes():
    def whole(*parts):
        return len(unicode_segmentation_rs.graphemes("".join(map(chr, parts)), True)) == 1

    value = [0] * 0x110000
    woman, ka, virama = 0x1F469, 0x915, 0x94D
    for c in SCALARS:
        name = "OTHER"
        if c in (13, 10):
            name = "CR" if c == 13 else "LF"
        elif c == 0x200D:
            name = "ZWJ"
        elif not whole(c, 0x301):
            name = "CONTROL"
        elif whole(0x61, c):
            extend = whole(woman, c, 0x200D, woman)
            linker, conjunct = whole(ka, c, ka), whole(ka, c, virama, ka)
            assert extend or not (linker or conjunct)
            name = "LINKER" if linker else "CONJUNCT" if conjunct else "EXTEND" if extend else "SPACING"
        elif whole(c, 0x61):
            name = "PREPEND"
        elif whole(c, c) and 0x1F1E6 <= c <= 0x1F1FF:
            name = "REGIONAL"
        elif whole(c, 0xAC00):
            name = "L"
        elif whole(0xAC00, c):
            name = "T" if whole(0xAC01, c) else "V"
        elif whole(c, 0x11A8):
            name = "LV" if whole(c, 0x1160) else "LVT"
        elif whole(woman, 0x200D, c):
            name = "PICTOGRAPH"
        elif whole(ka, virama, c):
            name = "CONSONANT"
        value[c] = GCB.index(name)
    return value


def emit(name, values):
    runs, start = [], 0
    for c in range(1, 0x110001):
        if c == 0x110000 or values[c] != values[start]:
            length = c - start
            while length > 0:
                runs.append((values[start], min(length, 0xFFFF)))
                length -= runs[-1][1]
            start = c
    print("static const uint16_t %s[%d][2] = {" % (name, len(runs)))
    for i in range(0, len(runs), 8):
        print("    " + " ".join("{ %d, %d }," % run for run in runs[i:i + 8]))
    print("};")


def main():
    print("/* Generated by normalizer_unicode.py from the answers of tokenizers 0.23.3 and unicode-segmentation-rs 1.0.0;\n"
          " * do not edit. Facts of the Unicode Character Database.\n"
          " * Copyright 1991-2025 Unicode, Inc.; Unicode License v3. */")
    emit("normalizer_flag_runs", flags())
    emit("normalizer_script_runs", scripts())
    emit("normalizer_grapheme_runs", graphemes())
    runs = lowercase()
    print("static const struct lower_run normalizer_lower_runs[%d] = {" % len(runs))
    for i in range(0, len(runs), 4):
        print("    " + " ".join("{ 0x%X, 0x%X, %d, %d }," % (a, b, step or 1, delta) for a, b, step, delta in runs[i:i + 4]))
    print("};")


main()
