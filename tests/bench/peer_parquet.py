"""Parquet by pyarrow on one thread, for write_parquet.sh: prints the processor seconds behind what starting takes.

    peer_parquet.py make LINES FILE     id and text of JSON Lines as a Parquet file
    peer_parquet.py read FILE           all batches, looked at by nobody
    peer_parquet.py write FILE OUT      the same into a file, with write_parquet's options
"""
import json
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq

GROUP = 64 << 20


def batches(path):
    return pq.ParquetFile(path, pre_buffer=False).iter_batches(batch_size=512, use_threads=False)


def groups(source):
    """Tables of about GROUP bytes."""
    held, size = [], 0
    for batch in source:
        held.append(batch)
        size += batch.nbytes
        if size >= GROUP:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)


def writer(path, schema):
    return pq.ParquetWriter(path, schema, compression="zstd", compression_level=3, use_dictionary=False, data_page_size=1 << 20,
                            write_page_index=True, write_page_checksum=True)


def lines(path):
    schema = pa.schema([("id", pa.string()), ("text", pa.string())])
    rows = []
    with open(path, encoding="utf-8") as text:
        for number, line in enumerate(text):
            row = json.loads(line)
            rows.append({"id": str(row.get("id", number)), "text": row.get("text")})
            if len(rows) == 1000:
                yield pa.RecordBatch.from_pylist(rows, schema)
                rows = []
    yield pa.RecordBatch.from_pylist(rows, schema)


def main():
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    what, path = sys.argv[1:3]
    if what == "make":
        out = None
        for table in groups(lines(path)):
            out = out or writer(sys.argv[3], table.schema)
            out.write_table(table, row_group_size=len(table))
        out.close()
        return
    start = time.process_time()
    if what == "read":
        n = sum(batch.num_rows for batch in batches(path))
    else:
        out = None
        n = 0
        for table in groups(batches(path)):
            out = out or writer(sys.argv[3], table.schema)
            out.write_table(table, row_group_size=len(table))
            n += table.num_rows
        out.close()
    print(n, time.process_time() - start)


main()
