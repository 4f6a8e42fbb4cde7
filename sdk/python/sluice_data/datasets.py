"""Datasets: a folder of snapshots, as rows, Arrow tables and DataFrames."""

import html
import json
import os
import re
from urllib.parse import unquote

from .errors import SluiceError, error_of, needed
from .program import command, said, start, stop

_TOKENS = (".bin", ".idx", ".npy", ".ds", ".mds")
_NULL = "__HIVE_DEFAULT_PARTITION__"  # what Hive calls the folder of null
_SHOWN = 200  # characters of a value that a notebook shows


def _split(reference):
    """(path, name of a snapshot or "") of PATH, PATH@N, PATH@TAG; the program too looks at the last @, which may be of a folder's name."""
    path, at, name = reference.rpartition("@")
    if not at or not name or "/" in name or os.path.isdir(os.path.join(reference, "snapshots")):
        return reference, ""
    return path, "" if name == "latest" else name


def _folders(name):
    """{column: value or None} of a shard's folders, lang=en/part-…, as Hive and Spark write them."""
    found = {}
    for folder in name.split("/")[:-1]:
        column, equals, value = folder.partition("=")
        column, value = unquote(column), unquote(value)
        if equals and column and not column.startswith("_"):
            found[column] = None if value == _NULL else value
    return found


def _with_folders(tables, names):
    """The tables of shards, each with the columns that its folders stand for and its file does without; whole numbers if all are."""
    import pyarrow
    folders = [_folders(name) for name in names]
    for column in dict.fromkeys(c for f in folders for c in f):
        values = [f[column] for f in folders if f.get(column) is not None]
        whole = bool(values) and all(re.fullmatch(r"0|-?[1-9][0-9]{0,17}", v) for v in values)
        kind = pyarrow.int64() if whole else pyarrow.string()
        for k, (table, folder) in enumerate(zip(tables, folders)):
            if column in folder and column not in table.column_names:
                value = folder[column]
                scalar = pyarrow.scalar(int(value) if whole and value is not None else value, kind)
                tables[k] = table.append_column(column, pyarrow.repeat(scalar, table.num_rows))
    return tables


class Dataset:
    """A dataset, PATH or PATH@N or PATH@TAG; iterating over it gives its rows as dicts, in order."""

    def __init__(self, reference):
        self.reference = os.fspath(reference)
        path, self._named = _split(self.reference)
        self.path = os.path.abspath(path)

    @property
    def number(self):
        """The number of the snapshot that is meant."""
        return int(self._named) if self._named.isdigit() else self.manifest["number"]

    @property
    def snapshots(self):
        """Numbers of all that are there."""
        folder = os.path.join(self.path, "snapshots")
        if not os.path.isdir(folder):
            raise SluiceError(f"{self.path} is no dataset: it has no folder `snapshots`", 2)
        return sorted(int(name[:-5]) for name in os.listdir(folder) if name.endswith(".json") and name[:-5].isdigit())

    @property
    def manifest(self):
        """What its manifest says: shards, totals, lineage, ledger, notes."""
        if self._named and not self._named.isdigit():
            tag = os.path.join(self.path, "tags", self._named + ".json")
            if not os.path.exists(tag):
                raise SluiceError(f"{self.path} has no tag '{self._named}'", 2)
            with open(tag, encoding="utf-8") as file:
                number = json.load(file).get("snapshot")
        else:
            number = int(self._named) if self._named else (self.snapshots or [None])[-1]
        path = os.path.join(self.path, "snapshots", f"{number:06d}.json" if number is not None else "none")
        if not os.path.exists(path):
            raise SluiceError(f"{self.path} has no snapshot {number}; it has {self.snapshots}", 2)
        with open(path, encoding="utf-8") as file:
            manifest = json.load(file)
        manifest.setdefault("number", number)
        return manifest

    @property
    def files(self):
        """Paths of the snapshot's shards, in order."""
        return [os.path.join(self.path, "data", shard["file"]) for shard in self.manifest["shards"]]

    def __len__(self):
        return sum(shard["rows"] for shard in self.manifest["shards"])

    def __iter__(self):
        files = self.files
        if files and files[0].endswith(_TOKENS):
            raise SluiceError(f"{self.path} holds tokens, not rows with names; `sluice head --tokens` shows them", 2)
        if not files:
            return
        process = start(["head", self.reference, "-n", str(max(len(self), 1)), "--json"])
        try:
            for line in process.stdout:
                yield json.loads(line)
            err = process.stderr.read()
            if process.wait() != 0:
                raise error_of(process.returncode, said(err))
        finally:
            if process.poll() is None:
                stop(process)
            process.stdout.close()
            process.stderr.close()

    def head(self, n=5):
        """The first rows, as dicts."""
        return [json.loads(line) for line in command("head", self.reference, "-n", n, "--json").splitlines()]

    def to_arrow(self):
        """A pyarrow.Table: of Parquet and Arrow files with their own types and their folders' columns, of others by the values."""
        pyarrow = needed("pyarrow", "to_arrow")
        files, names = self.files, [shard.get("name", "") for shard in self.manifest["shards"]]
        if files and all(f.endswith(".parquet") for f in files):
            import pyarrow.parquet
            tables = [pyarrow.parquet.read_table(f, partitioning=None) for f in files]
        elif files and all(f.endswith(".arrow") for f in files):
            import pyarrow.ipc
            tables = [pyarrow.ipc.open_file(f).read_all() for f in files]
        else:
            return pyarrow.Table.from_pylist(list(self))
        return pyarrow.concat_tables(_with_folders(tables, names))

    def to_pandas(self):
        """A pandas.DataFrame."""
        pandas = needed("pandas", "to_pandas")
        files = self.files
        if files and files[0].endswith((".parquet", ".arrow")):
            return self.to_arrow().to_pandas()
        return pandas.DataFrame(list(self))

    def __repr__(self):
        return f"<Dataset {self.path}@{self.number}: {len(self)} rows>"

    def _repr_html_(self):
        """Its first rows; no more of it is read."""
        title = f"<p>{html.escape(f'{self.path}@{self.number}: {len(self):,} rows')}</p>"
        files = self.files
        if not files or files[0].endswith(_TOKENS):
            return title
        rows = self.head()
        columns = list(dict.fromkeys(c for row in rows for c in row))

        def cell(value):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            return f"<td style='text-align:left'>{html.escape(text[:_SHOWN] + '…' if len(text) > _SHOWN else text)}</td>"

        heads = "".join(f"<th>{html.escape(c)}</th>" for c in columns)
        body = "".join("<tr>" + "".join(cell(row[c]) if c in row else "<td></td>" for c in columns) + "</tr>" for row in rows)
        return f"{title}<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def dataset(reference):
    """The dataset at PATH, PATH@N or PATH@TAG. Raises SluiceError where none is."""
    found = Dataset(reference)
    found.manifest
    return found
