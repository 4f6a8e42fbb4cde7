# pack_masks.sh - a loss mask stays with its tokens through a shuffle of documents, packing (in splits and over all of them), and a shuffle of
# rows, into every format that has a place for it; the others refuse it.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

perl "$CORPUS" made files=2 docs=60 codec=none words=60 dup=0 near=0 >/dev/null || fail 'no corpus'
mkdir corpus
for file in made/*; do
    perl -pe 's/\}$/,"loss_spans":[[3,9],[20,41]]}/' "$file" >"corpus/${file##*/}"
done
cat >masks.lua <<'L'
local s = require "sluice"
local a = s.args { tokenizer = { "path" }, write = { "string", "none" }, layout = { "string", "raw" } }
local docs = s.files { "corpus/*", split = "64KiB" } | s.read_jsonl { columns = { loss_spans = "json" } }
local tokens = docs | s.tokenize { a.tokenizer, eos = "default", loss_spans = "loss_spans" }
local rows = tokens | s.shuffle { seed = 2, partitions = 2 } | s.pack { 128, carry = true } | s.shuffle { seed = 3, partitions = 2 }
local refused = { megatron = function() return rows | s.write_megatron { "out/x" } end,
                  memmap = function() return rows | s.write_memmap { "out/x", layout = a.layout } end,
                  nothing = function() return rows | s.write_megatron { "out/x", loss_mask = "" } end }
local last = refused[a.write]
return s.pipeline { "masks",
  s.named("truth", tokens | s.write_jsonl { "out/truth", compression = "none" }),
  s.named("rows", rows | s.write_jsonl { "out/rows", compression = "none" }),
  s.named("ds", rows | s.write_datatrove { "out/ds" }),
  s.named("documents", rows | s.write_datatrove { "out/documents", sequences = "documents" }),
  s.named("mds", rows | s.write_mds { "out/mds", fixed = true, compression = "zstd" }),
  last and last() or nil,
}
L
tokenizer=tokenizer=$SRC/tests/data/tokenize/tiny_gpt2.json
expect 0 "$SLUICE" run masks.lua --quiet --run-dir run "$tokenizer"
cat >check.py <<'P'
import array, glob, json, struct, subprocess
def rows_of(name):
    return [json.loads(line) for path in sorted(glob.glob(f"out/{name}/latest/*.jsonl")) for line in open(path)]
truth = sorted((tuple(row["tokens"][at:at + 128]), tuple(row["loss_mask"][at:at + 128]))
               for row in rows_of("truth") for at in range(0, len(row["tokens"]), 128))
assert any(0 < sum(mask) < len(mask) for _, mask in truth)
rows, pieces, padding = rows_of("rows"), [], 0
for row in rows:
    assert len(row["tokens"]) == len(row["loss_mask"]) == 128
    assert not any(row["loss_mask"][128 - row["padding"]:]), "padding is trained on"
    padding += row["padding"]
    at = 0
    for n in row["segments"]:
        pieces.append((tuple(row["tokens"][at:at + n]), tuple(row["loss_mask"][at:at + n])))
        at += n
assert sorted(pieces) == truth, "masks are not those of their tokens"
whole = [(row["tokens"], row["loss_mask"]) for row in rows]

def datatrove(name):
    for path in sorted(glob.glob(f"out/{name}/latest/*.ds")):
        tokens = array.array("H", open(path, "rb").read())
        mask, begin = open(path + ".loss", "rb").read(), 0
        for end, in struct.iter_unpack("<Q", open(path + ".index", "rb").read()):
            yield list(tokens[begin:end]), list(mask[begin:end])
            begin = end

def mds():
    for path in sorted(glob.glob("out/mds/latest/*.mds.zstd")):
        data = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout
        n, = struct.unpack_from("<I", data)
        for begin, end in zip(struct.unpack_from(f"<{n}I", data, 4), struct.unpack_from(f"<{n}I", data, 8)):
            yield list(array.array("H", data[begin + 128:end])), list(data[begin:begin + 128])

assert list(datatrove("ds")) == whole and list(mds()) == whole
assert sorted((tuple(t), tuple(m)) for t, m in datatrove("documents")) == truth
print(len(rows), "rows,", padding, "padding")
P
expect 0 "$PYTHON" check.py
for format in megatron memmap 'memmap layout=nanogpt'; do
    # shellcheck disable=SC2086
    expect 2 "$SLUICE" check masks.lua "$tokenizer" write=$format
    says 'loss mask' 'every token would be trained on'
done
expect 0 "$SLUICE" check masks.lua "$tokenizer" write=nothing
