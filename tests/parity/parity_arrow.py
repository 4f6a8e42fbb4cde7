"""What read_arrow gives against pyarrow's values, row by row: files, streams and Feather files of
random schemas, with the types that Arrow has and Parquet has not.

    parity_arrow.py SLUICE WORK [--files N]
"""
import argparse
import os
import random
import sys

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc

from parity_parquet import LEAVES, TOPS, compare_all, value

LEAVES = LEAVES + [pa.string_view(), pa.date64()]
TOPS = TOPS + [pa.decimal32(7, 2), pa.decimal64(15, 3), pa.timestamp("s", "Europe/Berlin"), pa.time32("s"), pa.time64("ns")]


def kind_of(rng, depth):
    pick = rng.random()
    if depth < 3 and pick < 0.25:
        inner = kind_of(rng, depth + 1)
        return rng.choice([pa.list_, pa.large_list, lambda t: pa.list_(t, 3), pa.list_view, pa.large_list_view])(inner)
    if depth < 3 and pick < 0.35:
        return pa.struct([("m%d" % k, kind_of(rng, depth + 1)) for k in range(rng.randint(1, 3))])
    if depth < 3 and pick < 0.4:
        return pa.map_(pa.string(), kind_of(rng, depth + 1))
    return rng.choice(LEAVES + TOPS) if depth == 0 else rng.choice(LEAVES)


def column_of(rng, kind, rows, nulls):
    whole = [value(rng, kind, nulls) for _ in range(rows)]
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return pa.array(whole, pa.int32() if pa.types.is_time32(kind) else pa.int64()).cast(kind)
    if pa.types.is_dictionary(kind):
        column = pa.array([value(rng, kind.value_type, nulls) for _ in range(rows)], kind.value_type)
        return column.dictionary_encode()
    return pa.array(whole, kind)


def make(rng, path):
    """A file of one of the three kinds; its name says which."""
    rows = rng.choice([0, 1, 10, 300, 2000])
    columns = {}
    for k in range(rng.randint(1, 6)):
        kind = kind_of(rng, 0)
        column = column_of(rng, kind, rows, rng.choice([0, 0.1, 0.9]))
        if rng.random() < 0.1 and pa.types.is_string(kind):
            column = pa.RunEndEncodedArray.from_arrays(
                pa.array(range(1, rows + 1), rng.choice([pa.int32(), pa.int64()])), column) if rows else column
        columns["c%d" % k] = column
    table = pa.table(columns)
    codec = rng.choice([None, "lz4", "zstd"])
    if path.endswith(".feather"):
        feather.write_feather(table, path, compression=codec or "uncompressed", chunksize=rng.choice([7, 100, 100000]) if rows < 500 else 700)
        return
    options = ipc.IpcWriteOptions(compression=codec, unify_dictionaries=path.endswith(".arrow"),
                                  emit_dictionary_deltas=rng.random() < 0.5)
    writer = (ipc.new_file if path.endswith(".arrow") else ipc.new_stream)(path, table.schema, options=options)
    with writer:
        at = 0
        while at < rows:
            n = rng.randint(1, 700)
            writer.write_table(table.slice(at, n))
            at += n


def load(path):
    if path.endswith(".arrows"):
        return ipc.open_stream(pa.memory_map(path)).read_all()
    return ipc.open_file(pa.memory_map(path)).read_all()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sluice")
    parser.add_argument("work")
    parser.add_argument("--files", type=int, default=200)
    args = parser.parse_args()
    paths = []
    for k in range(args.files):
        path = os.path.join(args.work, "made%d%s" % (k, (".arrow", ".arrows", ".feather")[k % 3]))
        try:
            make(random.Random(k), path)
            load(path)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
            print("not made: %s: %s" % (path, str(error)[:100]))  # pyarrow can't write it, or not read it again
            continue
        paths.append(path)
    faults, equal, apart = compare_all(args.sluice, args.work, paths, reader="read_arrow", load=load)
    return 1 if faults or equal < args.files * 3 // 4 or len(apart) > args.files // 5 else 0


if __name__ == "__main__":
    sys.exit(main())
