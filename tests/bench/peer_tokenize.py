"""Speed of one tokenizer of PyPI on one core: peer_tokenize.py PEER VOCABULARY FILE stream MEGABYTES | warm MEGABYTES | cold

Prints MB/s of processor time and ids. PEER: gigatoken, tiktoken, tokenizers. VOCABULARY: a .tiktoken file whose name says
cl100k or o200k, or a tokenizer.json (not for tiktoken). Texts are the bytes that tokenize_bench gives: 1 MiB a call
(stream), 4 KiB a call (warm, cold), cut between characters. tokenizers gets the ranks as merges, as its own conversion
from tiktoken makes them.
"""
import os
import sys
import time

CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def ranks_of(path):
    import base64

    with open(path, "rb") as lines:
        return {base64.b64decode(t): int(r) for t, r in (line.split() for line in lines if line.strip())}


def merges_of(ranks):
    def parts_of(token, limit):
        parts = [bytes([b]) for b in token]
        while len(parts) > 1:
            best = min(range(len(parts) - 1), key=lambda i: ranks.get(parts[i] + parts[i + 1], 1 << 30))
            rank = ranks.get(parts[best] + parts[best + 1])
            if rank is None or rank >= limit:
                break
            parts[best : best + 2] = [parts[best] + parts[best + 1]]
        return parts

    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        if len(token) > 1:
            parts = parts_of(token, rank)
            if len(parts) == 2:
                yield parts[0], parts[1]


def alphabet():
    keep = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    table = {b: chr(b) for b in keep}
    for n, b in enumerate(b for b in range(256) if b not in table):
        table[b] = chr(256 + n)
    return table


def load(peer, path):
    if path.endswith(".json"):
        if peer == "gigatoken":
            import gigatoken

            return gigatoken.Tokenizer(path).encode, False
        import tokenizers

        whole = tokenizers.Tokenizer.from_file(path)
        return lambda t: whole.encode(t, add_special_tokens=False).ids, True
    pattern = O200K if "o200k" in os.path.basename(path) else CL100K
    if peer == "gigatoken":
        import gigatoken

        return gigatoken.Tokenizer.from_tiktoken(path).encode, False
    if peer == "tiktoken":
        import tiktoken

        encoding = tiktoken.Encoding("bench", pat_str=pattern, mergeable_ranks=ranks_of(path), special_tokens={})
        return encoding.encode_ordinary, True
    import tokenizers

    ranks, table = ranks_of(path), alphabet()

    def text(token):
        return "".join(table[b] for b in token)

    model = tokenizers.models.BPE(
        vocab={text(t): r for t, r in ranks.items()},
        merges=[(text(a), text(b)) for a, b in merges_of(ranks)],
        ignore_merges=True,
    )
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return lambda t: tokenizer.encode(t).ids, True


def pieces(data, size, decode):
    out, at = [], 0
    while at < len(data):
        end = min(at + size, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end += 1
        out.append(data[at:end].decode() if decode else data[at:end])
        at = end
    return out


def main():
    os.environ.setdefault("RAYON_NUM_THREADS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    peer, vocabulary, path, kind = sys.argv[1:5]
    encode, decode = load(peer, vocabulary)
    with open(path, "rb") as file:
        data = file.read()
    parts = pieces(data, 1 << 20 if kind == "stream" else 4096, decode)
    wanted = int(sys.argv[5]) * 1_000_000 if kind != "cold" else len(data)
    done, ids, start = 0, 0, time.process_time()
    while done < wanted:
        for part in parts:
            ids += len(encode(part))
        done += len(data)
    print(f"{done / 1e6 / (time.process_time() - start):.1f} {ids}")


main()
