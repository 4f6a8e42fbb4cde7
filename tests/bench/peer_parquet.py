"""Parquet by pyarrow and DuckDB on one thread, for read_parquet.sh and write_parquet.sh: prints the processor seconds behind what starting
takes.

    peer_parquet.py make LINES FILE     id and text of JSON Lines as a Parquet file
    peer_parquet.py text LINES FILE RAW text alone, and its bytes as they are
    peer_parquet.py read FILE...        all batches, looked at by nobody
    peer_parquet.py duckdb FILE...      the same by DuckDB, as Arrow batches
    peer_parquet.py write FILE OUT      the batches into a file, with write_parquet's options
"""
import json
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq

GROUP = 64 << 20


def batches(path):
    return pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True).iter_batches(batch_size=512, use_threads=False)


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


def duckdb_rows(paths):
    import duckdb

    connection = duckdb.connect(config={"threads": 1})
    reader = connection.sql("SELECT text FROM read_parquet(?)", params=[paths]).to_arrow_reader(2048)
    return sum(batch.num_rows for batch in reader)


def make(path, out_path, raw=None):
    out = None
    for table in groups(lines(path)):
        table = table.select(["text"]) if raw else table
        out = out or writer(out_path, table.schema)
        out.write_table(table, row_group_size=len(table))
        if raw:
            raw.writelines(batch.column("text").buffers()[2] or b"" for batch in table.to_batches())
    out.close()


def main():
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    what, path = sys.argv[1:3]
    if what == "make":
        make(path, sys.argv[3])
        return
    if what == "text":
        with open(sys.argv[4], "wb") as raw:
            make(path, sys.argv[3], raw)
        return
    if what == "duckdb":
        import duckdb  # noqa: F401 (not counted)
    start = time.process_time()
    if what == "read":
        n = sum(batch.num_rows for one in sys.argv[2:] for batch in batches(one))
    elif what == "duckdb":
        n = duckdb_rows(sys.argv[2:])
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
