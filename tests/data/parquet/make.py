"""Writes the files of this folder; needs pyarrow 26. The same arguments, the same bytes."""
import datetime
import decimal
import random
import sys

import pyarrow as pa
import pyarrow.parquet as pq

folder = sys.argv[1]
rng = random.Random(14)
words = "the tide rises and falls twice a day over sand \u00e9t\u00e9 \u6d77 \U0001f30a".split()


def docs(n, first):
    text = [None if k % 11 == 3 else " ".join(rng.choice(words) for _ in range(5 + k % 20)) for k in range(first, first + n)]
    return pa.table({
        "id": ["doc-%d" % k for k in range(first, first + n)],
        "text": text,
        "n_words": pa.array([0 if t is None else len(t.split()) for t in text], pa.int32()),
        "score": [None if k % 7 == 0 else k / 8 for k in range(first, first + n)],
        "big": pa.array([(1 << 63) + k if k % 100 == 50 else k for k in range(first, first + n)], pa.uint64()),
        "good": [k % 3 == 0 for k in range(first, first + n)],
        "lang": pa.array([None if k % 13 == 0 else ("en", "fr", "zh")[k % 3] for k in range(first, first + n)]).dictionary_encode(),
        "day": [datetime.date(1969, 12, 31) + datetime.timedelta(days=k) for k in range(first, first + n)],
        "at": pa.array([k * 1000001 - 5 for k in range(first, first + n)], pa.timestamp("us", "UTC")),
        "price": [decimal.Decimal(k - 100).scaleb(-2) for k in range(first, first + n)],
        "tags": [[("a", "b\u00e9", "c")[i] for i in range(k % 4 % 3)] for k in range(first, first + n)],
        "messages": [[{"role": "user", "content": "say %d" % k}, {"role": "assistant", "content": None}][:k % 3] for k in range(first, first + n)],
        "_private": list(range(first, first + n)),
    })


table = docs(300, 0)
pq.write_table(table, folder + "/docs.parquet", row_group_size=50, compression="zstd", write_page_checksum=True, write_page_index=True)
more = docs(40, 1000)
pq.write_table(more.drop_columns(["score", "big"]), folder + "/lacks.parquet", compression="snappy")
plain = more.select(["id", "text", "n_words"])
pq.write_table(plain, folder + "/plain.parquet", compression="none")
pq.write_table(plain.append_column("late", pa.array(range(40))), folder + "/late.parquet", compression="none")
pq.write_table(more.set_column(2, "n_words", pa.array(["x"] * 40)), folder + "/other.parquet", compression="gzip")

# Strings that are not UTF-8, which no writer checks: in plain values, a dictionary and a list.
rows = [b"fine", b"\xff\xfe", b"also fine \xc3\xa9", b"cut \xc3", b"", b"end"] * 10
raw = pa.array(rows, pa.binary())
bad = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
lists = pa.ListArray.from_arrays(pa.array(range(0, 61, 2)), bad)
for name, dictionary in (("bad_plain", False), ("bad_dictionary", True)):
    pq.write_table(pa.table({"id": pa.array(range(60)), "text": bad}), folder + "/%s.parquet" % name, use_dictionary=dictionary,
                   compression="none", row_group_size=25, data_page_size=64, write_statistics=False)
pq.write_table(pa.table({"text": ["t"] * 30, "parts": lists}), folder + "/bad_list.parquet", use_dictionary=False, compression="none",
               write_statistics=False)
pq.write_table(table.slice(0, 0), folder + "/empty.parquet")
# Texts that are read page by page: the same ones twice, in pages of another kind.
long = [None if k % 17 == 5 else "".join(rng.choice("0123456789abcdef\u00e9") for _ in range(300)) for k in range(800)]
for name, version in (("pages", "1.0"), ("pages2", "2.0")):
    pq.write_table(pa.table({"text": long, "url": long, "n": pa.array(range(800))}), folder + "/%s.parquet" % name, row_group_size=790,
                   compression={"text": "zstd", "url": "none", "n": "none"}, data_page_size=4096, data_page_version=version,
                   use_dictionary=["text"], dictionary_pagesize_limit=20000, write_statistics=False, write_page_checksum=True)
