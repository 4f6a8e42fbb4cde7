# decontaminate.sh - texts with a piece of a benchmark are found by each of the three rules, dropped rows say what of which item was found,
# `why` tells it, and the janitor's cut leaves the rest; decon's fixtures give its hits; any workers, the same bytes.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

cp "$SRC"/tests/data/decontaminate/*.jsonl .
cat >clean.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, rule = { "string", "decon" }, input = { "glob", "mixed.jsonl" } }
local docs = s.files { a.input } | s.read_jsonl {}
local left = docs | s.decontaminate { reference = "reference.jsonl", rule = a.rule, id = "doc_id", task = "eval_key", sample = 1, min_tokens = 0, window = 20, min_piece = 10 }
return s.pipeline { "clean", left | s.write_jsonl { a.out .. "/kept", compression = "none" },
  left.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" } }
L
expect 0 "$SLUICE" run clean.lua --quiet --run-dir decon.run out=decon
# decon's test: training lines 0 and 3 are hit by the items of reference lines 0 and 1.
lines decon/lost >lost
is "$(member id <lost | paste -sd ' ')" 'mixed-0 mixed-3' "decon's hits"
is "$(member dup_of <lost | paste -sd ' ')" '101 102' 'the items'
grep -q '"words":"what year was the eiffel tower constructed"' lost || fail 'the report does not say which words'
expect 0 "$SLUICE" why decon.run --id mixed-0
says contaminated 101
expect 0 "$SLUICE" run clean.lua --quiet --run-dir dt.run out=dt rule=datatrove
is "$(lines dt/lost | member id | paste -sd ' ')" 'mixed-4' 'the 12-gram of an answer'
lines dt/lost | grep -q '"ngram":"to solve 0x 0 0 subtract 0 from both sides to get"' || fail 'the report does not name the n-gram'
expect 0 "$SLUICE" run clean.lua --quiet --run-dir janitor.run out=janitor rule=janitor
lines janitor/kept >kept
is "$(grep '"id":"mixed-0"' kept | member text | cut -c1-50)" 'Here is some introductory text that is not part of' 'what stands before the cut'
grep '"id":"mixed-0"' kept | member text | grep -q 'landmark in Paris' && fail 'the passage was not cut out'
grep '"id":"mixed-0"' kept | grep -q '"hits":\[{"item":"101"' || fail 'the report of a cut is missing'
is "$(grep '"id":"mixed-1"' kept | member text)" "$(grep '"id":"mixed-1"' mixed.jsonl | member text)" 'a clean text'
perl -ne 'for my $i (0 .. 199) { (my $line = $_) =~ s/"mixed-/"$i-/; print $line }' <mixed.jsonl >many.jsonl
for workers in 1 4; do
    expect 0 "$SLUICE" run clean.lua --quiet --run-dir w$workers.run out=w$workers input=many.jsonl --workers $workers
    lines w$workers/lost >lost$workers
done
is "$(wc -l <lost1)" 400 'hits in many documents'
cmp -s lost1 lost4 || fail 'the rows differ with 4 workers'
# decon's other fixtures: what its own tests expect of them.
cat >fixtures.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, items = { "string", "reference.jsonl" }, threshold = { "float", 0.8 } }
local left = s.files { "fixtures.jsonl" } | s.read_jsonl {}
  | s.decontaminate { reference = a.items, rule = "decon", id = "doc_id", task = "eval_key", sample = 1, min_tokens = 0, min_unique = 0, threshold = a.threshold }
return s.pipeline { "fixtures", left | s.write_jsonl { a.out .. "/kept", compression = "none" }, left.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" } }
L
# hits NAME [ARGUMENT…]: "document item" of each.
hits() {
    name=$1
    shift
    expect 0 "$SLUICE" run fixtures.lua --quiet --run-dir "$name.run" out="$name" "$@"
    lines "$name/lost" >"$name.lost"
    member id <"$name.lost" >"$name.ids"
    member dup_of <"$name.lost" | paste -d ' ' "$name.ids" - >"$name.hits"
}
hits passages
for hit in 'beginning-0 101' 'middle-0 101' 'end-0 101'; do
    grep -qx "$hit" passages.hits || fail "decon finds $hit: $(paste -sd ' ' passages.hits)"
done
grep '"id":"multiple-0"' passages.lost | grep -q '"item":"10[0-9]".*"item":"10[0-9]".*"item":"10[0-9]"' || fail 'decon finds two items in multiple-0'
grep -q clean passages.hits && fail 'decon finds nothing in clean documents'
hits questions items=questions.jsonl
grep -qx 'punctuation-0 101' questions.hits || fail "decon finds an item in other punctuation: $(paste -sd ' ' questions.hits)"
hits strict threshold=0.95
hits lenient threshold=0.5
[ "$(grep -c edge lenient.hits)" -ge "$(grep -c edge strict.hits)" ] || fail 'a lower threshold finds less'
grep -qx 'edge-3 102' lenient.hits || fail 'the item of edge-3'
# A reference that is none.
printf '{"question": "x"}\n{"question": [1]}\n' >reference.jsonl
expect 2 "$SLUICE" run clean.lua --quiet --run-dir bad.run out=bad
says 'reference.jsonl, line 2' 'a field holds no text'
