# saved_tokens.sh - packing and the writers of token files go on from their saved state wherever their task was given back: the same files as of
# a run that nobody disturbed, with several shards, windows, rows carried from split to split, and compression.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=2 docs=300 bad=4 >made || fail 'no corpus'
cat >tokens.lua <<'END'
local s = require "sluice"
local a = s.args { tokenizer = { "path" }, out = { "path", "out" } }
local tokens = s.files "corpus/*" | s.read_jsonl { columns = { kind = "utf8", score = "float64" } } | s.tokenize { a.tokenizer }
local function o(name, more)
  more[1] = a.out .. "/" .. name
  return more
end
return s.pipeline { "tokens", max_bad = "5%",
  tokens | s.write_datatrove(o("ds", { shard_size = "64KiB" })),
  tokens | s.write_datatrove(o("documents", { sequences = "documents" })),
  tokens | s.write_memmap(o("memmap", { shard_size = "64KiB" })),
  tokens | s.write_mds(o("mds", { shard_size = "20KiB" })),
  tokens | s.write_mds(o("mds_zstd", { shard_size = "20KiB", compression = "zstd" })),
  tokens | s.write_megatron(o("megatron", { shard_size = "64KiB" })),
  tokens | s.pack { sequence_length = 256 } | s.write_megatron(o("fit", { shard_size = "64KiB", sequences = "documents" })),
  tokens | s.pack { sequence_length = 300, strategy = "concat", cu_seqlens = true, position_ids = true, document_ids = true }
    | s.write_mds(o("concat", { shard_size = "20KiB" })),
  tokens | s.pack { sequence_length = 512, window = 8000, carry = true } | s.write_megatron(o("carry", { shard_size = "64KiB" })) }
END
go() {
    "$SLUICE" run tokens.lua --quiet --run-dir "$TMP/$1.run" "tokenizer=$SRC/tests/data/tokenize/tiny_gpt2.json" "out=$TMP/$1.out" \
        --workers 1 --batch 16KiB
}
expect 0 go whole
[ "$(shards whole.out/ds | wc -l)" -gt 2 ] || fail 'one file alone'

SLUICE_SAVE=0
export SLUICE_SAVE SLUICE_TEST_SAVE
for n in 3 8; do
    SLUICE_TEST_SAVE="$n!"
    status=130
    rounds=0
    while [ "$status" = 130 ]; do
        rounds=$((rounds + 1))
        [ "$rounds" -lt 400 ] || fail "every $n: no end"
        status=0
        go "back$n" >out 2>&1 || status=$?
    done
    [ "$status" = 0 ] || { cat out >&2; fail "every $n: status $status"; }
    [ "$rounds" -gt 2 ] || fail "every $n: it was not given back"
    went=$(cat "back$n.run"/attempts/*.jsonl | grep -c '"from_row"')
    [ "$went" -gt 1 ] || fail "every $n: nothing went on from a saved state"
    same whole.out "back$n.out" "token files, given back at every ${n}th place"
    same whole.run/tasks "back$n.run/tasks" "records, given back at every ${n}th place"
    echo "every $n: $rounds processes, $went tasks went on"
done
