"""What write_parquet, write_arrow and write_csv write, read by others: files of random schemas go through read_parquet, and pyarrow, DuckDB,
Polars, pandas and Hugging Face's datasets read the copies. Values must be those of the first file.

    parity_columnar.py SLUICE WORK [--files N]

A reader that has no type for a column's values is left out of that column (APART says why).
"""
import argparse
import csv
import datetime
import json
import math
import os
import random
import subprocess
import sys

import duckdb
import pandas
import polars
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from parity_parquet import make

SCRIPT = """local s = require "sluice"
local docs = s.files { %s, split = "64KiB" } | s.read_parquet { text = "no text", id = "no id", missing = "allow", columns = { %s } }
return s.pipeline { "p",
  docs | s.write_parquet { "parquet", columns = { %s }, row_group = "%s", page = "%s", bloom = { %s } },
  docs | s.write_arrow { "arrow", columns = { %s }, compression = "%s" },
  docs | s.write_csv { "csv", columns = { %s }, null = "\\\\N" } }
"""


def own(kind, outside=True):
    """The type that read_parquet gives by itself; None: only as JSON."""
    if pa.types.is_dictionary(kind):
        return own(kind.value_type, outside)
    if pa.types.is_large_string(kind) or pa.types.is_string(kind):
        return "utf8"
    if pa.types.is_boolean(kind):
        return "bool"
    if pa.types.is_integer(kind):
        return str(kind)
    if pa.types.is_float32(kind):
        return "float32"
    if pa.types.is_float64(kind):
        return "float64"
    if pa.types.is_float16(kind):
        return "float32" if outside else None
    if pa.types.is_list(kind):
        item = own(kind.value_type, False)
        return item and "list<%s?>" % item
    if pa.types.is_struct(kind):
        inner = [own(f.type, False) for f in kind]
        return None if None in inner else "struct<%s>" % ",".join("%s:%s?" % (f.name, i) for f, i in zip(kind, inner))
    if pa.types.is_map(kind):
        item = own(kind.item_type, False)
        return item and "list<struct<key:utf8,value:%s?>>" % item
    return "utf8" if outside else None


def inside(kind, test):
    return test(kind) or any(inside(kind.field(k).type, test) for k in range(kind.num_fields))


# Reader to what it has no exact type for.
APART = {
    "duckdb": lambda t: pa.types.is_decimal256(t) or (pa.types.is_timestamp(t) and t.tz),
    "polars": lambda t: pa.types.is_decimal256(t) or pa.types.is_map(t),
    "pandas": lambda t: pa.types.is_decimal256(t),
}


def plain(value):
    """Values of different readers in one form."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.timezone.utc)
    return value


def values(column):
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        # Numbers: Python's dates end at microseconds, and at the year 9999.
        unit = {"s": 10 ** 9, "ms": 10 ** 6, "us": 1000, "ns": 1}[kind.unit]
        whole = column.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64()).to_pylist()
        return [None if v is None else v * unit for v in whole]
    return [plain(v) for v in column.to_pylist()]


def run(sluice, folder, path, columns, rng):
    os.makedirs(folder)
    names = ", ".join('"%s"' % n for n in columns)
    wanted = ", ".join('["%s"] = "%s"' % (n, t) for n, t in columns.items())
    flat = [n for n, t in columns.items() if t in ("utf8", "int64", "uint32", "float64")]
    with open(os.path.join(folder, "p.lua"), "w", encoding="utf-8") as out:
        out.write(SCRIPT % (json.dumps(path), wanted, names, rng.choice(["1KB", "20KB", "64MiB"]), rng.choice(["100", "4KB", "1MiB"]),
                            ", ".join('"%s"' % n for n in flat[:2]), names, rng.choice(["zstd", "lz4", "none"]), names))
    done = subprocess.run([sluice, "run", "p.lua", "--quiet", "--run-dir", "run"], cwd=folder, capture_output=True)
    return None if done.returncode == 0 else "ended with %d: %s" % (done.returncode, done.stderr.decode("utf-8", "replace"))


def files(folder, kind):
    latest = os.path.join(folder, kind, "latest")
    return [os.path.join(latest, n) for n in sorted(os.listdir(latest))] if os.path.isdir(latest) else []


def read_by(reader, parquet, arrow, names):
    """The named columns as that reader gives them."""
    if reader == "pyarrow":
        return pa.concat_tables(pq.read_table(p, page_checksum_verification=True) for p in parquet)
    if reader == "arrow":
        return pa.concat_tables(ipc.open_file(p).read_all() for p in arrow)
    if reader == "duckdb":
        return duckdb.connect().read_parquet(parquet).to_arrow_table()
    if reader == "polars":
        return polars.concat(polars.read_parquet(p, columns=names) for p in parquet).to_arrow()
    if reader == "polars arrow":
        return polars.concat(polars.read_ipc(p, columns=names) for p in arrow).to_arrow()
    tables = [pandas.read_parquet(p, columns=names, dtype_backend="pyarrow") for p in parquet]
    return pa.Table.from_pandas(pandas.concat(tables), preserve_index=False)


def compare_with(reader, folder, table, columns):
    names = [n for n in columns if not inside(table.column(n).type, APART.get(reader.split()[0], lambda t: False))]
    if not names:
        return None
    found = read_by(reader, files(folder, "parquet"), files(folder, "arrow"), names)
    if found.num_rows != table.num_rows:
        return "%s: %d rows, expected %d" % (reader, found.num_rows, table.num_rows)
    for name in names:
        kind = table.column(name).type
        if values(found.column(name)) != values(table.column(name)):
            return "%s: column '%s' (%s, read as %s) has other values" % (reader, name, kind, found.column(name).type)
        # Dictionaries and large texts are a matter of memory, and Parquet has no seconds.
        exact = kind.value_type if pa.types.is_dictionary(kind) else kind
        loose = pa.types.is_large_string(exact) or pa.types.is_nested(exact) or (pa.types.is_timestamp(exact) and exact.unit == "s")
        if reader in ("pyarrow", "arrow") and not loose and not exact.equals(found.column(name).type):
            return "%s: column '%s' is %s, was %s" % (reader, name, found.column(name).type, exact)
    return None


def compare_csv(folder, table, columns):
    rows = []
    for path in files(folder, "csv"):
        with open(path, encoding="utf-8", newline="") as lines:
            rows += list(csv.reader(lines))[1:]
    for k, (name, kind) in enumerate(columns.items()):
        if kind == "utf8" and pa.types.is_string(table.column(name).type):
            want = ["\\N" if v is None else v for v in table.column(name).to_pylist()]
            if [row[k] for row in rows] != want:
                return "csv: column '%s' has other values" % name
    return None if len(rows) == table.num_rows else "csv: %d rows, expected %d" % (len(rows), table.num_rows)


def compare(sluice, folder, path, rng):
    try:
        table = pq.ParquetFile(path).read()
    except pa.ArrowInvalid as error:
        raise LookupError("pyarrow: " + str(error)[:80]) from error
    columns = {f.name: own(f.type) for f in table.schema if own(f.type)}
    if not columns:
        raise LookupError("no column that is given as it is")
    wrong = run(sluice, folder, path, columns, rng)
    if wrong:
        return wrong
    if table.num_rows == 0:
        return None if not files(folder, "parquet") else "files without rows"
    for reader in ("pyarrow", "arrow", "duckdb", "polars", "polars arrow", "pandas"):
        wrong = compare_with(reader, folder, table, columns)
        if wrong:
            return wrong
    return compare_csv(folder, table, columns)


HUB = """local s = require "sluice"
return s.pipeline { "hub", s.files { "made*.parquet", split = "64KiB" } | s.read_parquet { columns = { n = "int64" } } |
  s.rename_columns { names = { n = "number" } } | s.write_parquet { "hub", layout = "hf" } }
"""


def hub(sluice, work):
    """The layout of the hub, as load_dataset reads a folder. None: it does."""
    import datasets
    folder = os.path.join(work, "hub.run")
    os.makedirs(folder)
    for k in range(3):
        pq.write_table(pa.table({"id": ["%d-%d" % (k, i) for i in range(100)], "text": ["text %d" % i for i in range(100)],
                                 "n": list(range(100))}), os.path.join(folder, "made%d.parquet" % k))
    with open(os.path.join(folder, "p.lua"), "w", encoding="utf-8") as out:
        out.write(HUB)
    done = subprocess.run([sluice, "run", "p.lua", "--quiet"], cwd=folder, capture_output=True)
    if done.returncode != 0:
        return done.stderr.decode("utf-8", "replace")
    latest = os.path.realpath(os.path.join(folder, "hub", "latest"))
    found = datasets.load_dataset(latest, cache_dir=os.path.join(work, "cache"))
    if sorted(found) != ["train"] or found["train"].num_rows != 300 or sorted(found["train"].column_names) != ["id", "number", "text"]:
        return "load_dataset gives %s" % found
    if sum(found["train"]["number"]) != 3 * 4950:
        return "load_dataset gives other numbers"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sluice")
    parser.add_argument("work")
    parser.add_argument("--files", type=int, default=200)
    args = parser.parse_args()
    faults = equal = 0
    apart = []
    for k in range(args.files):
        path = os.path.join(args.work, "made%d.parquet" % k)
        make(random.Random(k), path)
        try:
            wrong = compare(args.sluice, os.path.join(args.work, "run%d" % k), path, random.Random(k))
        except LookupError as error:
            apart.append("made%d: %s" % (k, error))
            continue
        faults += wrong is not None
        equal += wrong is None
        if wrong:
            print("FAIL: made%d: %s" % (k, wrong))
    print("%d schemas equal, %d differ, %d apart" % (equal, faults, len(apart)))
    wrong = hub(args.sluice, args.work)
    print("the hub's layout: " + (wrong or "as load_dataset wants it"))
    return 1 if wrong or faults or len(apart) > args.files // 4 else 0


if __name__ == "__main__":
    sys.exit(main())
