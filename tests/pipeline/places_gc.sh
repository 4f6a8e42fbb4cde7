# places_gc.sh - `gc` of a run in a place whose lists lack what was just put: whatever they lack, nothing goes that a record or a snapshot
# needs, and what goes is what would go from a disk, now or with a later gc. One run and many seeds of what goes wrong (SEEDS=N).
# time limit: 1200
STORE=hostile
. "$SRC/tests/lib.sh"
# shellcheck disable=SC1091
. "$SRC/tests/cli/look_kit"

make_corpus
cp -p in/a.jsonl first
write() {
    cat >t.lua <<END
local s = require "sluice"
local a = s.args { out = { "path" } }
local docs = s.union(s.files "in/a.jsonl" | s.read_jsonl {}, s.files "in/b.jsonl" | s.read_jsonl {})
local odd = s.heuristic { "odd", options = { max = { "int", 100 } },
  measure = function(doc) if doc.text:find "a5" then error "no a5" end return #doc.text:words() end, drop = { above = "max" } }
local good = docs | s.gopher_quality { min_doc_words = $1, min_stop_words = 1 }
local unique = good | odd {} | s.exact { partitions = 2 }
return s.pipeline { "t", max_bad = 10, unique | s.write_jsonl { a.out .. "/kept" }, unique.dropped | s.write_jsonl { a.out .. "/dropped" } }
END
}
go() {
    expect 0 "$SLUICE" run t.lua --quiet --run-dir "$(place r)" "out=$(place o)" "$@"
}
# files: what stands where gc looks, without records of attempts, leases and reports
files() {
    land r o
    find r/tasks r/spill r/quarantine o -type f 2>/dev/null | LC_ALL=C sort
}
# What a run leaves when nothing is left over: two versions of the script, one after the other, and a gc where all goes well.
write 12
go
write 9
go
files >all
mv objects objects.0
# Once more with an input that nobody read as it is now: keys of tasks are not known.
change() {
    sed 's/"n":5/"n":6/' first >in/a.jsonl
    expect 0 "$SLUICE" prepare t.lua --run-dir "$(place r)" "out=$(place o)"
}
# state KIND: as it was before gc
state() {
    rm -rf objects
    cp -r objects.0 objects
    cp -p first in/a.jsonl
    [ "$1" = 0 ] || change
}
for kind in 0 1; do
    state $kind
    expect 0 "$SLUICE" gc "$(place r)"
    files >clean.$kind
    [ "$(wc -l <clean.$kind)" -lt "$(wc -l <all)" ] || fail 'gc removed nothing'
done
seed=0
removed=0
while [ "$seed" -lt "${SEEDS:-12}" ]; do
    seed=$((seed + 1))
    kind=$((seed % 3 == 0))
    faults $seed:$((4 + seed % 5))
    state $kind
    expect 0 "$SLUICE" gc "$(place r)"
    files >left
    LC_ALL=C comm -13 left clean.$kind >gone
    [ ! -s gone ] || { cat gone >&2; fail "seed $seed: gc removed what a run needs"; }
    removed=$((removed + $(wc -l <all) - $(wc -l <left)))
    [ $kind = 1 ] || expect 0 "$SLUICE" verify "$(place r)"
    go
    land r
    [ $kind = 1 ] || is "$(reran r | sum)" 0 "seed $seed: tasks that ran again after gc"
    expect 0 "$SLUICE" verify "$(place o/kept)" --all
done
[ "$removed" -gt 0 ] || fail 'gc removed nothing under faults'
echo "$seed seeds, $removed files removed"
