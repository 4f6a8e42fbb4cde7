# pack_origin.sh - from packed rows to the documents in them, with the tokens of each, and from documents to the rows that hold them: packed in
# their splits, over all splits (carry), in windows, behind a shuffle, behind copies of a mixture, shuffled once more, and after a transform
# that cuts documents. What trace and why say is compared with the tokens themselves.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

mkdir corpus
for source in a b; do
    perl "$CORPUS" made files=3 docs=60 codec=none words=90 dup=0 near=0 >/dev/null || fail 'no corpus'
    mkdir corpus/$source
    for file in made/*; do
        sed "s,\"id\":\"s1/,\"id\":\"$source/," "$file" >"corpus/$source/${file##*/}"
    done
done
cat >origin.lua <<'L'
local s = require "sluice"
local a = s.args { tokenizer = { "path" } }
local docs = s.files { "corpus/{source}/*", split = "64KiB" } | s.read_jsonl {}
local function tokens(name, rows) return rows | s.named(name .. "_tokens", s.tokenize { a.tokenizer, eos = "default" }) end
local function write(name, rows) return s.named(name, rows | s.write_jsonl { "out/" .. name, compression = "none", shard_size = "100KiB" }) end
local cutter = s.transform { "cutter", gives = { id = "utf8", text = "utf8" }, row = function(doc, o, emit)
  for line in doc.text:gmatch "[^.]+" do emit { id = doc.id, text = line } end
end }
local plain = tokens("plain", docs)
local shuffled = plain | s.shuffle { seed = 3, partitions = 3 }
local copies = plain | s.mix { by = "source", size = "documents", epochs = { a = 2, b = 1 } } | s.shuffle { partitions = 2 }
return s.pipeline { "origin",
  write("truth", plain),
  write("concat", plain | s.pack { 256, strategy = "concat", carry = true }),
  write("carry", plain | s.pack { 256, carry = true }),
  write("windows", plain | s.pack { 256, carry = true, window = 3000 } | s.shuffle { partitions = 3 }),
  write("behind", shuffled | s.pack { 256, carry = false }),
  write("both", shuffled | s.pack { 256, carry = true } | s.shuffle { seed = 4, partitions = 3 }),
  write("mixed", copies | s.pack { 256, carry = true }),
  write("cut", tokens("pieces", docs | cutter {}) | s.pack { 256, carry = true } | s.shuffle { partitions = 3 }),
  s.named("megatron", plain | s.pack { 256, carry = true } | s.write_megatron { "out/megatron" }),
}
L
tokenizer=tokenizer=$SRC/tests/data/tokenize/tiny_gpt2.json
expect 0 "$SLUICE" run origin.lua --quiet --run-dir run "$tokenizer" --workers 2

cat >check.py <<'P'
import glob, json, os, random, subprocess, sys
sluice = os.environ["SLUICE"]

def ask(*words):
    done = subprocess.run([sluice, *words, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout)

def rows_of(name):
    for path in sorted(glob.glob(f"out/{name}/latest/*.jsonl")):
        for k, line in enumerate(open(path)):
            yield os.path.basename(path), k, json.loads(line)

truth = {row["id"]: row["tokens"] for _, _, row in rows_of("truth")}
draw = random.Random(1)
asked = 0
for name in ("concat", "carry", "windows", "behind", "both", "mixed", "cut"):
    rows = list(rows_of(name))
    # From a row: the last ones are those that were carried.
    for shard, number, row in draw.sample(rows, 2) + rows[-1:]:
        said = ask("trace", f"out/{name}", shard, str(number), "--run", "run")["origin"]
        asked += 1
        assert len(said) == len(row["segments"]), (name, shard, number, said)
        at = 0
        for place, n in zip(said, row["segments"]):
            piece, at = row["tokens"][at:at + n], at + n
            if name == "cut":
                assert "tokens" not in place, "tokens of a part are told as the document's"
                text = json.loads(open(place["path"], "rb").read()[place["begin"]:place["end"]])
                assert text["id"] == place["id"]
                continue
            begin, end = place["tokens"]
            assert truth[place["id"]][begin:end] == piece and end - begin == n, (name, shard, number, place)
    # From a document: its tokens are in the rows that are told, all of them and no others.
    if name == "cut":
        continue
    held = {(shard, number): row for shard, number, row in rows}
    ids = sorted(truth, key=lambda i: -len(truth[i]))
    for doc in [ids[0]] if name in ("concat", "windows") else [draw.choice(ids)]:
        way = ask("why", "run", "--id", doc)["documents"][0]["way"]
        asked += 1
        spans = []
        for event in way:
            if event.get("fate") != "written" or event["stage"] != name:
                continue
            begin, end = event["tokens"]
            row = held[(event["shard"], event["row"])]
            text = ",".join(map(str, row["tokens"]))
            assert ",".join(map(str, truth[doc][begin:end])) in text, (name, doc, event)
            spans.append((begin, end))
        times = 2 if name == "mixed" and doc.startswith("a/") else 1
        expected = sorted(list(range(len(truth[doc]))) * times)
        assert sorted(i for begin, end in spans for i in range(begin, end)) == expected, (name, doc, spans)
assert os.path.exists("out/megatron/latest")
print(asked, "questions")
P
expect 0 "$PYTHON" check.py
cat stdout
# What the rows of Megatron's files hold is told the same way.
expect 0 "$SLUICE" trace out/megatron 0 0 --run run
says 'tokens 0 to 256'
