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

# A compaction of what came in is no news to who wrote it; anything else is refused as before.
mkdir days
"$PYTHON" - <<'P'
import json
for day in range(6):
    with open(f"days/{day}.jsonl", "w") as out:
        for n in range(900):
            out.write(json.dumps({"id": f"{day}-{n}", "text": f"text {n} of day {day}, of some length so that it is several files"}) + "\n")
P
cat >many.lua <<'L'
local s = require "sluice"
return s.pipeline { "many", s.files { "days/*.jsonl", split = "64KiB" } | s.read_jsonl {} | s.contract { required = { "text" } }
  | s.write_jsonl { "lake/many", compression = "none", class = { bronze = "days" } } }
L
expect 0 "$SLUICE" run many.lua --quiet
expect 0 "$SLUICE" compact lake/many --least 2
is "$(find lake/many/snapshots -name '0*.json' | wc -l)" 2 'snapshots after a compaction'
expect 0 "$SLUICE" run many.lua --quiet
expect 0 "$SLUICE" run many.lua --quiet --fresh
printf '0-7\n' >ids
expect 0 "$SLUICE" remove lake/many --ids ids
expect 0 "$SLUICE" run many.lua --quiet --fresh
is "$(find lake/many/snapshots -name '0*.json' | wc -l)" 3 'snapshots after the same run'
printf '{"id":"new","text":"one more"}\n' >days/6.jsonl
expect 2 "$SLUICE" run many.lua --quiet
says 'which is written once'
