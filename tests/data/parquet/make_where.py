"""Writes where.parquet and lies.parquet of this folder; needs pyarrow 26. The same
arguments, the same bytes."""
import datetime
import random
import sys

import pyarrow as pa
import pyarrow.parquet as pq

folder = sys.argv[1]
rng = random.Random(15)

# Ten row groups of 40 rows: sorted numbers, and texts that occur in one row group each.
n = 400
rows = range(n)
pq.write_table(pa.table({
    "id": ["row-%d" % k for k in rows],
    "text": ["text %d %s" % (k, rng.randbytes(30).hex()) for k in rows],
    "number": pa.array([None if k % 40 == 7 else k for k in rows], pa.int32()),
    "host": ["%s.example" % ("abcdefghij"[(k // 40 * 7 + k % 4 * 3) % 10] * 3) for k in rows],
    "score": [float("nan") if k % 50 == 3 else -0.0 if k % 50 == 4 else k / 16 - 10 for k in rows],
    "day": [datetime.date(2024, 1, 1) + datetime.timedelta(days=k // 4) for k in rows],
    "code": pa.array([(k * 7919) % (1 << 32) for k in rows], pa.uint32()),
    "meta": [None if k % 9 == 0 else {"lang": ("en", "fr")[k // 200], "depth": k % 5} for k in rows],
    "tags": [["t%d" % (k // 40), "all"][: k % 3] for k in rows],
}), folder + "/where.parquet", row_group_size=40, compression="zstd", use_dictionary=False, data_page_size=512,
    bloom_filter_options={"host": {"ndv": 8, "fpp": 0.01}}, write_page_index=True)

# Statistics that lie: one that says 10 to 39 for rows of 0 to 29.
path = folder + "/lies.parquet"
pq.write_table(pa.table({"id": ["row-%d" % k for k in range(30)], "text": ["a text"] * 30, "number": pa.array(range(30), pa.int64())}), path,
               compression="none", use_dictionary=False)
with open(path, "rb") as file:
    data = bytearray(file.read())
low, high = (0).to_bytes(8, "little"), (29).to_bytes(8, "little")
footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
for old, new in ((high, (39).to_bytes(8, "little")), (low, (10).to_bytes(8, "little"))):
    at = footer
    while (at := data.find(b"\x08" + old, at)) >= 0:
        data[at + 1:at + 9] = new
        at += 9
with open(path, "wb") as file:
    file.write(data)
