"""Tokenizers that Hugging Face's own trainers make from the texts at hand, for parity_tokenize.py: byte pairs whose characters
know their place in a word (continuing_subword_prefix, end_of_word_suffix: GPT-1, CLIP), and WordLevel; byte pairs that lack tokens for
the bytes that the training did not meet (as GPT-NeoX's lacks those that no UTF-8 has); and texts so long and without a place to cut that
they are merged in windows."""
import json
import random

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())


def clip_like():
    """As CLIP's: lower case, words out of a pattern, bytes, </w> behind each word."""
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]", continuing_subword_prefix="", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    words = Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(words, "removed", True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer, dict(end_of_word_suffix="</w>", initial_alphabet=ALPHABET)


def gpt1_like():
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>", fuse_unk=True))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.BPEDecoder(suffix="</w>")
    return tokenizer, dict(end_of_word_suffix="</w>", limit_alphabet=200)


def prefixed():
    tokenizer = Tokenizer(models.BPE(continuing_subword_prefix="##"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer, dict(continuing_subword_prefix="##", limit_alphabet=200)


def both():
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]", continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer, dict(continuing_subword_prefix="##", end_of_word_suffix="</w>", limit_alphabet=200)


def lacking(lines, front, whole):
    """The json text of a byte-level tokenizer whose alphabet is what the lines have: no initial_alphabet."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=front)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=1500, special_tokens=["<|end|>"], show_progress=False))
    made = json.loads(tokenizer.to_str())
    made["model"]["ignore_merges"] = whole
    return json.dumps(made, ensure_ascii=False)


def bytes_of(tokenizer):
    """The bytes that have tokens of their own."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    names = {chr(b): b for b in plain}
    names.update((chr(0x100 + k), b) for k, b in enumerate(b for b in range(256) if b not in plain))
    vocabulary = tokenizer.get_vocab(with_added_tokens=False)
    return {b for name, b in names.items() if name in vocabulary}


def train(name, lines):
    if name == "word level":
        tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        trainer = trainers.WordLevelTrainer(vocab_size=1500, special_tokens=["[UNK]", "<|end|>"], show_progress=False)
    else:
        tokenizer, more = {"clip": clip_like, "gpt-1": gpt1_like, "prefix": prefixed, "prefix and suffix": both}[name]()
        trainer = trainers.BpeTrainer(vocab_size=1500, special_tokens=["[UNK]", "<|end|>"], show_progress=False, **more)
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer


NAMES = ["clip", "gpt-1", "prefix", "prefix and suffix", "word level"]


def long_texts():
    """Each is one piece under vocabularies without a pre-tokenizer."""
    draw = random.Random(3)
    han = [chr(c) for c in range(0x4E00, 0x9FA0)]
    kinds = ["abcdefghijklmnopqrstuvwxyz", "ACGT", "ab", "0123456789", " \n", "aeiou", han, "a\u00e9\u6f22\U0001f642\u0301"]
    texts = ["".join(draw.choice(kind) for _ in range(30000)) for kind in kinds]
    return texts + ["a" * 50001, "ab" * 20000, "=" * 30001 + "a", " " * 30000, "\n" * 30000, "\u7684" * 20000, ("x" * 8191 + "y") * 3]
