# why_many.sh - `why` tells of every row that holds a part of a document, however many; floats that JSON has no number for are counted.
# shellcheck shell=sh
. "$SRC/tests/lib.sh"

vocabulary=$SRC/tests/data/tokenize/tiny_gpt2.json
perl -e 'print "{\"id\":\"long\",\"text\":\"", "abcdefgh " x 400, "\"}\n{\"id\":\"short\",\"text\":\"abc\"}\n"' >docs.jsonl
cat >many.lua <<L
local s = require "sluice"
return s.pipeline { "many", s.files "docs.jsonl" | s.read_jsonl {} | s.tokenize { "$vocabulary" }
  | s.pack { sequence_length = 8 } | s.write_jsonl { "rows", compression = "none" } }
L
expect 0 "$SLUICE" run many.lua --quiet
rows=$(lines rows | wc -l)
[ "$rows" -gt 200 ] || fail "only $rows rows"
"$SLUICE" why many --id long --json >why.json || fail 'why'
told=$(grep -o '"fate": *"written"' why.json | wc -l)
[ "$told" -ge $((rows - 1)) ] || fail "why tells of $told rows, $rows were written"

cat >floats.lua <<'L'
local s = require "sluice"
local scored = s.files "docs.jsonl" | s.read_jsonl {}
  | s.annotate { "scored", adds = { score = "float64" }, function(doc) if doc.id == "long" then return { score = 0 / 0 } end return { score = 1 / 3 } end }
return s.pipeline { "floats", scored | s.write_jsonl { "scores", compression = "none" } }
L
expect 0 "$SLUICE" run floats.lua --quiet
lines scores | grep -q '"score":null' || fail "nan is: $(lines scores | grep -o '"score".*')"
grep -q '"not_finite_as_null": *1\b' scores/latest/../snapshots/*.json 2>/dev/null || grep -rq '"not_finite_as_null": *1\b' scores/snapshots ||
    fail "what became null is not counted: $("$SLUICE" report floats --json)"
"$SLUICE" report floats >report || fail 'report'
grep -q 'write_jsonl: 1 not finite as null' report || { cat report >&2; fail 'the report says nothing of what became null'; }
