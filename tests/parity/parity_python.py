"""parity_python.py ASSETS DATA: the installed wheel against tiktoken, and what its rows become. DATA may not be there."""

import glob
import json
import os
import re
import sys
import time

import numpy
import tiktoken
from tiktoken.load import load_tiktoken_bpe

import sluice_data as sluice

assets, data = sys.argv[1:]
assert sluice.program().startswith(os.path.dirname(sluice.__file__)), sluice.program()

# ---- rows ----
with open("p.lua", "w", encoding="utf-8") as file:
    file.write('''local s = require "sluice"
local docs = s.files "docs.jsonl" | s.read_jsonl {} | s.gopher_quality { min_doc_words = 20 } | s.exact {}
return s.pipeline { "p", s.named("lines", docs | s.write_jsonl { "out/lines" }), s.named("parquet", docs | s.write_parquet { "out/parquet" }) }
''')
run = sluice.run("p.lua", progress=False)
lines, parquet = run.datasets["lines"], run.datasets["parquet"]
assert [r["id"] for r in lines] == [r["id"] for r in parquet] == parquet.to_arrow()["id"].to_pylist() == list(lines.to_pandas()["id"])
assert list(parquet.to_pandas()["text"]) == list(lines.to_arrow()["text"].to_pylist()) and len(run.to_pandas()) > 3
assert "<table" in lines._repr_html_()
# Columns that folders stand for are those that the program reads: whole numbers, texts, null, hashes.
with open("folders.jsonl", "w", encoding="utf-8") as file:
    file.writelines(json.dumps({"id": str(k), "text": "a", "lang": ["en", "d=/%é", None][k % 3], "year": 2024 + k % 2}) + "\n" for k in range(12))
with open("folders.lua", "w", encoding="utf-8") as file:
    file.write('''local s = require "sluice"
local docs = s.files "folders.jsonl" | s.read_jsonl { columns = { lang = "string", year = "int" } }
return s.pipeline { "folders", s.named("f", docs | s.write_parquet { "out/folders", partition_by = { "lang", "year", { hash = "id", n = 2 } } }) }
''')
folders = sluice.run("folders.lua", progress=False).datasets["f"]
assert len(folders.files) > 6
assert {(r.get("lang"), r["year"]) for r in folders} == {(a, b) for a in ("en", "d=/%é", None) for b in (2024, 2025)}
names = ("id", "lang", "year", "id_bucket")
assert [[r.get(n) for n in names] for r in folders] == [[r[n] for n in names] for r in folders.to_arrow().to_pylist()], folders.to_arrow()
assert str(folders.to_arrow().schema.field("year").type) == "int64" and list(folders.to_pandas()["year"])[0] in (2024, 2025)
installed = os.path.join(os.path.dirname(sys.executable), "sluice")
assert os.popen(f"{installed} --version").read().startswith("sluice ")
print(f"rows: {len(lines)} of {len(parquet)} equal")

# ---- tokens ----
path = os.path.join(assets, "cl100k_base.tiktoken")
known = tiktoken.Encoding(
    "cl100k", mergeable_ranks=load_tiktoken_bpe(path), special_tokens={},
    pat_str=r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s""")
texts = []
for name in sorted(glob.glob(os.path.join(data, "fortunes.jsonl.zst"))):
    with os.popen(f"zstd -qdc '{name}'") as file:
        texts += [json.loads(line)["text"] for line in file]
if not texts:
    texts = [json.loads(line)["text"] * k for line in open("docs.jsonl", encoding="utf-8") for k in range(1, 400)]
texts = texts[:20000]
tokens = sluice.tokenizer(path)
bytes_ = sum(len(t.encode()) for t in texts)
different = sum(tokens.encode(t).tolist() != known.encode_ordinary(t) for t in texts)
assert different == 0, different



def rate(run, bytes_of_one):
    """MB/s of the best of some passes."""
    best, until = 0.0, time.perf_counter() + 2
    while time.perf_counter() < until:
        begin = time.perf_counter()
        run()
        best = max(best, bytes_of_one / (time.perf_counter() - begin) / 1e6)
    return best


ids, offsets = tokens.encode_batch(texts)
assert ids.dtype == numpy.uint32 and offsets[-1] == len(ids) == sum(len(known.encode_ordinary(t)) for t in texts)
batch = rate(lambda: tokens.encode_batch(texts), bytes_)
peer = rate(lambda: known.encode_ordinary_batch(texts, num_threads=1), bytes_)
# The program encodes one text of a file, warm; so does the package here.
whole = "\n".join(texts).encode()
with open("whole.txt", "wb") as file:
    file.write(whole)
ours = rate(lambda: tokens.count(whole), len(whole))
program = float(re.search(r"passes ([0-9.]+) MB/s", sluice.command("tokenize", "--tokenizer", path, "--bench", "whole.txt"))[1])
print(f"tokens: {len(texts)} texts, {bytes_ / 1e6:.1f} MB, 0 differ; encode_batch {batch:.0f} MB/s, {batch / peer:.1f} of tiktoken's; one text "
      f"{ours:.0f} MB/s, {ours / program:.2f} of the program's")
