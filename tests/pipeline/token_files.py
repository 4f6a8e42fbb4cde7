"""Reads back what token_files.sh had written, by the formats' descriptions alone, and compares it with the tokens in JSONL."""
import glob
import gzip
import json
import struct
import sys

out = sys.argv[1]


def parts(name, suffix):
    found = sorted(glob.glob(f"{out}/{name}/latest/*{suffix}"))
    assert found, f"no {suffix} in {name}"
    return found


def rows(name):
    return [json.loads(line) for path in parts(name, ".jsonl") for line in open(path)]


def ids(data, width):
    return list(struct.unpack(f"<{len(data) // width}{'HI'[width == 4]}", data))


def same(name, left, right):
    assert len(left) == len(right), f"{name}: {len(left)} sequences, expected {len(right)}"
    for k, (a, b) in enumerate(zip(left, right)):
        assert a == b, f"{name}: sequence {k} is {a[:8]}…, expected {b[:8]}…"
    print(f"{name}: {len(left)} sequences")


def datatrove(name):
    """(tokens, mask) of each sequence."""
    for path in parts(name, ".ds"):
        tokens = ids(open(path, "rb").read(), 2)
        ends = [int(e) for e in struct.unpack(f"<{len(open(path + '.index', 'rb').read()) // 8}Q", open(path + ".index", "rb").read())]
        mask = glob.glob(path + ".loss")
        mask = list(open(mask[0], "rb").read()) if mask else None
        head, count, people = open(path + ".metadata").read().split("\n")
        assert int(count) == len(tokens) == ends[-1] and head.endswith("|2") and people.endswith(" tokens"), (head, count, people)
        assert mask is None or len(mask) == len(tokens)
        for begin, end in zip([0] + ends, ends):
            yield tokens[begin:end], mask[begin:end] if mask else None


def nanogpt(name, magic, width):
    for path in parts(name, ".bin"):
        data = open(path, "rb").read()
        header = struct.unpack("<256i", data[:1024])
        assert header[:3] == (magic, 1, (len(data) - 1024) // width), header[:4]
        assert header[3] == (4 if width == 4 else 0) and not any(header[4:])
        yield from ids(data[1024:], width)


def array(data, width):
    """One MDS array of one dimension: its values and what follows."""
    size = 1 << (data[0] & 3)
    assert data[0] >> 2 == 1
    n = int.from_bytes(data[1:1 + size], "little")
    return list(data[1 + size:1 + size + n]) if width == 1 else ids(data[1 + size:1 + size + n * width], width)


def mds_fixed(name, width, length, mask):
    """Samples of one length, which stands in the encodings alone."""
    for shard in json.load(open(f"{out}/{name}/latest/index.json"))["shards"]:
        assert shard["column_encodings"] == [f"ndarray:uint8:{length}"] * mask + [f"ndarray:uint{8 * width}:{length}"]
        assert shard["column_sizes"] == [length] * mask + [length * width]
        data = open(f"{out}/{name}/latest/{shard['raw_data']['basename']}", "rb").read()
        n, = struct.unpack_from("<I", data)
        offsets = struct.unpack_from(f"<{n + 1}I", data, 4)
        assert n == shard["samples"] and offsets[-1] == len(data) == shard["raw_data"]["bytes"]
        for begin, end in zip(offsets, offsets[1:]):
            assert end - begin == length * (width + mask)
            yield ids(data[begin + length * mask:end], width), list(data[begin:begin + length]) if mask else None


def mds(name, width):
    index = json.load(open(f"{out}/{name}/latest/index.json"))
    assert index["version"] == 2
    assert len(index["shards"]) == len(parts(name, ".mds"))
    for shard in index["shards"]:
        names = shard["column_names"]
        assert shard["column_encodings"][-1] == f"ndarray:uint{8 * width}" and shard["column_sizes"] == [None] * len(names)
        data = open(f"{out}/{name}/latest/{shard['raw_data']['basename']}", "rb").read()
        assert len(data) == shard["raw_data"]["bytes"]
        n, = struct.unpack_from("<I", data)
        assert n == shard["samples"]
        offsets = struct.unpack_from(f"<{n + 1}I", data, 4)
        config = json.loads(data[8 + 4 * n:offsets[0]])
        assert config["column_names"] == names and offsets[-1] == len(data)
        for begin, end in zip(offsets, offsets[1:]):
            sizes = struct.unpack_from(f"<{len(names)}I", data, begin)
            at = begin + 4 * len(names)
            sample = {}
            for column, size in zip(names, sizes):
                sample[column] = array(data[at:at + size], 1 if column == "loss_mask" else width)
                at += size
            assert at == end
            yield sample["tokens"], sample.get("loss_mask")


def chat():
    """Masks from spans: each token by the byte of its text where it begins, in JSONL, packed rows and .ds files."""
    spans = {"a": [(8, 18)], "b": [], "c": [(0, 9)], "d": [(3, 8)]}
    whole = []
    for row in rows("tokens"):
        text = row["text"]
        trained = [any(b <= k < e for b, e in spans[row["id"]]) for k, c in enumerate(text) for _ in c.encode()]
        mask = [int(trained[at]) for at in row["offsets"][:-1]] + [int(trained[-1])]
        assert row["offsets"][-1] == len(text.encode()) and row["offsets"][0] == 0 and len(row["offsets"]) == len(row["tokens"])
        assert row["loss_mask"] == mask, (row["id"], row["loss_mask"], mask)
        whole.append((row["tokens"], mask))
    assert len(whole) == 4 and any(0 < sum(m) < len(m) for _, m in whole)
    pieces = []
    for row in rows("packed"):
        at = 0
        for n in row["segments"]:
            pieces.append((row["tokens"][at:at + n], row["loss_mask"][at:at + n]))
            at += n
    assert sorted(pieces) == sorted(whole) == sorted(datatrove("ds")), "chat"
    print("chat: masks are those of the spans")


if out == "chat":
    chat()
    sys.exit()

tokens = [row["tokens"] for row in rows("tokens")]
packed = rows("packed")
pieces = []
for row in packed:
    at = 0
    for n in row["segments"]:
        pieces.append(row["tokens"][at:at + n])
        at += n
flat = [i for row in tokens for i in row]
masks = [[0 if i % 3 == 0 else 1 for i in range(1, len(row) + 1)] for row in tokens]

same("ds", [t for t, _ in datatrove("ds")], tokens)
same("ds_documents", [t for t, _ in datatrove("ds_documents")], pieces)
same("ds_mask", list(datatrove("ds_mask")), list(zip(tokens, masks)))
raw = []
for path in parts("raw", ".npy"):
    data = ids(open(path, "rb").read(), 2)
    lines = gzip.open(path[:-4] + ".csv.gz", "rt").read().splitlines()
    begins = [tuple(int(v) for v in line.split(",")[:2]) for line in lines]
    assert begins[0][0] == 0 and begins[-1][1] == len(data)
    raw += [data[b:e] for b, e in begins]
same("raw", raw, [row["tokens"] for row in packed])
assert list(nanogpt("nanogpt", 20240520, 2)) == flat, "nanogpt"
assert list(nanogpt("nanogpt32", 278895051, 4)) == flat, "nanogpt32"
same("mds", [t for t, _ in mds("mds", 2)], [row["tokens"] for row in packed])
same("mds_fixed", [t for t, _ in mds_fixed("mds_fixed", 2, 256, 0)], [row["tokens"] for row in packed])
fixed = list(mds_fixed("mds_fixed_mask", 4, 256, 1))
# The annotator that makes masks forgets which token is eos: padding is another one there.
content = [256 - row["padding"] for row in packed]
same("mds_fixed_mask", [t[:n] for (t, _), n in zip(fixed, content)], [row["tokens"][:n] for row, n in zip(packed, content)])
assert len(fixed) == len(packed)
of = {tuple(t[k:k + 256]): m[k:k + 256] for t, m in zip(tokens, masks) for k in range(0, len(t), 256)}
checked = 0
for (_, mask), row in zip(fixed, packed):
    at = 0
    for n in row["segments"]:
        piece = tuple(row["tokens"][at:at + n])
        assert mask[at:at + n] == of[piece], "mds_fixed_mask"
        checked += 1
        at += n
    assert mask[at:] == [0] * row["padding"], "mds_fixed_mask: padding is trained on"
assert checked > 20
same("mds_mask", list(mds("mds_mask", 4)), [(t, m) for t, m in zip(tokens, masks) if t])


def whole(packed, name):
    """What pack says of each row, checked from its pieces; the documents' (tokens, mask) put together again where nothing was cut."""
    found = []
    for row in packed:
        n = len(row["tokens"])
        lengths = row["segments"] + [row["padding"]] * (row["padding"] > 0)
        at = [sum(lengths[:k]) for k in range(len(lengths) + 1)]
        assert at[-1] == n == len(row["loss_mask"]) and row["cu_seqlens"] == at, name
        assert row["position_ids"] == [i for length in lengths for i in range(length)], name
        numbers = list(range(len(row["segments"]))) + [-1] * (row["padding"] > 0)
        assert row["document_ids"] == [k for k, length in zip(numbers, lengths) for _ in range(length)], name
        assert row["loss_mask"][n - row["padding"]:] == [0] * row["padding"], name
        for begin, end in zip(at, at[1:len(row["segments"]) + 1]):
            found.append((row["tokens"][begin:end], row["loss_mask"][begin:end]))
    return found


concat = whole(rows("concat_mask"), "concat_mask")
same("concat_mask", [sum((t for t, _ in concat), []), sum((m for _, m in concat), [])], [flat, sum(masks, [])])
fit = whole(rows("packed_mask"), "packed_mask")
short = [(t, m) for t, m in zip(tokens, masks) if 0 < len(t) <= 4096]
assert len(short) > 20 and all(pair in fit for pair in short), "packed_mask: a short document was cut, or its mask is another's"
assert sum(len(t) for t, _ in fit) == len(flat)
print(f"packed_mask: {len(short)} whole documents with their masks")
