"""Writes the files of this folder; needs pyarrow 26. The same arguments, the same bytes."""
import datetime
import decimal
import random
import sys

import pyarrow as pa
import pyarrow.ipc as ipc

folder = sys.argv[1]
rng = random.Random(14)
words = "the tide rises and falls twice a day over sand \u00e9t\u00e9 \u6d77 \U0001f30a".split()


def docs(n):
    text = [None if k % 11 == 3 else " ".join(rng.choice(words) for _ in range(5 + k % 20)) for k in range(n)]
    messages = [[{"role": "user", "content": "say %d" % k}, {"role": "assistant", "content": None}][:k % 3] for k in range(n)]
    return pa.table({
        "id": ["doc-%d" % k for k in range(n)],
        "text": pa.array(text, pa.large_string()),
        "n_words": pa.array([0 if t is None else len(t.split()) for t in text], pa.int32()),
        "lang": pa.array([None if k % 13 == 0 else ("en", "fr", "zh")[k % 3] for k in range(n)]).dictionary_encode(),
        "url": pa.array(["https://example.org/%d" % k for k in range(n)], pa.string_view()),
        "at": pa.array([k * 1000001 - 5 for k in range(n)], pa.timestamp("us", "UTC")),
        "day": pa.array([datetime.date(1969, 12, 31) + datetime.timedelta(days=k) for k in range(n)], pa.date64()),
        "price": pa.array([decimal.Decimal(k - 100).scaleb(-2) for k in range(n)], pa.decimal64(9, 2)),
        "tags": pa.array([[("a", "b\u00e9", "c")[i] for i in range(k % 4 % 3)] for k in range(n)], pa.large_list(pa.string())),
        "messages": messages,
        "none": pa.nulls(n),
    })


def write(name, table, rows, codec=None, stream=False):
    make = ipc.new_stream if stream else ipc.new_file
    with make(folder + "/" + name, table.schema, options=ipc.IpcWriteOptions(compression=codec)) as out:
        out.write_table(table, max_chunksize=rows)


table = docs(300)
write("docs.arrow", table, 50)
write("docs.feather", table, 50, "lz4")
write("docs.arrows", table, 50, "zstd", True)
plain = table.select(["id", "text"])
write("lacks.arrow", plain.slice(0, 40), 40)
write("empty.arrow", table.slice(0, 0), 50)

# Strings that are not UTF-8, which no writer checks.
rows = [b"fine", b"\xff\xfe", b"also fine \xc3\xa9", b"cut \xc3", b"", b"end"] * 10
raw = pa.array(rows, pa.binary())
bad = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
write("bad_text.arrow", pa.table({"id": pa.array(range(60)), "text": bad}), 25)
with open(folder + "/version1.feather", "wb") as out:
    out.write(b"FEA1" + bytes(60) + b"FEA1")
