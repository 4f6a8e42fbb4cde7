"""Token files read back by the readers of those who train on them: every sequence, document and mask must be the one that was tokenized.

    parity_readers.py TMP

The truth is the same rows as JSONL, read with json. torch and what else the readers import without using it here is a stand-in (Standin):
a module of permissive classes, and for the few functions that datatrove calls on what it has read, numpy's.
"""
import abc
import glob
import gzip
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import types

import numpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kit  # noqa: E402

ABSENT = ("torch", "torchvision", "transformers", "PIL", "boto3", "botocore", "google", "oci", "azure", "snappy", "brotli", "matplotlib", "psutil", "catalogue",
          "paramiko", "alipcsobject", "pyarrow", "datasets", "packaging", "huggingface_hub", "databricks", "rich", "omegaconf", "cached_path", "dataclass_extensions")
LENGTH = 512


class Permissive(abc.ABCMeta):
    """What a stand-in has: more of them."""

    def __getattr__(cls, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return Permissive(name, (Standin,), {})


class Standin(metaclass=Permissive):
    """Anything: an argument, a base class, a decorator, a type."""

    def __init__(self, *arguments, **named):
        pass

    def __class_getitem__(cls, item):
        return cls

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Standin()

    def __call__(self, *arguments, **named):
        return Standin()


class StandinFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules that are not installed, and torch whether it is or not."""

    def __init__(self):
        self.made = set()

    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top in ABSENT and (top in self.made or top == "torch" or not importlib.machinery.PathFinder.find_spec(top)):
            self.made.add(top)
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__version__ = "2.0.0"
        module.__getattr__ = lambda name: self.attribute(name)
        return module

    def attribute(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Permissive(name, (Standin,), {})

    def exec_module(self, module):
        if module.__name__ == "torch":
            module.as_tensor = module.tensor = lambda values, dtype=None: numpy.asarray(values) if dtype is None else numpy.asarray(values).astype(dtype)
            module.int, module.int64, module.long = numpy.int32, numpy.int64, numpy.int64
            module.ones, module.cat = numpy.ones, numpy.concatenate
            module.cumsum = lambda values, dim: numpy.cumsum(values, axis=dim)
        if module.__name__ == "torch.utils.data":
            module.get_worker_info = lambda: None
            module.Dataset = module.IterableDataset = type("Dataset", (), {"__class_getitem__": classmethod(lambda cls, item: cls)})


def megatron():
    """Megatron's reader without the package's __init__, which imports models."""
    root = next(os.path.join(p, "megatron") for p in sys.path if os.path.isdir(os.path.join(p, "megatron", "core", "datasets")))
    for name, folder in (("megatron", root), ("megatron.core", os.path.join(root, "core"))):
        module = types.ModuleType(name)
        module.__path__ = [folder]
        sys.modules[name] = module
    utils = types.ModuleType("megatron.core.utils")
    utils.log_single_rank = lambda *arguments, **named: None
    sys.modules["megatron.core.utils"] = utils
    from megatron.core.datasets.indexed_dataset import IndexedDataset
    return IndexedDataset


def olmo():
    """OLMo-core's datasets, and its reader of documents' bounds, without the package's __init__s, which import models and trainers."""
    root = next(os.path.join(p, "olmo_core") for p in sys.path if os.path.isdir(os.path.join(p, "olmo_core", "data")))
    for name in ("olmo_core", "olmo_core.data", "olmo_core.distributed"):
        module = types.ModuleType(name)
        module.__path__ = [os.path.join(root, *name.split(".")[1:])]
        sys.modules[name] = module
    distributed = types.ModuleType("olmo_core.distributed.utils")
    distributed.__getattr__ = lambda name: (lambda *arguments, **named: 0)
    sys.modules["olmo_core.distributed.utils"] = distributed
    from olmo_core.data import numpy_dataset, utils
    return numpy_dataset.NumpyFSLDataset, utils


SCRIPT = """local s = require "sluice"
local a = s.args { narrow = { "path" }, wide = { "path" } }
local docs = s.files { "spans.jsonl", split = "1MiB" } | s.read_jsonl { columns = { loss_spans = "json" } }
local function make(name, tokenizer)
  local plain = docs | s.named(name .. "_tokens", s.tokenize { tokenizer, eos = "default" })
  local masked = docs | s.named(name .. "_masked", s.tokenize { tokenizer, eos = "default", loss_spans = "loss_spans" })
  local packed = plain | s.pack { sequence_length = 512, carry = true }
  local rows = masked | s.pack { sequence_length = 512 }
  local o = function(kind, more)
    local t = { name .. "/" .. kind, shard_size = "300KiB" }
    for k, v in pairs(more or {}) do t[k] = v end
    return t
  end
  return {
    masked | s.write_jsonl { name .. "/tokens", compression = "none" },
    packed | s.write_jsonl { name .. "/packed", compression = "none" },
    rows | s.write_jsonl { name .. "/rows", compression = "none" },
    plain | s.write_megatron(o "megatron"),
    packed | s.write_megatron(o "megatron_packed"),
    packed | s.write_megatron(o("megatron_pieces", { sequences = "documents" })),
    masked | s.write_datatrove(o "ds"),
    rows | s.write_datatrove(o("ds_packed")),
    plain | s.write_mds(o "mds"),
    packed | s.write_mds(o "mds_packed"),
    masked | s.write_mds(o "mds_masked"),
    masked | s.write_mds(o("mds_zstd", { compression = "zstd:7", hashes = { "md5", "sha1", "sha256", "xxh128", "xxh3_64", "xxh64" } })),
    rows | s.write_mds(o("mds_fixed_zstd", { fixed = true, compression = "zstd", hashes = { "sha1" } })),
    rows | s.write_mds(o("mds_fixed", { fixed = true })),
    plain | s.write_memmap(o "raw"),
    packed | s.write_memmap(o "raw_packed"),
    plain | s.write_memmap(o("nanogpt", { layout = "nanogpt" })),
  }
end
local all = make("narrow", a.narrow)
for _, sink in ipairs(make("wide", a.wide)) do all[#all + 1] = sink end
return s.pipeline { "readers", table.unpack(all) }
"""


def parts(folder, suffix):
    found = sorted(glob.glob(os.path.join(folder, "latest", "*" + suffix)))
    if not found:
        sys.exit("readers: no %s in %s" % (suffix, folder))
    return found


FAILED = []


def same(label, found, expected):
    """Compares lists of sequences; prints the first differences."""
    found, expected = list(found), list(expected)
    differ = [k for k in range(min(len(found), len(expected))) if found[k] != expected[k]]
    print("%-28s %6d sequences, %d differ%s" % (label, len(found), len(differ), "" if len(found) == len(expected) else "; expected %d" % len(expected)))
    for k in differ[:5]:
        print("  DIFFERS %s: sequence %d: %s... expected %s..." % (label, k, str(found[k])[:120], str(expected[k])[:120]))
    if differ or len(found) != len(expected) or not expected:
        FAILED.append(label)
    sys.stdout.flush()


def pieces_of(rows):
    for row in rows:
        at = 0
        for n in row["segments"]:
            yield row["tokens"][at:at + n]
            at += n


def check_megatron(name, width, tokens, packed):
    reader = megatron()

    def read(kind, mmap):
        for path in parts("%s/%s" % (name, kind), ".idx"):
            dataset = reader(path[:-4], mmap=mmap)
            assert dataset.index.dtype == (numpy.uint16 if width == 2 else numpy.int32), dataset.index.dtype
            assert dataset.document_indices[0] == 0 and dataset.document_indices[-1] == len(dataset)
            for k in range(len(dataset)):
                yield dataset[k].tolist()

    same(name + " Megatron", read("megatron", True), tokens)
    same(name + " Megatron, file", read("megatron", False), tokens)
    same(name + " Megatron packed", read("megatron_packed", True), [row["tokens"] for row in packed])
    same(name + " Megatron pieces", read("megatron_pieces", True), pieces_of(packed))


def check_datatrove(name, width, documents, rows):
    from datatrove.pipeline.tokens.merger import get_data_reader, load_doc_ends
    from datatrove.utils.dataset import DatatroveFolderDataset

    def read(kind):
        for path in parts("%s/%s" % (name, kind), ".ds"):
            ends = load_doc_ends(open(path + ".index", "rb"))
            tokens = get_data_reader(open(path, "rb"), ends, nb_bytes=width)
            losses = get_data_reader(open(path + ".loss", "rb"), ends, nb_bytes=1)
            head, count, _ = open(path + ".metadata").read().split("\n")
            assert head.rsplit("|", 1)[1] == str(width) and int(count) * width == os.path.getsize(path), head
            for data, loss in zip(tokens, losses):
                yield numpy.frombuffer(data, dtype="<u%d" % width).tolist(), list(loss)

    same(name + " datatrove documents", read("ds"), [(row["tokens"], row["loss_mask"]) for row in documents])
    same(name + " datatrove packed", read("ds_packed"), [(row["tokens"], row["loss_mask"]) for row in rows])
    dataset = DatatroveFolderDataset(os.path.abspath("%s/ds_packed/latest" % name), LENGTH - 1, filename_pattern="*.ds", token_size=width, return_positions=True)
    items = [dataset[k] for k in range(len(dataset))]
    same(name + " datatrove FolderDataset", [item["input_ids"].tolist() for item in items], [row["tokens"] for row in rows])
    same(name + " its positions", [item["positions"].tolist() for item in items], [list(range(LENGTH))] * len(rows))


def check_streaming(name, width, tokens, documents, packed, rows):
    from streaming import LocalDataset

    def read(kind):
        dataset = LocalDataset("%s/%s/latest" % (name, kind))
        for k in range(len(dataset)):
            sample = dataset[k]
            assert sample["tokens"].dtype == numpy.dtype("<u%d" % width)
            yield (sample["tokens"].tolist(), sample["loss_mask"].tolist()) if "loss_mask" in sample else sample["tokens"].tolist()

    same(name + " streaming", read("mds"), [t for t in tokens if t])
    same(name + " streaming masked", read("mds_masked"), [(row["tokens"], row["loss_mask"]) for row in documents if row["tokens"]])
    same(name + " streaming packed", read("mds_packed"), [row["tokens"] for row in packed])
    same(name + " streaming fixed", read("mds_fixed"), [(row["tokens"], row["loss_mask"]) for row in rows])


def check_fetched(name, width, documents, rows):
    """StreamingDataset itself: it fetches shards from a remote folder, checks their hashes, unpacks them and checks them again."""
    from streaming import StreamingDataset
    from streaming.base.hashing import get_hash

    def read(kind, algorithm):
        remote = os.path.abspath("%s/%s/latest" % (name, kind))
        assert not glob.glob(remote + "/*.mds") and glob.glob(remote + "/*.mds.zstd")
        dataset = StreamingDataset(local=os.path.abspath("%s/%s-%s-local" % (name, kind, algorithm)), remote=remote, batch_size=1, validate_hash=algorithm)
        for k in range(len(dataset)):
            sample = dataset[k]
            assert sample["tokens"].dtype == numpy.dtype("<u%d" % width)
            yield sample["tokens"].tolist(), sample["loss_mask"].tolist()

    masked = [(row["tokens"], row["loss_mask"]) for row in documents if row["tokens"]]
    for algorithm in ("sha1", "xxh3_64"):
        same("%s StreamingDataset %s" % (name, algorithm), read("mds_zstd", algorithm), masked)
    same(name + " StreamingDataset fixed", read("mds_fixed_zstd", "sha1"), [(row["tokens"], row["loss_mask"]) for row in rows])
    checked = 0
    for shard in json.load(open("%s/mds_zstd/latest/index.json" % name))["shards"]:
        local = "%s/mds_zstd-sha1-local/%s" % (name, shard["raw_data"]["basename"])
        for info, path in ((shard["raw_data"], local), (shard["zip_data"], "%s/mds_zstd/latest/%s" % (name, shard["zip_data"]["basename"]))):
            data = open(path, "rb").read()
            wrong = [a for a in shard["hashes"] if get_hash(a, data) != info["hashes"][a]]
            if wrong or len(data) != info["bytes"] or list(info["hashes"]) != shard["hashes"]:
                FAILED.append("hashes of " + path)
                print("  DIFFERS %s: %s" % (path, ", ".join(wrong) or "size"))
            checked += 1
    print("%s: %d files of shards have the hashes of their index" % (name, checked))


def check_memmap(name, width, tokens, packed):
    def raw(kind):
        for path in parts("%s/%s" % (name, kind), ".npy"):
            data = numpy.memmap(path, mode="r", dtype=numpy.dtype("<u%d" % width))
            with gzip.open(path[:-4] + ".csv.gz", "rt") as lines:
                bounds = [tuple(map(int, line.split(",")[:2])) for line in lines]
            assert bounds[-1][1] == len(data)
            for begin, end in bounds:
                yield data[begin:end].tolist()

    def nanogpt(kind):
        for path in parts("%s/%s" % (name, kind), ".bin"):
            header = numpy.fromfile(path, dtype=numpy.int32, count=256)
            assert tuple(header[:2]) == ((20240520, 1) if width == 2 else (278895051, 1)) and header[3] == (0 if width == 2 else 4)
            yield numpy.memmap(path, mode="r", dtype="<u%d" % width, offset=1024, shape=(int(header[2]),)).tolist()

    def nanotron(kind):
        """Nanoset: samples of a fixed length from one flat file after the other."""
        for path in parts("%s/%s" % (name, kind), ".npy"):
            data = numpy.memmap(path, mode="r", dtype="<u%d" % width)
            for k in range(len(data) // LENGTH):
                yield data[k * LENGTH:(k + 1) * LENGTH].tolist()

    same(name + " OLMo memmap", raw("raw"), tokens)
    same(name + " OLMo memmap packed", raw("raw_packed"), [row["tokens"] for row in packed])
    same(name + " nanotron memmap packed", nanotron("raw_packed"), [row["tokens"] for row in packed])
    same(name + " nanoGPT", [[i for shard in nanogpt("nanogpt") for i in shard]], [[i for t in tokens for i in t]])


def check_olmo(name, width, tokens, packed):
    """OLMo-core's own dataset of rows of a fixed length, and its documents by the files beside the arrays."""
    dataset_class, utils = olmo()
    dtype = numpy.uint16 if width == 2 else numpy.uint32

    def documents():
        for path in parts(name + "/raw", ".npy"):
            for begin, end in utils.iter_document_indices(path, local_cache=os.path.dirname(path), dtype=dtype, use_array_if_local=False):
                yield utils.load_array_slice(path, begin, end, dtype).tolist()

    dataset = dataset_class(*parts(name + "/raw_packed", ".npy"), sequence_length=LENGTH, pad_token_id=0, eos_token_id=0, vocab_size=1 << 8 * width, dtype=dtype)
    same(name + " OLMo-core documents", documents(), tokens)
    same(name + " OLMo-core FSLDataset", (dataset[k]["input_ids"].tolist() for k in range(len(dataset))), [row["tokens"] for row in packed])


def vocabulary():
    """A vocabulary of more than 65536 ids: what setup downloaded, else the shared collection, else none."""
    for folder in (os.environ.get("SLUICE_ASSETS", ""), os.environ.get("SLUICE_TEST_DATA", "")):
        found = sorted(glob.glob(os.path.join(folder, "**", "*cl100k*.tiktoken"), recursive=True) + glob.glob(os.path.join(folder, "**", "*o200k*.tiktoken"), recursive=True))
        if found:
            return found[0]
        archive = os.path.join(folder, "vocab.tar.zst")
        if os.path.exists(archive):
            subprocess.run(["tar", "--zstd", "-xf", archive, "vocab/tiktoken/cl100k_base.tiktoken"], check=True)
            return os.path.abspath("vocab/tiktoken/cl100k_base.tiktoken")
    return None


def main():
    tmp = sys.argv[1]
    os.chdir(tmp)
    corpus = kit.make_corpus(tmp, megabytes=min(10, int(os.environ.get("PARITY_MEGABYTES") or 50)))
    with open("spans.jsonl", "w", encoding="utf-8", newline="\n") as out:
        for k, record in enumerate(kit.read_corpus(corpus)):
            n = len(record["text"])
            record["loss_spans"] = [[n // 4, n // 2], [n // 2 + n // 8, n - k % 2]] if n > 8 else []
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
    narrow = os.path.join(os.environ["SRC"], "tests", "data", "tokenize", "tiny_gpt2.json")
    wide = vocabulary()
    if wide is None:
        sys.exit("readers: no vocabulary of more than 65536 ids; pkg/setup --for parity downloads them into build/assets")
    kit.run_script(SCRIPT, tmp, "readers", arguments=["narrow=" + narrow, "wide=" + wide])
    sys.meta_path.insert(0, StandinFinder())
    for name, width in (("narrow", 2), ("wide", 4)):
        documents = list(kit.read_dataset(name + "/tokens"))
        packed = list(kit.read_dataset(name + "/packed"))
        rows = list(kit.read_dataset(name + "/rows"))
        tokens = [row["tokens"] for row in documents]
        assert sum(map(len, pieces_of(packed))) == sum(map(len, tokens)) == sum(map(len, pieces_of(rows)))
        assert any(any(row["loss_mask"]) and not all(row["loss_mask"]) for row in documents)
        assert width == 2 or max(max(t) for t in tokens if t) > 65535
        print("%s: %d documents, %d tokens, %d rows" % (name, len(tokens), sum(map(len, tokens)), len(packed)))
        check_megatron(name, width, tokens, packed)
        check_datatrove(name, width, documents, rows)
        check_streaming(name, width, tokens, documents, packed, rows)
        check_fetched(name, width, documents, rows)
        check_memmap(name, width, tokens, packed)
        check_olmo(name, width, tokens, packed)
    if FAILED:
        sys.exit("readers: %d of the readers return something else: %s" % (len(FAILED), ", ".join(FAILED)))


main()
