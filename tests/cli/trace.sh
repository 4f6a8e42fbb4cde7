# Every row of a dataset leads back to the record that it was made from, also through rows of tokens.
# shellcheck disable=SC1091
. "$SRC/tests/cli/look_kit"
make_corpus
zstd -q in/a.jsonl -o in/c.jsonl.zst 2>/dev/null || cp in/a.jsonl in/c.jsonl.zst
sed -i 's/"id":"b/"id":"é\\\\n/' in/b.jsonl
cat >t.lua <<'END'
local s = require "sluice"
local docs = s.files { "in/*", split = "64KiB" } | s.read_jsonl {}
local good = docs | s.gopher_quality { min_doc_words = 9, min_stop_words = 1 }
local rows = good | s.tokenize { arg_tokenizer, eos = "default" } | s.pack { 96 }
return s.pipeline { "t", max_bad = 1, good | s.write_jsonl { "out", shard_size = "300B" }, good.dropped | s.write_jsonl { "dropped" },
  rows | s.write_megatron { "tokens" } }
END
sed -i "s|arg_tokenizer|\"$SRC/tests/data/tokenize/tiny_gpt2.json\"|" t.lua
"$SLUICE" run t.lua --quiet >/dev/null 2>&1 || echo "run failed: $?"
id_of() { sed 's/.*"id":"\([^"]*\)".*/\1/'; }
checked=0
for dataset in out dropped; do
    shard=0
    for file in "$dataset"/v000001/*; do
        row=0
        zstd -dc "$file" >lines
        while read -r line; do
            there=$("$SLUICE" trace "$dataset" $shard $row --text)
            [ "$(echo "$there" | id_of)" = "$(echo "$line" | id_of)" ] || echo "$file row $row is not $there"
            checked=$((checked + 1)) row=$((row + 1))
        done <lines
        shard=$((shard + 1))
    done
done
echo "$checked rows of JSON Lines lead to their records"
"$SLUICE" trace t write_jsonl_2 0 1 | neutral
"$SLUICE" trace "$PWD/dropped@1" "$(basename dropped/v000001/*)" 1 --json --text | neutral
echo '-- tokens'
"$SLUICE" head tokens -n 3 --tokens | neutral
"$SLUICE" trace t write_megatron 0 1 | neutral
"$SLUICE" why t --id a4 | neutral
echo '-- errors'
"$SLUICE" trace out 0 99 2>&1 | neutral
"$SLUICE" trace out 77 0 2>&1 | neutral
"$SLUICE" trace t writer 0 0 2>&1
"$SLUICE" trace out 0 x 2>&1
"$SLUICE" trace out 0 2>&1 | head -n 1
mkdir elsewhere && cp -r out elsewhere
(cd elsewhere && "$SLUICE" trace out 0 0) 2>&1 | neutral
(cd elsewhere && "$SLUICE" trace out 0 0 --run ../.sluice/t) | neutral
echo '-- after a change of the input'
echo >>in/a.jsonl
"$SLUICE" trace out 0 0 2>&1 | neutral
"$SLUICE" prepare t.lua >/dev/null
"$SLUICE" trace out 0 0 2>&1 | neutral
