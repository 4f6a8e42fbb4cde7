# spill.sh - a run in the least memory that it takes writes what does not fit to scratch files, and
# makes the same bytes as one that holds everything in memory; less memory than that is refused with
# the number, and scratch files are gone afterwards.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=8 docs=640 words=60 >made || fail 'no corpus'
cat >spill.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" } }
local docs = s.files { "corpus/*", split = "1GiB" } | s.read_jsonl { columns = { kind = "utf8" } }
local unique = docs | s.minhash { ngram = 2, bands = 1200, rows = 1, partitions = 2 }
return s.pipeline { "spill", unique | s.write_jsonl { a.out .. "/kept" }, unique.dropped | s.write_jsonl { a.out .. "/lost" } }
L
go() {
    name=$1
    shift
    rm -f log
    SLUICE_TEST_OPLOG=$TMP/log
    export SLUICE_TEST_OPLOG
    expect 0 "$SLUICE" run spill.lua --quiet --run-dir "$(place "$name.run")" --scratch "$TMP/$name.scratch" "out=$(place "$name")" "$@"
    unset SLUICE_TEST_OPLOG
    spilled=$(operations log "^1 $TMP/$name.scratch/")
    land "$name" "$name.run"
    is "$(find "$TMP/$name.scratch" -type f ! -path '*/cache/*' ! -path '*/content/*' | wc -l)" 0 'scratch files left'
}
faults 11:11
go large --memory 16GiB --workers 1
is "$spilled" 0 'scratch files with plenty of memory'
for workers in ${WORKERS:-1 4}; do
    memory=$(least run spill.lua --quiet --run-dir "$(place least.run)" "out=$(place least)" --workers $workers) || exit 1
    go "small$workers" --memory "$memory" --workers $workers
    [ "$spilled" -gt 0 ] || fail "no scratch file in $memory with $workers workers"
    echo "$spilled scratch files in $memory with $workers workers"
    same large "small$workers" "datasets of $workers workers in little memory"
    same large.run/tasks "small$workers.run/tasks" "task records of $workers workers in little memory"
done
