# token_files.sh - the token writers: datatrove's .ds, raw and nanoGPT memmaps, MDS with its index.json; rows and documents, loss masks kept
# (through pack as well) or refused, the same bytes for any number of workers and shard size.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=3 docs=80 >made || fail 'no corpus'
cat >tokens.lua <<'L'
local s = require "sluice"
local a = s.args { tokenizer = { "path" }, out = { "path", "out" }, shard = { "string", "64KiB" },
  masks = { "path" }, id = { "int", -1 } }
local masks = s.plugin(a.masks)
local docs = s.files { "corpus/*", split = "64KiB" } | s.read_jsonl {}
local tokens = docs | s.tokenize { a.tokenizer, eos = "default" }
local packed = tokens | s.pack { sequence_length = 256 }
local masked = tokens | masks.masked { id = a.id }
local o = function(name, more)
  local t = { a.out .. "/" .. name, dtype = "uint16", shard_size = a.shard }
  for k, v in pairs(more or {}) do t[k] = v end
  return t
end
return s.pipeline { "tokens",
  tokens | s.write_jsonl { a.out .. "/tokens", compression = "none" },
  packed | s.write_jsonl { a.out .. "/packed", compression = "none" },
  tokens | s.write_datatrove(o("ds", { tokenizer = "tiny" })),
  packed | s.write_datatrove(o("ds_documents", { sequences = "documents" })),
  packed | s.write_memmap(o "raw"),
  tokens | s.write_memmap(o("nanogpt", { layout = "nanogpt" })),
  tokens | s.write_memmap(o("nanogpt32", { layout = "nanogpt", dtype = "uint32" })),
  packed | s.write_mds(o "mds"),
  packed | s.write_mds(o("mds_fixed", { fixed = true })),
  masked | s.pack { sequence_length = 256 } | s.write_mds(o("mds_fixed_mask", { fixed = true, dtype = "uint32" })),
  masked | s.write_datatrove(o("ds_mask")),
  masked | s.write_mds(o("mds_mask", { dtype = "uint32" })),
  masked | s.pack { sequence_length = 4096, cu_seqlens = true, position_ids = true, document_ids = true }
    | s.write_jsonl { a.out .. "/packed_mask", compression = "none" },
  masked | s.pack { sequence_length = 256, strategy = "concat", cu_seqlens = true, position_ids = true, document_ids = true }
    | s.write_jsonl { a.out .. "/concat_mask", compression = "none" },
}
L
tokenizer=$SRC/tests/data/tokenize/tiny_qwen.json
arguments="tokenizer=$tokenizer masks=$BUILD/tests/pipeline/masked.so --trust"
expect 0 "$SLUICE" run tokens.lua --quiet --run-dir run $arguments
"$PYTHON" "$SRC/tests/pipeline/token_files.py" out >told || { cat told >&2; fail 'what was written is not what was tokenized'; }
[ "$(ls out/ds/latest/*.ds | wc -l)" -gt 2 ] || fail 'shard_size ended no file'
grep -q '^tiny|2$' "$(ls out/ds/latest/*.metadata | head -n 1)" || fail 'the metadata does not name the tokenizer'
for workers in 1 4; do
    expect 0 "$SLUICE" run tokens.lua --quiet --run-dir run$workers --workers $workers $arguments out=out$workers
    (cd out && find . -path '*/v000001/*' -type f -exec sha256sum {} + | sort) >left
    (cd out$workers && find . -path '*/v000001/*' -type f -exec sha256sum {} + | sort) >right
    cmp -s left right || fail "other bytes with $workers workers"
done
grep -q index.json left || fail 'no index.json'
expect 0 "$SLUICE" verify out/mds
# A second run publishes nothing new; one that reads a file more makes another index.
expect 0 "$SLUICE" run tokens.lua --quiet --run-dir run $arguments
[ ! -e out/mds/v000002 ] || fail 'an unchanged dataset was published again'
printf '%s\n' '{"id":"more","text":"a document more than before"}' >corpus/zz.jsonl
expect 0 "$SLUICE" run tokens.lua --quiet --run-dir run $arguments
cmp -s out/mds/v000001/index.json out/mds/v000002/index.json && fail 'the index of another snapshot is the same'
"$PYTHON" "$SRC/tests/pipeline/token_files.py" out >told || { cat told >&2; fail 'what was written then is not what was tokenized'; }

# Formats without a place for a loss mask refuse one.
sed 's/masked | s.write_datatrove(o("ds_mask"))/masked | s.write_memmap(o("ds_mask"))/' tokens.lua >refused.lua
expect 2 "$SLUICE" check refused.lua $arguments
says 'loss mask' 'every token would be trained on'
sed 's/masked | s.write_datatrove(o("ds_mask"))/masked | s.write_megatron{a.out .. "\/x", dtype = "uint16"}/' tokens.lua >refused.lua
expect 2 "$SLUICE" check refused.lua $arguments
says 'loss mask'
# Rows of one length are those of pack.
sed 's/masked | s.write_mds(o("mds_mask", { dtype = "uint32" }))/masked | s.write_mds(o("mds_mask", { fixed = true }))/' tokens.lua >refused.lua
expect 2 "$SLUICE" check refused.lua $arguments
says 'fixed wants rows of pack'
# An id that the type can't hold is an error, never another id.
expect 4 "$SLUICE" run tokens.lua --quiet --run-dir runw $arguments out=outw id=70000
says '70000' 'expected an id below'

# Spans of trained text become a mask of their tokens, which stays with them through packing and into the files.
cat >chat.jsonl <<'L'
{"id":"a","text":"Q: née? A: the 中 one","loss_spans":[[8,18]]}
{"id":"b","text":"no answer here","loss_spans":[]}
{"id":"c","text":"all of it"}
{"id":"d","text":"by flags","loss_spans":[0,0,0,1,1,1,1,1]}
L
cat >chat.lua <<'L'
local s = require "sluice"
local a = s.args { tokenizer = { "path" }, rule = { "string", "first" } }
local docs = s.files "chat.jsonl" | s.read_jsonl { columns = { loss_spans = "json" } }
local tokens = docs | s.tokenize { a.tokenizer, eos = "default", loss_spans = "loss_spans", loss_rule = a.rule, offsets = true }
return s.pipeline { "chat",
  tokens | s.write_jsonl { "chat/tokens", compression = "none" },
  tokens | s.pack { sequence_length = 32 } | s.write_jsonl { "chat/packed", compression = "none" },
  tokens | s.pack { sequence_length = 32 } | s.write_datatrove { "chat/ds", sequences = "documents" },
}
L
expect 0 "$SLUICE" run chat.lua --quiet --run-dir runc "tokenizer=$tokenizer"
"$PYTHON" "$SRC/tests/pipeline/token_files.py" chat >told || { cat told >&2; fail 'a loss mask is not that of its text'; }
sed 's/| s.write_datatrove.*/| s.write_megatron { "chat\/x" },/' chat.lua >refused.lua
expect 2 "$SLUICE" check refused.lua "tokenizer=$tokenizer"
says 'loss mask' 'every token would be trained on'
# Spans that the text does not have quarantine their document.
printf '%s\n' '{"id":"e","text":"short","loss_spans":[[0,6]]}' >>chat.jsonl
expect 4 "$SLUICE" run chat.lua --quiet --run-dir runc "tokenizer=$tokenizer"
says 'the text has 5 characters'

# Ids of two tokenizers don't mix.
cat >two.lua <<'L'
local s = require "sluice"
local a = s.args { one = { "path" }, two = { "path" } }
local one = s.files "corpus/a*" | s.read_jsonl {} | s.tokenize { a.one }
local two = s.files "corpus/b*" | s.read_jsonl {} | s.tokenize { a.two }
return s.pipeline { "two", s.union(one, two) | s.pack { 64 } | s.write_jsonl { "two" } }
L
mkdir -p corpus && cp chat.jsonl corpus/a.jsonl && cp chat.jsonl corpus/b.jsonl
expect 0 "$SLUICE" check two.lua "one=$tokenizer" "two=$tokenizer"
expect 2 "$SLUICE" check two.lua "one=$tokenizer" "two=$SRC/tests/data/tokenize/tiny_gpt2.json"
says 'two tokenizers' "'tokenize'" "'tokenize_2'" 'XXH3'
