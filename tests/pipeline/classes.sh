# classes.sh - bronze, silver and gold datasets: what each must have, and that a bronze one is written once.
. "$SRC/tests/lib.sh"

for i in 1 2 3; do echo "{\"id\":\"d$i\",\"text\":\"document number $i\"}"; done >docs.jsonl
cat >bronze.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "glob", "docs.jsonl" } }
local docs = s.files(a.input) | s.read_jsonl {} | s.contract { columns = { text = "utf8" }, required = { "text" } }
return s.pipeline { "bronze", docs | s.write_jsonl { "lake/bronze", compression = "none", class = { bronze = "an example of \"rows\"" } } }
L
cat >silver.lua <<'L'
local s = require "sluice"
return s.pipeline { "silver", s.dataset "lake/bronze@1" | s.read_jsonl {} | s.exact {} | s.write_jsonl { "lake/silver", compression = "none", class = "silver" } }
L
cat >gold.lua <<'L'
local s = require "sluice"
return s.pipeline { "gold", s.dataset "lake/silver" | s.read_jsonl {} | s.write_jsonl { "lake/gold", compression = "none", class = { gold = "o200k_base" } } }
L
# noted DATASET KEY VALUE: its manifest says so.
noted() {
    grep -qF "\"$2\": \"$3\"" "lake/$1/snapshots/000001.json" || fail "the manifest of $1 has no $2 = $3"
}
for name in bronze silver gold; do expect 0 "$SLUICE" run "$name.lua" --quiet; done
noted bronze write_jsonl.class 'bronze'
noted bronze write_jsonl.source 'an example of \"rows\"'
noted silver write_jsonl.class 'silver'
noted gold write_jsonl.tokenizer 'o200k_base'

# The same again is no news; anything else is refused, and what is there stays.
expect 0 "$SLUICE" run bronze.lua --quiet
cp -r lake/bronze before
sed 's/number 2/number two/' docs.jsonl >other.jsonl
expect 2 "$SLUICE" run bronze.lua --quiet input=other.jsonl
says 'lake/bronze is bronze, which is written once' 'snapshot 1 has 3 rows in 1 files' 'another dataset'
is "$(ls lake/bronze/snapshots)" "$(ls before/snapshots)" 'snapshots'
expect 0 "$SLUICE" run bronze.lua --quiet

bad() {
    writer=$1
    source=$2
    shift 2
    printf 'local s = require "sluice"\nlocal rows = %s\nreturn s.pipeline { "b", rows | s.write_jsonl { "b", class = %s } }\n' "$source" "$writer" >bad.lua
    expect 2 "$SLUICE" check bad.lua
    says "$@"
}
files='s.files "docs.jsonl" | s.read_jsonl {}'
bad '{ bronze = "here" }' "$files" 'rows of '\''files'\'' (bad.lua:2) reach it without a contract' s.contract
bad '{ bronze = "here" }' "s.union($files | s.contract { required = { \"text\" } }, s.files \"other.jsonl\" | s.read_jsonl {})" 'reach it without a contract'
bad '"bronze"' "$files | s.contract { required = { \"text\" } }" 'does not say where its rows come from'
bad '"silver"' "$files" "is silver, but reads files ('files', bad.lua:2)" s.dataset
bad '{ gold = "o200k_base" }' "$files" 'is gold, but reads files'
bad '"gold"' 's.dataset "lake/silver@1" | s.read_jsonl {}' 'does not say for which tokenizer'
bad '"golden"' "$files" "option 'class' of 'write_jsonl': found" golden 'expected { bronze ='
bad '{ silver = "x" }' "$files" "option 'class'"
bad '{ gold = "x", bronze = "y" }' "$files" "option 'class'"
# Rows are gold that were tokenized on the way.
printf 'local s = require "sluice"\nreturn s.pipeline { "t", s.dataset "lake/silver@1" | s.read_jsonl {} | s.tokenize { "%s" } | s.write_datatrove { "tokens", class = "gold" } }\n' \
    "$SRC/tests/data/tokenize/tiny_gpt2.json" >tokens.lua
expect 0 "$SLUICE" check tokens.lua
