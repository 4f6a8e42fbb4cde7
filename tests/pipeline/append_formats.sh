# append_formats.sh - appends to datasets of other formats than JSON Lines: pairs of files keep one number, a file over all shards is made
# anew over all of them, facts such as the tokenizer must be the same, and a writer whose files are called by their contents is refused.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

for d in 1 2; do
    perl -e 'my $d = shift; print "{\"text\":\"row $_ of day $d, the tide rises and falls\",\"id\":\"$d-$_\"}\n" for 1 .. 50' $d >day$d.jsonl
done
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "string" }, tokenizer = { "path" }, parquet = { "bool", false }, eos = { "string", "default" } }
local docs = s.files(a.input) | s.read_jsonl {}
local tokens = docs | s.tokenize { a.tokenizer, eos = a.eos }
local sinks = { "p", tokens | s.named("mds", s.write_mds { "out/mds", shard_size = "2KiB", mode = "append" }),
  tokens | s.named("megatron", s.write_megatron { "out/megatron", mode = "append" }) }
if a.parquet then sinks[4] = docs | s.named("parquet", s.write_parquet { "out/parquet", mode = "append" }) end
return s.pipeline(sinks)
L
parquet=false
[ ! -f "$BUILD/plugins/columnar.so" ] || parquet=true
go() {
    "$SLUICE" run p.lua --quiet --run-dir run "tokenizer=$SRC/tests/data/tokenize/tiny_gpt2.json" parquet=$parquet "$@"
}
for day in 1 2 2; do expect 0 go input=day$day.jsonl; done
for dataset in out/*; do
    is "$(find "$dataset/snapshots" -name '0*.json' | wc -l)" 2 "snapshots of $dataset"
    expect 0 "$SLUICE" verify "$dataset" --all
done
# Every shard stands in the index, which is there once.
is "$(find out/mds/latest/ -name index.json | wc -l)" 1 'indexes'
grep -o '"basename": *"part-[^"]*"' out/mds/latest/index.json | grep -o 'part-[^"]*' | sort -u >named
(cd out/mds/latest && ls part-*.mds) | cmp - named >&2 || fail 'the index does not name the shards'
[ "$(wc -l <named)" -gt 2 ] || fail 'too few shards'
(cd out/megatron/latest && ls part-*.bin) | sed 's/bin$/idx/' >left
(cd out/megatron/latest && ls part-*.idx) | cmp - left >&2 || fail 'a .bin without its .idx'
is "$(cut -d - -f 2 left | tr '\n' ' ')" '00000 00001 ' 'numbers of the parts'
if $parquet; then
    cat >r.lua <<'L'
local s = require "sluice"
return s.pipeline { "r", s.dataset "out/parquet" | s.read_parquet {} | s.named("rows", s.write_jsonl { "out2", compression = "none" }) }
L
    expect 0 "$SLUICE" run r.lua --quiet
    lines out2 | member id >found
    cat day1.jsonl day2.jsonl | member id | cmp - found >&2 || fail 'other rows in Parquet'
fi
cp day1.jsonl day3.jsonl
sed -i 's/day 1/day 3/' day3.jsonl
expect 2 go input=day3.jsonl eos=none
says 'its snapshot 2 were made with' 'mode = "rebuild"'
cat >named.lua <<'L'
local s = require "sluice"
local docs = s.files "{file}.jsonl" | s.read_jsonl { columns = { attributes = "json" } }
local keys = s.stage("dolma_line_keys", { from = 1 }, docs)
return s.pipeline { "n", s.stage("write_attribute_files", { "attributes", mode = "append" }, keys, nil, 2) }
L
expect 2 "$SLUICE" check named.lua
says "can't append: its files are called by what all of them hold"
