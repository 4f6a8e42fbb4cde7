# checkpoint.sh - s.checkpoint: the rows and dropped rows that come without it, for any workers; what changes behind it makes nothing before it run
# again; forks, two in a row, sampling at it, and gc; plan says where one would have paid.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=6 docs=400 >made || fail 'no corpus'
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { way = { "string", "none" }, min = { "int", 30 }, out = { "path", "out" } }
local function here(name) return a.way:find(name, 1, true) ~= nil end
local rows = s.files { "corpus/*", split = "64KiB" } | s.read_jsonl { columns = { kind = "utf8" } }
  | s.annotate { "measured", adds = { letters = "float64" }, function(doc) return { letters = doc.text:share "letter" } end }
if here "first" then rows = rows | s.checkpoint {} end
rows = rows | s.gopher_quality { min_doc_words = a.min }
if here "second" then rows = rows | s.named("kept_here", s.checkpoint {}) end
if here "twice" then rows = rows | s.checkpoint {} | s.checkpoint {} end
local fork = rows
rows = rows | s.filter { "no_lorem", function(doc) if doc.text:contains "Lorem ipsum" then return "lorem", doc.letters, 0.5 end end }
if here "end" then rows = rows | s.checkpoint {} end
return s.pipeline { "p", rows | s.write_jsonl { a.out .. "/kept", compression = "none" }, rows.dropped | s.write_jsonl { a.out .. "/dropped", compression = "none" },
  here "fork" and fork | s.exact {} | s.write_jsonl { a.out .. "/once", compression = "none" } or nil }
L
run() {
    _name=$1
    shift
    expect 0 "$SLUICE" run p.lua --quiet --run-dir "$_name.run" out="$_name" "$@"
}
run none
lines none/kept >kept
lines none/dropped >dropped
[ "$(wc -l <kept)" -gt 50 ] && [ "$(wc -l <dropped)" -gt 50 ] || fail 'too few rows to tell anything'
for way in first second twice end first+second+end; do
    for workers in 1 2 5; do
        run "$way-$workers" way=$way --workers $workers
        lines "$way-$workers/kept" | cmp -s - kept || fail "$way, $workers workers: other rows than without a checkpoint"
        lines "$way-$workers/dropped" | cmp -s - dropped || fail "$way, $workers workers: other dropped rows"
    done
    same "$way-1" "$way-2" "datasets of $way"
    same "$way-1" "$way-5" "datasets of $way"
done

# Nothing before it runs again; without it all of it does.
reused() {
    expect 0 "$SLUICE" plan p.lua out="$1" way="$2" min=60 --run-dir "$1.run" --json
    json "$TMP/stdout" phases.0.reused phases.0.tasks | tr '\n' ' '
}
tasks=$(json none.run/last.json phases.0.tasks)
[ "$tasks" -ge 6 ] || fail 'too few tasks'
is "$(reused none none)" "0 $tasks " 'reused without a checkpoint'
is "$(reused first-2 first)" "$tasks $tasks " 'reused before a checkpoint'
is "$(reused second-2 second)" "0 $tasks " 'reused where what changed stands before it'
run first-2 way=first min=60
run none min=60
lines none/kept >a
lines first-2/kept | cmp -s - a || fail 'other rows after a change'

# A fork at it, with what stands behind; its rows are stored once.
run fork way=second+fork
run fork0 way=fork
lines fork/once >a
lines fork0/once >b
cmp -s a b || fail 'a fork at a checkpoint has other rows'

expect 0 "$SLUICE" sample p.lua way=second --at kept_here -n 20 -o at.jsonl --quiet
expect 0 "$SLUICE" sample p.lua way=second --after kept_here -n 20 -o after.jsonl --quiet
cmp -s at.jsonl after.jsonl || fail 'other rows come to a checkpoint than leave it'

# What it stored is kept as long as the run needs it.
expect 0 "$SLUICE" gc first-2.run
is "$(reused first-2 first)" "$tasks $tasks " 'reused after gc'

printf 'local s = require "sluice"\nreturn s.pipeline { "x", s.files "corpus/*" | s.read_jsonl {} | s.checkpoint { keep = 3 } | s.write_jsonl { "o" } }\n' >x.lua
expect 2 "$SLUICE" check x.lua
says 's.checkpoint: found options'
