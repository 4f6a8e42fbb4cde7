# syncs.sh - how often a small run waits for the disk: what can be made again is not synced, and a snapshot
# of one file costs seven syncs (core/store/snapshot_publish.c). Eight documents, near duplicates among them, through a filter and
# both deduplications into two datasets: once 230 syncs.
. "$SRC/tests/lib.sh"

for number in 1 2 3 4 5 6 7 8; do
    echo "{\"id\":\"d$number\",\"text\":\"Document number $((number / 2)) tells of tides and of the moon that makes them, and of ships that wait in the harbour.\"}"
done >docs.jsonl
cat >p.lua <<'END'
local s = require "sluice"
local unique = s.files "docs.jsonl" | s.read_jsonl {} | s.gopher_repetition {} | s.exact {} | s.minhash {}
return s.pipeline { "p",
  s.named("kept", unique | s.write_jsonl { "out/kept" }),
  s.named("dropped", unique.dropped | s.write_jsonl { "out/dropped" }),
}
END
# syncs MOST OPTION...
syncs() {
    most=$1
    shift
    SLUICE_TEST_OPLOG=$TMP/log
    export SLUICE_TEST_OPLOG
    expect 0 "$SLUICE" run p.lua --quiet --run-dir "$TMP/run" "$@"
    unset SLUICE_TEST_OPLOG
    count=$(operations log '^[34] ')
    rm log
    [ "$count" -le "$most" ] || fail "$count syncs of eight documents, at most $most are expected: $*"
    echo "$count syncs: $*"
}
syncs 30
syncs 12 --workers 1 # nothing to do
rm -rf run out
syncs 30 --workers 1
