"""Tokenizers that Hugging Face's own trainers make from the texts at hand, for parity_tokenize.py: byte pairs whose characters
know their place in a word (continuing_subword_prefix, end_of_word_suffix: GPT-1, CLIP), and WordLevel; and texts so long and
without a place to cut that they are merged in windows."""
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
