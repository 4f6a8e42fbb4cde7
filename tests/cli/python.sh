# python.sh - the package sluice_data over this build: runs and their reports, errors by exit status, Ctrl-C, datasets row by row, rules on samples,
# and the tokenizer, which gives what `sluice tokenize` gives. (tests/parity/python.sh installs the wheel.)
. "$SRC/tests/lib.sh"
command -v "$PYTHON" >/dev/null || skip 'no python3'
if grep -q -e -fsanitize= "$BUILD/flags"; then skip 'a library with sanitizers is not for another program'; fi
cp "$SRC/sdk/examples/docs.jsonl" .
cat >web.lua <<'L'
local s = require "sluice"
local a = s.args { min_words = { "int", 20 }, halt = { "bool", false }, input = { "list", "docs.jsonl" }, format = { "string", "jsonl" } }
local upper = s.heuristic { "upper", options = { max = { "float", 0.25, min = 0, max = 1 } },
  measure = function(doc) return doc.text:share "upper" end, drop = { above = "max" }, examples = { { "abc", keep = true } } }
local docs = s.files(a.input) | s.read_jsonl {}
local good = docs | s.gopher_quality { min_doc_words = a.min_words } | upper {}
local kept = good | s.exact {} | s.gate { pass_rate = { min = a.halt and 0.99 or 0.1, of = docs } }
return s.pipeline { "web", s.named("kept", a.format == "parquet" and kept | s.write_parquet { "out/parquet" } or kept | s.write_jsonl { "out/kept" }) }
L
cat >test.py <<'P'
import json, os, signal, subprocess, sys, threading, time
from xml.etree import ElementTree
import sluice_data as sluice

assert sluice.program() == os.environ["SLUICE_PROGRAM"] and sluice.version().startswith("sluice ")
assert "fine" in sluice.check("web.lua")
run = sluice.run("web.lua", input=["docs.jsonl"], progress=False)
stages = {s["stage"]: s for s in run.stages}
assert stages["gopher_quality"]["reasons"] == {"gopher_short_doc": 1} and stages["upper"]["dropped"] == 1, stages
assert run.events and run.report["name"] == "web" and os.path.isdir(run.run_dir)
assert "<table>" in run._repr_html_() and "gopher_short_doc" in run._repr_html_() and "web" in repr(run)
kept = run.datasets["kept"]
rows = list(kept)
assert len(kept) == len(rows) == 5 and rows[0]["id"] == "tides", rows
assert [r["id"] for r in rows] == [r["id"] for r in sluice.dataset("out/kept")] and kept.head(2) == rows[:2]
assert kept.number == 1 and kept.snapshots == [1] and all(os.path.exists(f) for f in kept.files)
assert run.why(id="menu")[0]["documents"][0]["way"][-1]["reason"] == "gopher_short_doc"
# A dataset in a notebook: well-formed, escaped, from its first rows; a folder with an @ in its name; folders' columns.
with open("odd.lua", "w") as file:
    file.write('local s = require "sluice"\nlocal d = s.files "odd.jsonl" | s.read_jsonl { columns = { lang = "string" } }\n'
               'return s.pipeline { "odd", s.named("o", d | s.write_jsonl { "o@<b>/kept", partition_by = { "lang" } }) }\n')
with open("odd.jsonl", "w") as file:
    file.writelines(json.dumps({"id": str(k), "text": "<i>" + "long " * 999, "lang": ["en", "de"][k % 2]}) + "\n" for k in range(20))
odd = sluice.run("odd.lua", progress=False).datasets["o"]
assert odd.path == os.path.abspath("o@<b>/kept") and odd.number == 1 and {r["lang"] for r in odd} == {"en", "de"} and len(list(odd)) == 20
assert len(sluice.dataset("o@<b>/kept")) == len(sluice.dataset("o@<b>/kept@latest")) == 20
ElementTree.fromstring("<div>" + odd._repr_html_() + "</div>")
assert "&lt;b&gt;/kept@1: 20 rows" in odd._repr_html_() and odd._repr_html_().count("<tr>") == 6 and len(odd._repr_html_()) < 5000, odd._repr_html_()
ElementTree.fromstring("<div>" + run._repr_html_() + "</div>")
assert sluice.datasets._folders("a=1/_b=2/c%3Dd=%C3%A4/e=__HIVE_DEFAULT_PARTITION__/f/part-0") == {"a": "1", "c=d": "ä", "e": None}
sys.modules["pandas"] = sys.modules["pyarrow"] = None  # as if they were not installed
for call in (run.to_pandas, kept.to_pandas, kept.to_arrow):
    try:
        call()
        raise AssertionError("it did without")
    except ImportError as e:
        assert "pip install p" in str(e), e
del sys.modules["pandas"], sys.modules["pyarrow"]
assert run.html().lower().startswith("<!doctype html")
for _ in kept:
    break  # a loop that ends early leaves no process behind
again = sluice.run("web.lua", min_words=40, progress=False)
assert again.datasets["kept"].number == 2 and len(sluice.dataset("out/kept@1")) == 5
if os.environ.get("COLUMNAR"):
    sluice.run("web.lua", format="parquet", run_dir="p.run", progress=False)
    assert [r["id"] for r in sluice.dataset("out/parquet")] == [r["id"] for r in rows]

def fails(kind, status, text, call):
    try:
        call()
    except sluice.SluiceError as e:
        assert type(e) is kind and e.status == status and text in str(e), repr(e)
        return
    raise AssertionError("nothing was raised")
fails(sluice.ConfigError, 2, "did you mean 'min_words'", lambda: sluice.run("web.lua", min_word=3, progress=False))
fails(sluice.ConfigError, 2, "none.lua", lambda: sluice.check("none.lua"))
fails(sluice.Halted, 3, "pass_rate", lambda: sluice.run("web.lua", halt=True, run_dir="h.run", progress=False))
fails(sluice.SluiceError, 2, "is no dataset", lambda: sluice.dataset("nowhere"))
fails(sluice.SluiceError, 2, "no snapshot 9", lambda: sluice.dataset("out/kept@9"))
with open("bad.jsonl", "w") as file:
    file.write("{\n" * 50)
fails(sluice.DataError, 4, "quarantine", lambda: sluice.run("web.lua", input="bad.jsonl", run_dir="b.run", progress=False))

assert sluice.sample("web.lua", "sample.jsonl", at="upper", n=100) == "sample.jsonl"
tried = sluice.try_("web.lua", "sample.jsonl", stage="upper")
assert (tried["kept"], tried["dropped"]) == (6, 1) and any(e["fate"] == "dropped" and e["id"] == "sale" for e in tried["examples"]), tried
assert sluice.try_("gopher_quality", "docs.jsonl", options={"min_doc_words": 40})["kept"] < 7
swept = sluice.sweep("web.lua", "sample.jsonl", stage="upper", option="max", low=0.1, high=0.9, n=3)
assert [(round(r["threshold"], 2), r["kept"]) for r in swept] == [(0.1, 6), (0.5, 6), (0.9, 7)], swept

# Ctrl-C in the middle: the program is asked to stop, and nothing of it is left.
with open("slow.lua", "w") as file:
    file.write('local s = require "sluice"\nreturn s.pipeline { "slow", s.files "many.jsonl" | s.read_jsonl {} | s.filter { "f", function(doc) '
               'local n = 0 for i = 1, 200000 do n = n + i end end } | s.write_jsonl { "out/slow" } }\n')
with open("many.jsonl", "w") as file:
    file.writelines('{"id":"%d","text":"a"}\n' % k for k in range(200000))
threading.Timer(2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    sluice.run("slow.lua", progress=False)
    raise AssertionError("it was not interrupted")
except KeyboardInterrupt:
    pass
assert subprocess.run(["pgrep", "-P", str(os.getpid())], stdout=subprocess.DEVNULL).returncode == 1, "a process is left"

vocabulary = sys.argv[1]
tokens = sluice.tokenizer(vocabulary)
texts = [r["text"] for r in rows] + ["", "ä\U0001F600 <|endoftext|> x" * 50]
told = subprocess.run([sluice.program(), "tokenize", "--tokenizer", vocabulary, "--jsonl", "-"], text=True, encoding="utf-8",
                      input="".join(json.dumps({"text": t}) + "\n" for t in texts), stdout=subprocess.PIPE, check=True).stdout
expected = [json.loads(line)["ids"] for line in told.splitlines()]
assert [tokens.count(t) for t in texts] == [len(e) for e in expected] and tokens.vocab_size > 256
try:
    import numpy
except ImportError:
    numpy = None
if numpy is not None:
    assert [tokens.encode(t).tolist() for t in texts] == expected and all(tokens.decode(tokens.encode(t)) == t for t in texts)
    ids, offsets = tokens.encode_batch(texts)
    assert offsets[-1] == len(ids) and all((ids[offsets[k]:offsets[k + 1]] == tokens.encode(t)).all() for k, t in enumerate(texts))
counts = {}
threads = [threading.Thread(target=lambda k=k: counts.__setitem__(k, [tokens.count(t) for t in texts])) for k in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
assert len(counts) == 4 and all(c == counts[0] for c in counts.values())
fails(sluice.ConfigError, 2, "", lambda: sluice.tokenizer("web.lua"))
del tokens
print("the package does what it says")
P
SLUICE_PROGRAM=$SLUICE
SLUICE_TOKENIZER_LIB=$BUILD/libsluice-tokenizer.so
PYTHONPATH=$SRC/sdk/python
PYTHONDONTWRITEBYTECODE=1
export SLUICE_PROGRAM SLUICE_TOKENIZER_LIB PYTHONPATH PYTHONDONTWRITEBYTECODE
[ ! -e "$BUILD/plugins/columnar.so" ] || { COLUMNAR=1 && export COLUMNAR; }
"$PYTHON" test.py "$SRC/tests/data/tokenize/tiny_gpt2.json"
