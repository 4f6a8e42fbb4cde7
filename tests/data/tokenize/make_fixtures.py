#!/usr/bin/env python3
"""Trains the small tokenizers of this directory and records what Hugging Face tokenizers and tiktoken make of the cases.

Run: python3 make_fixtures.py     (needs the packages tokenizers 0.23 and tiktoken 0.14)
Writes tiny_NAME.json or tiny.tiktoken, and tiny_NAME.cases.jsonl: {"text", "ids", "special"} - ids with special tokens as text,
and with special tokens as themselves.
"""
import base64
import json

import tiktoken
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

TEXT = """
Sluice turns raw text into training data. A small core loads stage plugins - readers, filters, tokenizers, packers, writers -
behind one fixed table of functions and runs them as a graph that the user describes in Lua. Quality heuristics are Lua too:
change them without a compiler. The output is a pure function of inputs, script, plugins and options; it doesn't depend on the
number of workers, the batch size, the memory budget, retries, crashes or the machine. Every record is accounted for, and it's
always answerable why a document was dropped. We'll say it again: the same bytes out. They've 12 shards of 4096 tokens, 1234567
documents and 3.14159 reasons. HTTPServer, camelCase, snake_case, CONSTANT_CASE, don't, I'm, you're, she'd.
    for (size_t i = 0; i < n; i++) {
        sum += values[i] * weights[i];   /* a comment */
    }
\tif x == None:\n\t\treturn "none"\r\n
Der Wähler prüft die Größe; l'été à la plage, où ça? Привет, мир! Как дела сегодня? 数据处理和训练数据。日本語のテキストです。
한국어 문장입니다. مرحبا بالعالم. नमस्ते दुनिया। 😀😀 👍🏽 e\u0301te\u0301
"""

CASES = [
    "", " ", "  ", "\n", "\r\n\r\n", "\t\t x", "a", "Sluice turns raw text into training data.", "don't DON'T we'll I'M 'sup 'S",
    "   leading and trailing   ", "one\n\n  two\n   \n three", "1234567 1 12 123 1234 \u0663\u0664\u0665\u0666", "HTTPServer camelCase fooBARbaz",
    "!!! ??? ... //\n// /* x */", "(a)[b]{c}<d>", "\u00e9t\u00e9 e\u0301te\u0301 \u212b \u0344 \ufa20", "Привет, мир!", "数据处理 训练。", "日本語テキスト", "한국어 \u1112\u1161\u11ab",
    "مرحبا", "नमस्ते", "😀 👍🏽 👨\u200d👩\u200d👧", "\u00a0\u2003x\u3000y", "\u0000\u0001\u007f\u0085", "a\u0898\u0316b a\u0316\u0301b", "'\u017f '\u017fo", "\u01c5\u02b0\u0301",
    "word<|endoftext|>word", "<|endoftext|>", "<|endoftext|><|endoftext|> <|endoftext", "<think>plan</think> answer", "x <think> y", "<mask> a<mask>b <mask>",
    "Einwort Ein Ein1 Ein, ein", "a\u00c5b \u00c5ngstrom A\u030angstrom", " \t <|strip|> \n z", "a" * 100, " " * 70 + "x", "^" * 80, "\n" * 50, "的" * 40,
    "\U00011935\U00011930", "thethethethethethethethethethe", "the the the the the the the the the", "x" * 31 + " " + "y" * 33, "data" * 20,
]

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
DEEPSEEK = [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
            " ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"]


def train(pre, norm, size):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre, decoders.ByteLevel()
    if norm:
        t.normalizer = norm
    t.train_from_iterator([TEXT] * 4, trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                                         special_tokens=[], show_progress=False))
    return json.loads(t.to_str())


def added(i, content, special=False, normalized=False, single_word=False, lstrip=False, rstrip=False):
    return {"id": i, "content": content, "single_word": single_word, "lstrip": lstrip, "rstrip": rstrip, "normalized": normalized,
            "special": special}


def finish(name, j):
    with open("tiny_%s.json" % name, "w") as f:
        json.dump(j, f, ensure_ascii=False, indent=None, separators=(",", ":"))
        f.write("\n")
    special, ordinary = Tokenizer.from_str(json.dumps(j)), Tokenizer.from_str(json.dumps(j))
    ordinary.encode_special_tokens = True
    write_cases(name, lambda s: ordinary.encode(s, add_special_tokens=False).ids, lambda s: special.encode(s, add_special_tokens=False).ids)


def write_cases(name, ordinary, special):
    with open("tiny_%s.cases.jsonl" % name, "w") as f:
        for text in CASES:
            f.write(json.dumps({"text": text.replace("\0", "\x01"), "ids": ordinary(text.replace("\0", "\x01")),
                                "special": special(text.replace("\0", "\x01"))}) + "\n")


def main():
    byte_level = pre_tokenizers.ByteLevel
    # GPT-2's kind, with a space put in front
    j = train(byte_level(add_prefix_space=True), None, 700)
    n = len(j["model"]["vocab"])
    j["added_tokens"] = [added(n + 0, "<|endoftext|>", special=True), added(n + 1, "<mask>", lstrip=True, normalized=True)]
    j["model"]["merges"] = [" ".join(m) for m in j["model"]["merges"]]
    finish("gpt2", j)
    # Qwen's kind: NFC, added tokens of all sorts
    pre = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3.replace("{1,3}", "")), "isolated"), byte_level(False, use_regex=False)])
    j = train(pre, normalizers.NFC(), 800)
    n = len(j["model"]["vocab"])
    j["added_tokens"] = [added(n + 0, "<|endoftext|>", special=True), added(n + 1, "<think>"), added(n + 2, "</think>", rstrip=True),
                         added(n + 3, "Ein", single_word=True, normalized=True), added(n + 4, "A\u030a", normalized=True),
                         added(n + 5, "<|strip|>", special=True, lstrip=True, rstrip=True), added(n + 6, "<mask>", single_word=True)]
    finish("qwen", j)
    # DeepSeek's three splits, whole pieces first; the vocabulary holds tokens that merging does not give
    pre = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(p), "isolated") for p in DEEPSEEK] + [byte_level(False, use_regex=False)])
    j = train(pre, None, 640)
    j["model"]["ignore_merges"] = True
    for word in ("\u0120workers", "Sluice", "<|endoftext|>", "abcdefghijklmnopqrstuvwxyz", "\u0120answer"):
        j["model"]["vocab"].setdefault(word, len(j["model"]["vocab"]))
    j["added_tokens"] = [added(j["model"]["vocab"]["<|endoftext|>"], "<|endoftext|>", special=True)]
    finish("deepseek", j)
    # patterns without a scanner, and the other behaviors
    split = pre_tokenizers.Split
    pre = pre_tokenizers.Sequence([split(Regex(r"\r?\n"), "merged_with_previous"), split("th", "merged_with_next"),
                                   pre_tokenizers.Digits(individual_digits=False), split(Regex(r"[^\S\n]{2,}"), "removed"),
                                   split(Regex(r"(?:\p{Lu}\p{Ll}*|(?i:don'?t)|\p{Ll}+(?=\s|\p{P}))"), "isolated"),
                                   split(Regex(r"[\p{P}]"), "contiguous"), byte_level(False, use_regex=False)])
    j = train(pre, None, 600)
    n = len(j["model"]["vocab"])
    j["added_tokens"] = [added(n + 0, "<|endoftext|>", special=True)]
    finish("splits", j)
    # tiktoken: the ranks of the merges of the second kind, with two tokens that no merge gives
    j = train(pre_tokenizers.Sequence([split(Regex(LLAMA3), "isolated"), byte_level(False, use_regex=False)]), None, 700)
    alphabet = {c: b for c, b in zip(
        [chr(c) for c in list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))] + [chr(256 + i) for i in range(68)],
        list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256)) +
        [b for b in range(256) if not (33 <= b <= 126 or 161 <= b <= 172 or b >= 174)])}
    tokens = [bytes([b]) for b in range(256)]
    for a, b in j["model"]["merges"]:
        tokens.append(bytes(alphabet[c] for c in a + b))
    tokens += [b"workersandmore", b" answerable"]
    ranks = {t: i for i, t in enumerate(dict.fromkeys(tokens))}
    with open("tiny.tiktoken", "w") as f:
        for token, rank in ranks.items():
            f.write("%s %d\n" % (base64.b64encode(token).decode(), rank))
    e = tiktoken.Encoding("tiny", pat_str=LLAMA3, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": len(ranks), "<mask>": len(ranks) + 5})
    write_cases("tiktoken", e.encode_ordinary, lambda s: e.encode(s, allowed_special="all"))
    print(len(ranks))


main()
