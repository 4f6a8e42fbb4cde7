# max_bad.sh - rows that fail end a run while its tasks run: at once above a count, and when the first thousand that a stage gets in a task
# all fail, unless max_bad expects many. Whether it ends does not depend on workers, and a share is judged when all records are known.
. "$SRC/tests/lib.sh"

cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "glob", "all" }, max_bad = { "string", "0.1%" } }
return s.pipeline { "p", max_bad = a.max_bad, s.files { a.input, split = "64KiB" } | s.read_jsonl { text = "text", id = "id" }
    | s.filter { "f", function(doc) if doc.text:find "bad" then error "boom" end end } | s.write_jsonl { "out" } }
L

# rows COUNT WORD...: so many rows of each word
rows() {
    perl -e 'while (@ARGV) { my ($n, $word) = splice @ARGV, 0, 2; printf "{\"id\":\"%d\",\"text\":\"%s\"}\n", ++$id, $word for 1 .. $n }' "$@"
}
mkdir all first late
rows 20000 bad >all/a.jsonl
{ rows 200 good && rows 20000 good; } >first/a.jsonl && cp first/a.jsonl late/a.jsonl
rows 1000 bad 200 good >first/b.jsonl
rows 1 good 1500 bad >late/b.jsonl

# run STATUS INPUT MAX_BAD [OPTION...]
run() {
    rm -rf run out
    _wanted=$1 _input=$2 _max=$3
    shift 3
    expect "$_wanted" "$SLUICE" run p.lua --quiet --run-dir "$TMP/run" "input=$_input/*" "max_bad=$_max" "$@"
}
# tried: rows that the filter was given, of three letters each
tried() {
    echo $(($(json run/last.json 'phases.0.stages.1.worked_bytes') / 3))
}

run 4 all 0.1% --workers 1
says "the first 1000 rows of this task all fail in stage 'f'" 'lua_error in row 0' 'p.lua:4: boom' 'max_bad = "100%"'
[ "$(tried)" -le 1500 ] || fail "$(tried) rows of 20000 were tried after the first thousand failed"

run 4 all 3 --workers 1
says '4 records are quarantined, max_bad = 3' "stage 'f'" 'p.lua:4: boom'
[ "$(tried)" -le 20 ] || fail "$(tried) rows were tried where three may fail"
run 4 all 0 --workers 3
says 'max_bad = 0' 'p.lua:4: boom'

for workers in 1 4; do
    run 4 first 9% --workers $workers
    says 'the first 1000 rows of this task' 'b.jsonl'
    run 0 first 10% --workers $workers
    is "$(json run/last.json quarantined)" 1000 'rows that may fail'
    run 0 late 9% --workers $workers
    is "$(json run/last.json quarantined)" 1500 'rows that fail behind one that does not'
    run 4 late 1% --workers $workers
    says '1500 of 21701 records (6.91 %) are quarantined, max_bad = 1 %'
    run 4 late 1499 --workers $workers
    says '1500 records are quarantined, max_bad = 1499'
    run 0 late 1500 --workers $workers
done
