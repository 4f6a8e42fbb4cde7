"""What read_parquet gives against pyarrow's values, row by row: files of random schemas, and a
corpus of files of many writers where one is at hand. Files of which no column can be written as
JSON are counted apart.

    parity_parquet.py SLUICE WORK [--files N] [--data FOLDER]
"""
import argparse
import datetime
import decimal
import json
import os
import random
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq

BEYOND = object()  # a year that Python has no date for: not compared
DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def clock(value, unit):
    second, rest = divmod(value, 10 ** DIGITS[unit])
    text = "%02d:%02d:%02d" % (second // 3600, second // 60 % 60, second % 60)
    return text + (".%0*d" % (DIGITS[unit], rest) if rest else "")


def stamp(value, kind):
    day, rest = divmod(value, 86400 * 10 ** DIGITS[kind.unit])
    try:
        date = (datetime.date(1970, 1, 1) + datetime.timedelta(days=day)).isoformat()
    except OverflowError:
        return BEYOND
    return date + "T" + clock(rest, kind.unit) + ("Z" if kind.tz else "")


def is_list(kind):
    return (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
            or pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


def is_text(kind):
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def plain(value, kind):
    """A value as the JSON that it should become."""
    if value is None:
        return None
    if is_list(kind):
        return [plain(v, kind.value_type) for v in value]
    if pa.types.is_map(kind):
        return [{"key": plain(k, kind.key_type), "value": plain(v, kind.item_type)} for k, v in value]
    if pa.types.is_struct(kind):
        return {f.name: plain(value[f.name], f.type) for f in kind}
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return plain(value, kind.value_type)
    if pa.types.is_date(kind):
        return value.isoformat()
    if pa.types.is_decimal(kind):
        return format(value, "f") if isinstance(value, decimal.Decimal) else value
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        return float(value)
    return value


def expected(column):
    kind = column.type
    if pa.types.is_timestamp(kind):
        return [None if v is None else stamp(v, kind) for v in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_time(kind):
        whole = column.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64())
        return [None if v is None else clock(v, kind.unit) for v in whole.to_pylist()]
    return [plain(v, kind) for v in column.to_pylist()]


def declared(kind, top=True):
    """The type to ask for, or None: not compared."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return declared(kind.value_type, top)
    if pa.types.is_nested(kind):
        if not top:
            inner = [kind.field(k).type for k in range(kind.num_fields)]
            return "json" if all(declared(t, False) for t in inner) else None
        inner = [kind.field(k).type for k in range(kind.num_fields)]
        return "json" if all(declared(t, False) for t in inner) else None
    if pa.types.is_boolean(kind):
        return "bool"
    if pa.types.is_integer(kind):
        return str(kind)
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        return "float32"
    if pa.types.is_float64(kind):
        return "float64"
    if is_text(kind) or pa.types.is_date(kind):
        return "utf8"
    if top and (pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_decimal(kind)):
        return "utf8"
    return None


def same(a, b):
    if b is BEYOND:
        return isinstance(a, str)
    if isinstance(a, float) or isinstance(b, float):
        if a is None or b is None:
            return a is b or (a if b is None else b) != (a if b is None else b)
        return a == b or abs(a - b) <= 1e-6 * abs(b) or (a != a and b != b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return a == b


SCRIPT = """local s = require "sluice"
return s.pipeline { "p", max_bad = "100%%", s.files { %s, split = "64KiB" } |
  s.%s { text = "no text", id = "no id", missing = "allow", columns = { %s } } |
  s.write_jsonl { "out", compression = "none" } }
"""


def quoted(text):
    return '"' + "".join("\\%d" % b if b < 48 else chr(b) for b in text.encode("latin-1", "replace")) + '"'


def run(sluice, folder, path, columns, reader="read_parquet"):
    os.makedirs(folder)
    with open(os.path.join(folder, "p.lua"), "w", encoding="utf-8") as out:
        wanted = ", ".join('["%s"] = "%s"' % (n, t) for n, t in columns.items())
        out.write(SCRIPT % (json.dumps(path), reader, wanted))
    done = subprocess.run([sluice, "run", "p.lua", "--quiet", "--run-dir", "run"], cwd=folder, capture_output=True)
    if done.returncode != 0:
        return done.returncode, done.stderr.decode("utf-8", "replace")
    rows = []
    latest = os.path.join(folder, "out", "latest")
    for name in sorted(os.listdir(latest)) if os.path.isdir(latest) else []:
        with open(os.path.join(latest, name), encoding="utf-8") as lines:
            rows += [json.loads(line) for line in lines]
    return 0, rows


def compare(sluice, folder, path, reader="read_parquet", load=lambda path: pq.ParquetFile(path).read()):
    """None: equal; else what is wrong. Raises LookupError where nothing can be compared."""
    try:
        table = load(path)
    except Exception as error:
        table = None
        why = error
    names = [] if table is None else [f.name for f in table.schema]
    columns = {f.name: declared(f.type) for f in ([] if table is None else table.schema)
               if not f.name.startswith("_") and f.name not in ("id", "text") and names.count(f.name) == 1
               and '"' not in f.name and "\\" not in f.name and "\n" not in f.name and f.name}
    columns = {n: t for n, t in columns.items() if t}
    if table is None:
        status, said = run(sluice, folder, path, {"x": "utf8"}, reader)
        if status not in (0, 2, 4):
            return "ended with %s: %s" % (status, said)
        raise LookupError("pyarrow: " + str(why)[:80])
    if not columns:
        raise LookupError("no column that JSON holds")
    status, rows = run(sluice, folder, path, columns, reader)
    if status != 0:
        if status in (2, 4) and "sluice:" in rows:
            raise LookupError("refused: " + rows.strip()[-120:])
        return "ended with %s: %s" % (status, rows)
    if len(rows) != table.num_rows:
        return "%d rows, expected %d" % (len(rows), table.num_rows)
    for name in columns:
        want = expected(table.column(name))
        for k, row in enumerate(rows):
            # A null member is left out of a record.
            if not same(row.get(name), want[k]):
                return "row %d of '%s': %r, expected %r" % (k, name, row.get(name), want[k])
    return None


def value(rng, kind, nulls):
    if nulls and rng.random() < nulls:
        return None
    if pa.types.is_fixed_size_list(kind):
        return [value(rng, kind.value_type, nulls) for _ in range(kind.list_size)]
    if is_list(kind):
        return [value(rng, kind.value_type, nulls) for _ in range(rng.choice([0, 0, 1, 2, 5]))]
    if pa.types.is_map(kind):
        return [("k%d" % k, value(rng, kind.item_type, nulls)) for k in range(rng.choice([0, 1, 3]))]
    if pa.types.is_struct(kind):
        return {f.name: value(rng, f.type, nulls) for f in kind}
    if pa.types.is_boolean(kind):
        return rng.random() < 0.5
    if pa.types.is_integer(kind):
        least = 0 if pa.types.is_unsigned_integer(kind) else -(1 << (kind.bit_width - 1))
        most = (1 << (kind.bit_width - (0 if least == 0 else 1))) - 1
        return rng.choice([least, most, 0, rng.randint(least, most), rng.randint(0, 100)])
    if pa.types.is_floating(kind):
        return rng.choice([0.0, 1.5, -0.25, float(rng.randint(-1000, 1000))])
    if pa.types.is_date(kind):
        return datetime.date(1, 1, 1) + datetime.timedelta(days=rng.randrange(3650000))
    if pa.types.is_timestamp(kind):
        most = min(10 ** 10 * 10 ** DIGITS[kind.unit], 9 * 10 ** 18)
        return rng.randint(-most, most)
    if pa.types.is_time(kind):
        return rng.randrange(86400 * 10 ** DIGITS[kind.unit])
    if pa.types.is_decimal(kind):
        return decimal.Decimal(rng.randint(-10 ** 9, 10 ** 9)).scaleb(-kind.scale)
    letters = "abc \u00e9\u4e2d\U0001f600\"\\\n\t\x01"
    return "".join(rng.choice(letters) for _ in range(rng.choice([0, 1, 5, 40, 400, 400])))


LEAVES = [pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
          pa.float16(), pa.float32(), pa.float64(), pa.string(), pa.string(), pa.large_string(), pa.date32()]
TOPS = [pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.time32("ms"), pa.time64("us"),
        pa.decimal128(12, 3), pa.decimal256(40, 5), pa.dictionary(pa.int32(), pa.string())]


def kind_of(rng, depth):
    pick = rng.random()
    if depth < 3 and pick < 0.2:
        return pa.list_(kind_of(rng, depth + 1))
    if depth < 3 and pick < 0.35:
        return pa.struct([("m%d" % k, kind_of(rng, depth + 1)) for k in range(rng.randint(1, 3))])
    if depth < 3 and pick < 0.4:
        return pa.map_(pa.string(), kind_of(rng, depth + 1))
    return rng.choice(LEAVES + TOPS) if depth == 0 else rng.choice(LEAVES)


def make(rng, path):
    rows = rng.choice([0, 1, 10, 300, 2000])
    fields, columns = [], []
    for k in range(rng.randint(1, 6)):
        kind = kind_of(rng, 0)
        nulls = rng.choice([0, 0.1, 0.9])
        flat = kind.value_type if pa.types.is_dictionary(kind) else kind
        whole = [value(rng, flat, nulls) for _ in range(rows)]
        if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
            column = pa.array(whole, pa.int32() if pa.types.is_time32(kind) else pa.int64()).cast(kind)
        else:
            column = pa.array(whole, flat)
        fields.append(pa.field("c%d" % k, kind))
        columns.append(column.cast(kind) if flat != kind else column)
    table = pa.Table.from_arrays(columns, schema=pa.schema(fields))
    pq.write_table(table, path, compression=rng.choice(["none", "snappy", "gzip", "zstd", "lz4", "brotli"]),
                   use_dictionary=rng.random() < 0.5, row_group_size=rng.choice([1, 7, 100, 100000]) if rows < 500 else 700,
                   data_page_size=rng.choice([64, 1 << 12, 1 << 20]), data_page_version=rng.choice(["1.0", "2.0"]),
                   store_schema=rng.random() < 0.5, write_page_checksum=rng.random() < 0.5,
                   write_page_index=rng.random() < 0.5)


def projection(sluice, work):
    """One column of 50: what is read is its chunks and the end of the file. None: it is."""
    rng = random.Random(1)
    path = os.path.join(work, "wide.parquet")
    columns = {"c%d" % k: [rng.randbytes(50).hex() for _ in range(4000)] for k in range(50)}
    pq.write_table(pa.table(columns), path, compression="none", use_dictionary=False, row_group_size=500)
    meta = pq.read_metadata(path)
    ideal = meta.serialized_size + sum(
        meta.row_group(g).column(7).total_compressed_size for g in range(meta.num_row_groups))
    status, rows = run(sluice, os.path.join(work, "wide"), path, {"c7": "utf8"})
    if status != 0 or [r["c7"] for r in rows] != columns["c7"]:
        return "the column's values are other ones"
    with open(os.path.join(work, "wide", "run", "last.json"), encoding="utf-8") as report:
        read = json.load(report)["input"]["read_bytes"]
    print("1 of 50 columns: %d bytes read, %d are needed, the file has %d" % (read, ideal, os.path.getsize(path)))
    return None if read <= 1.2 * ideal else "too many bytes are read"


def compare_all(sluice, work, paths, **how):
    """Compares files, says what differs; the numbers of files that do, that are equal, and why others are apart."""
    faults = equal = 0
    apart = {}
    for k, path in enumerate(paths):
        try:
            wrong = compare(sluice, os.path.join(work, "run%d" % k), path, **how)
        except LookupError as error:
            apart[os.path.basename(path)] = str(error)
            continue
        if wrong:
            faults += 1
            print("FAIL: %s: %s" % (os.path.basename(path), wrong))
        else:
            equal += 1
    for name, why in apart.items():
        print("apart: %s: %s" % (name, why))
    print("%d files equal, %d differ, %d apart" % (equal, faults, len(apart)))
    return faults, equal, apart


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sluice")
    parser.add_argument("work")
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--data")
    args = parser.parse_args()
    paths = []
    for k in range(args.files):
        paths.append(os.path.join(args.work, "made%d.parquet" % k))
        make(random.Random(k), paths[-1])
    if args.data:
        for root, _, names in sorted(os.walk(args.data)):
            paths += [os.path.join(root, n) for n in sorted(names) if n.endswith((".parquet", ".parquet.encrypted"))]
    faults, _, apart = compare_all(args.sluice, args.work, paths)
    made = [n for n in apart if n.startswith("made")]
    wrong = projection(args.sluice, args.work)
    if wrong:
        print("FAIL: " + wrong)
    return 1 if wrong or faults or len(made) > args.files // 5 else 0


if __name__ == "__main__":
    sys.exit(main())
