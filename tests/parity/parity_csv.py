"""What read_csv gives against Python's csv, pyarrow and DuckDB: well-formed files of random tables,
and random text of delimiters, quotes and line ends, which the tolerant mode takes as csv does.

    parity_csv.py SLUICE WORK [--files N]
"""
import argparse
import csv
import gzip
import io
import json
import os
import random
import subprocess
import sys

import pyarrow as pa
import pyarrow.csv as pacsv

try:
    import duckdb
except ImportError:
    duckdb = None

SCRIPT = """local s = require "sluice"
return s.pipeline { "p", max_bad = "100%%", s.files { %s, split = "64KiB" } |
  s.read_csv { text = "no text", id = "no id", missing = "allow", mode = "%s", header = %s, columns = { %s } } |
  s.write_jsonl { "out", compression = "none" } }
"""


def run(sluice, folder, path, columns, mode="strict", header=True):
    """The rows, and how many records were quarantined."""
    os.makedirs(folder)
    with open(os.path.join(folder, "p.lua"), "w", encoding="utf-8") as out:
        wanted = ", ".join('["%s"] = "%s"' % (n, t) for n, t in columns.items())
        out.write(SCRIPT % (json.dumps(path), mode, "true" if header else "false", wanted))
    done = subprocess.run([sluice, "run", "p.lua", "--quiet", "--run-dir", "run"], cwd=folder, capture_output=True)
    if done.returncode != 0:
        raise ValueError("ended with %d: %s" % (done.returncode, done.stderr.decode("utf-8", "replace")[-300:]))
    rows = []
    latest = os.path.join(folder, "out", "latest")
    for name in sorted(os.listdir(latest)) if os.path.isdir(latest) else []:
        with open(os.path.join(latest, name), encoding="utf-8", newline="\n") as lines:
            rows += [json.loads(line) for line in lines]
    with open(os.path.join(folder, "run", "last.json"), encoding="utf-8") as report:
        return rows, json.load(report)["quarantined"]


LETTERS = "abc \u00e9\u4e2d\U0001f600,;\"\n\t'"


def make(rng, path):
    """A well-formed file: names, types, rows."""
    kinds = [rng.choice(["utf8", "utf8", "int64", "float64", "bool"]) for _ in range(rng.randint(1, 6))]
    # A row that is nothing but a null would be a blank line.
    kinds[0] = "int64" if len(kinds) == 1 else kinds[0]
    rows = []
    for _ in range(rng.choice([1, 5, 300, 3000])):
        row = []
        for k, kind in enumerate(kinds):
            if k > 0 and rng.random() < 0.1:
                row.append(None)
            elif kind == "utf8":
                row.append("x" + "".join(rng.choice(LETTERS) for _ in range(rng.choice([0, 1, 5, 40, 400]))))
            elif kind == "int64":
                row.append(rng.choice([0, -1, 2 ** 63 - 1, -2 ** 63, rng.randint(-10 ** 6, 10 ** 6)]))
            elif kind == "float64":
                row.append(rng.choice([0.0, 1.5, -0.25, 1e300, 1e-7, rng.random()]))
            else:
                row.append(rng.random() < 0.5)
        rows.append(row)
    names = ["c%d" % k for k in range(len(kinds))]
    text = io.StringIO(newline="")
    tab = path.endswith(".tsv")
    writer = csv.writer(text, delimiter="\t" if tab else ",", lineterminator=rng.choice(["\n", "\r\n"]))
    writer.writerow(names)
    writer.writerows([["true" if v is True else "false" if v is False else v for v in row] for row in rows])
    whole = text.getvalue().encode()
    if rng.random() < 0.2:
        whole = b"\xef\xbb\xbf" + whole
    if path.endswith(".gz"):
        whole = gzip.compress(whole)
    with open(path, "wb") as out:
        out.write(whole)
    return names, kinds, rows


def same(a, b):
    return a == b if not isinstance(b, float) else a is not None and float(a) == b


def compare(sluice, folder, rng, path):
    names, kinds, rows = make(rng, path)
    declared = rng.random() < 0.5
    got, bad = run(sluice, folder, path, dict(zip(names, kinds)) if declared else {})
    if bad or len(got) != len(rows):
        return "%d rows and %d bad ones, expected %d" % (len(got), bad, len(rows))
    for k, row in enumerate(rows):
        for name, value in zip(names, row):
            if not same(got[k].get(name), value):
                return "row %d, %s: %r, expected %r" % (k, name, got[k].get(name), value)
    # Two other readers of the same file say the same.
    types = {"utf8": pa.string(), "int64": pa.int64(), "float64": pa.float64(), "bool": pa.bool_()}
    table = pacsv.read_csv(path, parse_options=pacsv.ParseOptions(newlines_in_values=True, delimiter="\t" if path.endswith(".tsv") else ","),
                           convert_options=pacsv.ConvertOptions(column_types={n: types[t] for n, t in zip(names, kinds)},
                                                                strings_can_be_null=True, quoted_strings_can_be_null=False))
    columns = [c.to_pylist() for c in table.columns]
    if any(not same(got[k].get(n), columns[i][k]) for i, n in enumerate(names) for k in range(len(rows))):
        return "pyarrow has other values"
    if duckdb is not None:
        kind = {"utf8": "VARCHAR", "int64": "BIGINT", "float64": "DOUBLE", "bool": "BOOLEAN"}
        told = "{%s}" % ", ".join("'%s': '%s'" % (n, kind[t]) for n, t in zip(names, kinds))
        try:
            other = duckdb.sql("SELECT * FROM read_csv('%s', header=true, columns=%s, auto_detect=false, quote='\"', escape='\"', delim='%s', "
                               "parallel=false)" % (path, told, "\t" if path.endswith(".tsv") else ",")).fetchall()
        except duckdb.Error as error:
            print("apart: DuckDB refuses %s: %s" % (os.path.basename(path), str(error).splitlines()[0][:100]))
            return None
        if len(other) != len(rows) or any(not same(got[k].get(n), other[k][i]) for i, n in enumerate(names) for k in range(len(rows))):
            return "DuckDB has other values"
    return None


def hostile(sluice, folder, rng, path):
    """Anything, as Python's csv takes it where it does not refuse."""
    letters = rng.choice(['a",\n', 'ab ,""\n', 'a,,"\n\n', 'aa,"x\n\u00e9'])
    text = "".join(rng.choice(letters) for _ in range(rng.choice([5, 50, 500, 5000])))
    if not text.strip("\n"):
        text = "a"
    with open(path, "w", encoding="utf-8", newline="") as out:
        out.write(text)
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    # A quote that is never closed: csv makes one field of all that follows, read_csv quarantines a line and goes on.
    open_at = len(rows)
    try:
        list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        open_at -= "unexpected end" in str(error)
    try:
        for row in csv.reader(io.StringIO(text + '"', newline="")):
            pass
    except csv.Error:
        pass
    closed = [row for row in csv.reader(io.StringIO(text + '"', newline="")) if row]
    if closed[:-1] != rows[:-1] or (closed and rows and closed[-1] == rows[-1]):
        open_at = min(open_at, len(rows) - 1)
    width = len(rows[0])
    names = ["column%d" % (k + 1) for k in range(width)]
    if open_at == 0:
        return None
    got, bad = run(sluice, folder, path, {n: "utf8" for n in names}, mode="tolerant", header=False)
    want, skipped = [], 0
    for row in rows[:open_at]:
        if any(row[width:]):
            skipped += 1
        else:
            want.append((row + [""] * width)[:width])
    mine = [[row.get(n) or "" for n in names] for row in got]
    if mine[:len(want)] != want:
        at = next(k for k in range(len(want)) if k >= len(mine) or mine[k] != want[k])
        return "record %d: %r, expected %r" % (at, mine[at] if at < len(mine) else None, want[at])
    if open_at == len(rows) and (len(mine) != len(want) or bad != skipped):
        return "%d rows and %d bad ones, expected %d and %d" % (len(mine), bad, len(want), skipped)
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sluice")
    parser.add_argument("work")
    parser.add_argument("--files", type=int, default=200)
    args = parser.parse_args()
    csv.field_size_limit(1 << 30)
    faults = 0
    for k in range(args.files):
        rng = random.Random(k)
        kind = compare if k % 2 == 0 else hostile
        path = os.path.join(args.work, "made%d%s" % (k, rng.choice([".csv", ".csv", ".tsv", ".csv.gz"]) if kind is compare else ".csv"))
        try:
            wrong = kind(args.sluice, os.path.join(args.work, "run%d" % k), rng, path)
        except ValueError as error:
            wrong = str(error)
        if wrong:
            faults += 1
            print("FAIL: %s: %s" % (path, wrong))
    print("%d files equal, %d differ" % (args.files - faults, faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
