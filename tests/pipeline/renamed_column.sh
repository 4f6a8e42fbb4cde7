# renamed_column.sh - half of the files rename the member `response` to `completion`. With a
# contract the run halts (3) and names file and column; without one the pass-rate gate halts it at
# the barrier. Nothing is published either way, and the same gates let sound files through.
. "$SRC/tests/lib.sh"

"$SLUICE" inspect gate_check >/dev/null 2>&1 || skip 'the plugin gate is not built'
perl "$CORPUS" corpus files=8 docs=60 dup=0 near=0 short=0 lorem=0 codec=none >/dev/null || fail 'no corpus'
for file in corpus/*; do sed -i 's/"text":/"response":/' "$file"; done
cp -r corpus sound
for file in corpus/part-0000[4567].jsonl; do sed -i 's/"response":/"completion":/' "$file"; done

cat >contract.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "glob", "corpus/*" }, out = { "path", "out" } }
local docs = s.files { a.input, split = "64KiB" } | s.read_jsonl { text = "response" } | s.gate { require = { "text" } }
return s.pipeline { "contract", docs | s.gopher_quality { min_doc_words = 10 } | s.write_jsonl { a.out } }
L
cat >rate.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "glob", "corpus/*" }, out = { "path", "out" } }
local docs = s.files { a.input, split = "64KiB" } | s.read_jsonl { text = "response" }
local good = docs | s.gopher_quality { min_doc_words = 10 } | s.gate { pass_rate = { min = 0.8, of = docs } }
return s.pipeline { "rate", good | s.write_jsonl { a.out } }
L

cat >suggest.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "glob", "corpus/*" }, out = { "path", "out" } }
local docs = s.files { a.input, split = "64KiB" } | s.read_jsonl { text = "response" } | s.contract { required = { "text" }, limit = 0 }
return s.pipeline { "suggest", docs | s.gopher_quality { min_doc_words = 10 } | s.write_jsonl { a.out } }
L

unpublished() {
    [ ! -e "$1/latest" ] && [ -z "$(ls "$1/snapshots" 2>/dev/null)" ] || fail "$1 was published"
}

expect 3 "$SLUICE" run contract.lua --quiet out=one
says part-00004.jsonl "'text'"
unpublished one
expect 3 "$SLUICE" run rate.lua --quiet out=two
says pass_rate
unpublished two
is "$(json .sluice/rate/last.json state)" halted 'state of the report'
# Again: what was done is kept, and the judgement stays.
expect 3 "$SLUICE" run rate.lua --quiet out=two
is "$(reran .sluice/rate | sum)" 0 'tasks that ran again'
unpublished two

expect 4 "$SLUICE" run suggest.lua --quiet out=three
says part-00004.jsonl "the required column 'text' is null; the record has 'completion' instead" 'was it renamed?'
unpublished three

for script in contract rate suggest; do
    expect 0 "$SLUICE" run "$script.lua" --quiet "input=$TMP/sound/*" "out=sound-$script"
    [ "$(lines "sound-$script" | wc -l)" -gt 470 ] || fail "rows of sound files, $script"
done
