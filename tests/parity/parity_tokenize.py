#!/usr/bin/env python3
"""Compares the tokenizer engine with tiktoken, Hugging Face tokenizers and SentencePiece, id for id.

Usage: parity_tokenize.py BPE_DUMP DIRECTORY [--data DIR] [--strings N] [--more N] [--megabytes N] [--scalars N] [--share N] [--only NAME] [--remember DIR] [--bench]

DIRECTORY is searched for `*.tiktoken` (r50k, p50k, cl100k, o200k_base) and `tokenizer.json` files. --data is a directory of
`*.jsonl.zst` files with a "text" member (default: $SLUICE_TEST_DATA). --scalars N: strings with every N-th Unicode character between
letters, spaces and itself (1: all). --more N: N random strings more, in portions that fit memory. --share N: each vocabulary sees
every N-th document only. --remember DIR keeps hashes of the peers' answers to the portions, so that another build of the engine is
compared with them in minutes instead of hours. SentencePiece models of each kind are trained on the spot; `vocab.tar.zst` in --data adds llama.cpp's pairs of inputs and ids. Needs the packages tiktoken, tokenizers and sentencepiece, and `zstd`.
Exit: 0 all equal; 1 a difference; 77 a package or every file is missing (skipped).
"""
import argparse
import array
import base64
import gc
import hashlib
import json
import os
import random
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

import parity_strings

try:
    import sentencepiece
    import tiktoken
    import tiktoken_ext.openai_public as openai
    from tokenizers import Tokenizer
    import parity_trained
except ImportError as error:
    print("skipped: %s" % error)
    sys.exit(77)

# Ranges with something for every alternative of the patterns, weighted by repetition.
POOLS = [
    "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", "     \n\r\t", "'s't're've'm'll'd'S'T'RE'VE'M'LL'D",
    "'\u017f'\u212a", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "\u00e9\u00df\u00c0\u0130\u01c5\u02b0\u0301\u0327\u20dd\u093e\u0e31",
    "\u0663\u2167\u00bd\u0bf0", "\u4e2d\u6587\u5b57\u3042\u30a2\ud55c\uae00\u9fa6", "\u00a0\u2003\u2028\u2029\u3000\u0085\u180e\u200b\ufeff",
    "\U0001f600\U0001f468\u200d\U0001f469\ufe0f\U0001f1e9\U0001f1ea", "\x00\x01\x1f\x7f", "\u0391\u03b1\u0410\u0431\u05d0\u0627",
    "\U00010400\U00010428\U0001e900\U00016e40", "\u0897\u1c89\ua7cb\U00011f02\U0001ccf0\U00010d4a\u0378",
]
WORDS = ["don't", "WE'LL", " I'm", "Hello", "world", "HTTPServer", "camelCase", "3.14159", "12345678", "    ", "\n\n", "\r\n", " \n ",
         "://", "...", "//", "/*", "\u2581", "\u2581\u2581the", "<unk>", "<s>", "\u0301a", "e\u0301", "\u1112\u1161\u11ab", "<|endoftext|>", "<think>", "\u2126", "\u0344", "\ufa20"]


def members(archive, most):
    """The texts of an archive's files, the first `most` bytes of them: books, chats and pages as they came."""
    with subprocess.Popen(["zstd", "-dcq", archive], stdout=subprocess.PIPE) as process:
        with tarfile.open(fileobj=process.stdout, mode="r|") as tar:
            for member in tar:
                data = tar.extractfile(member).read(most) if member.isfile() else b""
                most -= len(data)
                try:
                    yield data.decode("utf-8")
                except UnicodeDecodeError:  # no text, or cut inside of a character
                    pass
                if most <= 0:
                    break
        process.kill()


def documents(directory, megabytes):
    """Texts: equally many bytes of each file of documents, and a third of that of each archive of texts."""
    names = sorted(n for n in os.listdir(directory) if n.endswith(".jsonl.zst")) if directory and os.path.isdir(directory) else []
    out = []
    for name in names:
        left = megabytes * 1000000 // len(names)
        process = subprocess.Popen(["zstd", "-dcq", os.path.join(directory, name)], stdout=subprocess.PIPE)
        for line in process.stdout:
            text = json.loads(line)["text"]
            out.append(text)
            left -= len(text.encode("utf-8", "surrogatepass"))
            if left < 0:
                break
        process.kill()
        process.wait()
    for name in ("books.tar.zst", "chat.tar.zst", "html.tar.zst"):
        if names and os.path.exists(os.path.join(directory, name)):
            out.extend(members(os.path.join(directory, name), megabytes * 1000000 // (3 * len(names))))
    return [t for t in out if not any(0xD800 <= ord(c) < 0xE000 for c in t)]


def pack(texts, path):
    with open(path, "wb") as f:
        for text in texts:
            data = text.encode("utf-8")
            f.write(struct.pack("<I", len(data)) + data)


def run_dump(dump, vocabulary, path, arguments=()):
    with open(path, "rb") as f:
        result = subprocess.run([dump, vocabulary, *arguments], stdin=f, stdout=subprocess.PIPE, check=True)
    return result.stdout


def unpack(data):
    at = 0
    while at < len(data):
        n = struct.unpack_from("<I", data, at)[0]
        yield list(struct.unpack_from("<%dI" % n, data, at + 4))
        at += 4 + 4 * n


def find(directory):
    for base, _, names in sorted(os.walk(directory)):
        for name in sorted(names):
            if name.endswith(".tiktoken") or name == "tokenizer.json":
                yield os.path.join(base, name)


def reference(path):
    """(name, encode_batch, encode_batch with special tokens) of a vocabulary file, or None."""
    if path.endswith(".tiktoken"):
        name = os.path.basename(path)[:-len(".tiktoken")]
        constructor = {"r50k_base": openai.r50k_base, "p50k_base": openai.p50k_base, "cl100k_base": openai.cl100k_base,
                       "o200k_base": openai.o200k_base}.get(name)
        if not constructor:
            return None
        ranks = {base64.b64decode(a): int(b) for a, b in (line.split() for line in open(path, "rb") if line.strip())}
        load, openai.load_tiktoken_bpe = openai.load_tiktoken_bpe, lambda *a, **k: ranks
        encoding = tiktoken.Encoding(**constructor())
        openai.load_tiktoken_bpe = load
        return (name, lambda texts: [encoding.encode_ordinary(t) for t in texts],
                lambda texts: [encoding.encode(t, allowed_special="all") for t in texts])
    tokenizer = Tokenizer.from_file(path)
    parts = os.path.abspath(path).split(os.sep)
    name = next((p for p in reversed(parts[:-1]) if p not in ("models", "package")), path)

    def batch(as_text):
        def encode(texts):
            out = []
            tokenizer.encode_special_tokens = as_text
            for i in range(0, len(texts), 2000):
                out += [e.ids for e in tokenizer.encode_batch(texts[i:i + 2000], add_special_tokens=False)]
            return out
        return encode
    return name, batch(True), batch(False)


def compare(label, texts, ours, theirs):
    wrong = 0
    count = 0
    for text, a, b in zip(texts, ours, theirs):
        count += 1
        if a != b:
            wrong += 1
            if wrong <= 3:
                k = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
                print("  DIFFERS %s: %r\n    ours   %s\n    theirs %s" % (label, text[:200], a[max(0, k - 3):k + 8], b[max(0, k - 3):k + 8]))
    if count != len(texts):
        print("  DIFFERS %s: %d texts, %d results" % (label, len(texts), count))
        wrong += 1
    return wrong


def scalar_strings(step):
    """Every step-th Unicode character (not a surrogate): alone, doubled, and between letters and spaces; 32 characters a string."""
    out, some = [], []
    for c in range(0, 0x110000, step):
        if not 0xD800 <= c < 0xE000:
            some.append(chr(c))
        if len(some) == 32 or c + step >= 0x110000:
            out.append("".join("a%s b%s%s %s c" % (x, x, x, x) for x in some))
            some = []
    return out


# Random strings of one portion, and bytes of documents of one.
PORTION_STRINGS = 400000
PORTION_BYTES = 16000000


def packed_texts(path):
    """What pack() wrote."""
    with open(path, "rb") as f:
        data = f.read()
    at, out = 0, []
    while at < len(data):
        n = struct.unpack_from("<I", data, at)[0]
        out.append(data[at + 4:at + 4 + n].decode("utf-8"))
        at += 4 + n
    return out


def portions(scratch, kept, more, texts, share):
    """Files of the --more strings, made once in the directory `kept`, and files of slices of the texts."""
    for i in range((more + PORTION_STRINGS - 1) // PORTION_STRINGS):
        count = min(PORTION_STRINGS, more - i * PORTION_STRINGS)
        path = os.path.join(kept, "more.%d.%d" % (i, count))
        if not os.path.exists(path):  # making them takes longer than reading them
            pack(parity_strings.random_strings(count, 1 + i, POOLS, WORDS), path + ".part")
            os.rename(path + ".part", path)
        yield path
    path, some, size = os.path.join(scratch, "documents"), [], 0
    for i, text in enumerate(texts):
        if i % share[1] == share[0]:
            some.append(text)
            size += len(text)
        if some and (size > PORTION_BYTES or i + 1 == len(texts)):
            pack(some, path)
            yield path
            some, size = [], 0


def file_hash(path):
    digest = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def compare_portion(label, vocabulary, portion, ours, encode, memory):
    """(texts, ids, differences) of one file of texts. Where the peer's answer is remembered and ours has its hash, the peer isn't asked."""
    kept = os.path.join(memory, file_hash(vocabulary) + "." + file_hash(portion)) if memory else None
    our_answer = hashlib.blake2b(ours, digest_size=16).hexdigest()
    if kept and os.path.exists(kept):
        with open(kept) as f:
            answer, texts, tokens = f.read().split()
        if answer == our_answer:
            return int(texts), int(tokens), 0
    texts = packed_texts(portion)
    theirs = encode(texts)
    digest = hashlib.blake2b(digest_size=16)  # of what bpe_dump would print
    for ids in theirs:
        digest.update(struct.pack("<I", len(ids)) + array.array("I", ids).tobytes())
    tokens = sum(map(len, theirs))
    if kept:
        with open(kept + ".part", "w") as f:
            f.write("%s %d %d\n" % (digest.hexdigest(), len(texts), tokens))
        os.rename(kept + ".part", kept)
    wrong = 0 if digest.hexdigest() == our_answer else compare(label, texts, unpack(ours), theirs)
    return len(texts), tokens, wrong


# SentencePiece's own trainer makes these from the texts at hand: name, options.
PLAIN = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
MODELS = [
    ("llama", dict(PLAIN, model_type="bpe", vocab_size=2000, byte_fallback=True)),
    ("unknown", dict(PLAIN, model_type="bpe", vocab_size=1500)),
    ("no prefix", dict(PLAIN, model_type="bpe", vocab_size=1500, add_dummy_prefix=False, split_by_whitespace=False)),
    ("user", dict(PLAIN, model_type="bpe", vocab_size=1500, byte_fallback=True, user_defined_symbols=["foo", "<sep>", "  ", "the", "\u2581a", "x", "\n"], control_symbols=["<ctl>"])),
    ("char", dict(PLAIN, model_type="char", vocab_size=300)),
    ("nfkc", dict(model_type="bpe", vocab_size=1500)),
    ("fold", dict(model_type="bpe", vocab_size=1500, byte_fallback=True, normalization_rule_name="nmt_nfkc_cf", user_defined_symbols=["foo", "\uff26", "b c"])),
    ("suffix", dict(model_type="bpe", vocab_size=1500, treat_whitespace_as_suffix=True)),
]


def compare_models(dump, texts, packed, training, scratch, only):
    """Trains and compares; gives (differences, models)."""
    lines = [line[:2000] for text in training for line in text.split("\n") if line.strip()][:8000]
    wrong = seen = 0
    for name, options in MODELS:
        label = "sentencepiece " + name
        if only not in label:
            continue
        path = os.path.join(scratch, "spm.model")
        with open(path, "wb") as f:
            sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=f, character_coverage=0.98, hard_vocab_limit=False, num_threads=1,
                                                     minloglevel=2, **options)
        peer = sentencepiece.SentencePieceProcessor(model_file=path)
        differ = compare(label, texts, unpack(run_dump(dump, path, packed)), peer.encode(texts))
        print("%-24s %d texts, %d differ" % (label, len(texts), differ))
        wrong += differ
        seen += 1
    return wrong, seen


def compare_trained(dump, texts, packed, training, scratch, only):
    """The same with Hugging Face's trainers."""
    lines = [line[:2000] for text in training for line in text.split("\n") if line.strip()][:1500]
    some = texts[::3]
    pack(some, packed)
    wrong = seen = 0
    for name in parity_trained.NAMES:
        label = "trained " + name
        if only not in label:
            continue
        path = os.path.join(scratch, "trained.json")
        peer = parity_trained.train(name, lines)
        peer.save(path)
        theirs = [e.ids for e in peer.encode_batch(some, add_special_tokens=False)]
        differ = compare(label, some, unpack(run_dump(dump, path, packed, ["--allow"])), theirs)
        print("%-24s %d texts, %d differ" % (label, len(some), differ))
        wrong += differ
        seen += 1
    return wrong, seen


def compare_lacking(dump, texts, packed, training, scratch, only, peers):
    """Vocabularies without tokens for some bytes: one of GPT-NeoX's kind in the archive `peers`, and trained ones. Texts that need none of
    these bytes have the peer's ids; another, of which the peer drops characters without a word, is refused with the byte's name."""
    lines = [line[:2000] for text in training for line in text.split("\n") if line.strip() and line.isascii() and "q" not in line][:1500] + ["caf\u00e9 na\u00efve"] * 3
    files = [("lacking" + (" front" if front else "") + (" whole" if whole else ""), front, whole) for front, whole in ((False, False), (True, False), (False, True))]
    if os.path.exists(peers):
        files.append(("GPT-NeoX", None, None))
    wrong = seen = 0
    for label, front, whole in files:
        if only not in label:
            continue
        path = os.path.join(scratch, "lacking.json")
        if front is None:
            member = "peers/dolma/tests/data/tokenizer/gpt-neo-test-tokenizer.json"
            subprocess.run(["tar", "--zstd", "-xf", peers, "-C", scratch, member], check=True)
            path = os.path.join(scratch, member)
        else:
            with open(path, "w", encoding="utf-8") as out:
                out.write(parity_trained.lacking(lines, front, whole))
        peer = Tokenizer.from_file(path)
        has = parity_trained.bytes_of(peer)
        lacks = set(range(256)) - has
        some = [text for text in texts if not lacks.intersection(text.encode())]
        if front is not None:  # few texts at hand are of so few characters
            draw, letters = random.Random(7), [chr(c) for c in range(0x80) if c in has] * 2 + ["\u00e9", "\u00ef", "the ", " and", "ing "]
            some = some[:1500] + ["".join(draw.choice(letters) for _ in range(draw.choice((3, 20, 60, 400)))) for _ in range(4000)]
        pack(some, packed)
        peer.encode_special_tokens = False
        theirs = [e.ids for e in peer.encode_batch(some, add_special_tokens=False)]
        differ = compare(label, some, unpack(run_dump(dump, path, packed, ["--allow"])), theirs)
        refused = [text for text in texts if lacks.intersection(text.encode())][:25]
        for text in refused:
            pack([text], packed)
            with open(packed, "rb") as f:
                result = subprocess.run([dump, path], stdin=f, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if result.returncode == 0 or b"has no token for the byte 0x" not in result.stderr:
                print("  TAKEN %s: %r: %s" % (label, text[:80], result.stderr))
                differ += 1
        print("%-24s %d texts, %d differ; %d bytes without tokens, %d texts with those refused" % (label, len(some), differ, len(lacks), len(refused)))
        wrong += differ
        seen += 1
    return wrong, seen


# llama.cpp's pairs of inputs and ids are of these vocabularies (lenml's llama2 is none of them: it holds Mistral's).
PAIRS = {"tokenizer-gpt2": "gpt-2", "tokenizer-llama3_1": "llama-bpe", "tokenizer-qwen2_5": "qwen2"}


def compare_pairs(dump, name, vocabulary, archive, scratch):
    """llama.cpp's inputs and ids of a vocabulary."""
    if name not in PAIRS or not os.path.exists(archive):
        return 0
    subprocess.run(["tar", "--zstd", "-xf", archive, "-C", scratch, "vocab/llama.cpp"], check=True)
    base = os.path.join(scratch, "vocab", "llama.cpp", "ggml-vocab-%s.gguf" % PAIRS[name])
    with open(base + ".inp", encoding="utf-8", newline="") as f:
        texts = f.read().split("\n__ggml_vocab_test__\n")
    with open(base + ".out") as f:
        expected = [[int(x) for x in line.split()] for line in f.read().split("\n")]
    texts, expected = texts[:-1] if not texts[-1] else texts, expected[:len(texts)]
    packed = os.path.join(scratch, "pairs")
    pack(texts, packed)
    differ = compare("llama.cpp pairs", texts, unpack(run_dump(dump, vocabulary, packed)), expected)
    print("%-24s %d texts, %d differ" % ("llama.cpp pairs", len(texts), differ))
    return differ


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dump")
    parser.add_argument("directory")
    parser.add_argument("--data", default=os.environ.get("SLUICE_TEST_DATA"))
    parser.add_argument("--strings", type=int, default=20000)
    parser.add_argument("--more", type=int, default=0)
    parser.add_argument("--megabytes", type=int, default=10)
    parser.add_argument("--scalars", type=int, default=0)
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--remember", default="")
    parser.add_argument("--bench", action="store_true")
    options = parser.parse_args()
    gc.disable()  # millions of lists, and no cycles among them
    if options.remember:
        os.makedirs(options.remember, exist_ok=True)
    strings = parity_strings.random_strings(options.strings, 20240607, POOLS, WORDS)
    strings += ["", " ", "\n", "a" * 5000, "^" * 5000, " " * 5000, "\n" * 5000, "\u7684" * 3000, (" " * 999 + "x") * 5]
    if options.scalars:
        strings += scalar_strings(options.scalars)
    texts = documents(options.data, options.megabytes)
    size = sum(len(t.encode()) for t in texts)
    print("%d random strings, %d documents with %.1f MB" % (len(strings), len(texts), size / 1e6))
    failed = seen = 0
    with tempfile.TemporaryDirectory() as scratch:
        packed = os.path.join(scratch, "texts")
        packed_strings = os.path.join(scratch, "strings")
        packed_long = os.path.join(scratch, "long")
        long_texts = parity_trained.long_texts()
        pack(long_texts, packed_long)
        pack(strings, packed_strings)
        for path in find(options.directory):
            found = reference(path) if options.only in path else None
            if not found:
                continue
            name, ordinary, special = found
            share = seen % options.share, options.share
            seen += 1
            theirs = ordinary(strings)
            wrong = compare(name, strings, unpack(run_dump(options.dump, path, packed_strings)), theirs)
            wrong += compare(name + " with special tokens", strings, unpack(run_dump(options.dump, path, packed_strings, ["--allow"])),
                             special(strings))
            if options.share == 1 or os.path.getsize(path) < 12000000:  # the large take seconds to load
                wrong += compare(name + " with a small cache", strings,
                                 unpack(run_dump(options.dump, path, packed_strings, ["--cache", "65536"])), theirs)
            if any(kind in path for kind in ("llama2", "gemma")):
                wrong += compare(name + ", long", long_texts, unpack(run_dump(options.dump, path, packed_long)), ordinary(long_texts))
            compared, tokens = len(strings), sum(map(len, theirs))
            for portion in portions(scratch, options.remember or scratch, options.more, texts, share):
                found = compare_portion(name, path, portion, run_dump(options.dump, path, portion), ordinary, options.remember)
                compared, tokens, wrong = compared + found[0], tokens + found[1], wrong + found[2]
            failed += wrong
            print("%-16s %d texts, %d tokens, %d differ" % (name, compared, tokens, wrong))
            if options.bench and texts:
                pack(texts, packed)
                fields = run_dump(options.dump, path, packed, ["--bench", "3"]).split()
                ours = int(fields[0]) / float(fields[2]) / 1e6
                start = time.process_time()  # processor time, so that a busy machine does not tell; HF may use threads: set
                ordinary(texts)              # RAYON_NUM_THREADS=1 and TOKENIZERS_PARALLELISM=false
                peer = size / (time.process_time() - start) / 1e6
                print("    %.1f MB/s, reference %.1f MB/s (one call a document), ratio %.1f; loaded in %s s, %d MiB"
                      % (ours, peer, ours / peer, fields[3].decode(), int(fields[4]) >> 20))
            if options.data:
                failed += compare_pairs(options.dump, name, path, os.path.join(options.data, "vocab.tar.zst"), scratch)
            sys.stdout.flush()
        if texts:
            few = strings[:5000] + strings[options.strings:] + texts
            few = [t.replace("\0", "") for t in few]  # its Python binding ends a text there
            pack(few, packed)
            wrong, models = compare_models(options.dump, few, packed, texts[:400], scratch, options.only)
            failed += wrong
            seen += models
            wrong, models = compare_trained(options.dump, few, packed, texts[:100], scratch, options.only)
            failed += wrong
            seen += models
            peers = os.path.join(options.data or "", "peers.tar.zst")
            wrong, models = compare_lacking(options.dump, few, packed, texts[:400], scratch, options.only, peers)
            failed += wrong
            seen += models
    if not seen:
        print("skipped: no vocabulary files in %s" % options.directory)
        sys.exit(77)
    sys.exit(1 if failed else 0)


main()
