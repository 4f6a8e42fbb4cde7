"""Datasets: a folder of snapshots, as rows, Arrow tables and DataFrames."""

import json
import os

from .errors import SluiceError, error_of
from .program import command, said, start, stop

_TOKENS = (".bin", ".idx", ".npy", ".ds", ".mds")


class Dataset:
    """A dataset, PATH or PATH@N or PATH@TAG; iterating over it gives its rows as dicts, in order."""

    def __init__(self, reference):
        self.reference = os.fspath(reference)
        path, _, self._named = self.reference.partition("@")
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
        """A pyarrow.Table: of Parquet and Arrow files with their own types, of others by the values."""
        import pyarrow
        files = self.files
        if files and all(f.endswith(".parquet") for f in files):
            import pyarrow.parquet
            return pyarrow.concat_tables([pyarrow.parquet.read_table(f, partitioning=None) for f in files])
        if files and all(f.endswith(".arrow") for f in files):
            import pyarrow.ipc
            return pyarrow.concat_tables([pyarrow.ipc.open_file(f).read_all() for f in files])
        return pyarrow.Table.from_pylist(list(self))

    def to_pandas(self):
        """A pandas.DataFrame."""
        import pandas
        files = self.files
        if files and files[0].endswith((".parquet", ".arrow")):
            return self.to_arrow().to_pandas()
        return pandas.DataFrame(list(self))

    def __repr__(self):
        return f"<Dataset {self.path}@{self.number}: {len(self)} rows>"

    def _repr_html_(self):
        try:
            return f"<p>{self!r}</p>".replace("<Dataset", "Dataset").replace(">", "", 1) + self.to_pandas().head().to_html()
        except ImportError:
            return None


def dataset(reference):
    """The dataset at PATH, PATH@N or PATH@TAG. Raises SluiceError where none is."""
    found = Dataset(reference)
    found.manifest
    return found
