# syncs_hostile.sh - how many requests that change something a small run sends to a place without links: each costs tens of milliseconds and
# money in a store, and there is nothing to sync. The pipeline is that of syncs.sh.
STORE=hostile
. "$SRC/tests/lib.sh"

for number in 1 2 3 4 5 6 7 8; do
    echo "{\"id\":\"d$number\",\"text\":\"Document number $((number / 2)) tells of tides and of the moon that makes them, and of ships that wait in the harbour.\"}"
done >docs.jsonl
cat >p.lua <<'END'
local s = require "sluice"
local a = s.args { out = { "path" } }
local unique = s.files "docs.jsonl" | s.read_jsonl {} | s.gopher_repetition {} | s.exact {} | s.minhash {}
return s.pipeline { "p",
  s.named("kept", unique | s.write_jsonl { a.out .. "/kept" }),
  s.named("dropped", unique.dropped | s.write_jsonl { a.out .. "/dropped" }),
}
END
# puts MOST OPTION...: requests that change an object (an object in the making gets its name, or one goes)
puts() {
    most=$1
    shift
    SLUICE_TEST_OPLOG=$TMP/log
    export SLUICE_TEST_OPLOG
    expect 0 "$SLUICE" run p.lua --quiet --run-dir "$(place run)" "out=$(place out)" "$@"
    unset SLUICE_TEST_OPLOG
    count=$(operations log '^(9 .*/objects/[.]tmp-|6 .*/objects/o)')
    rm log
    [ "$count" -le "$most" ] || fail "$count changes for eight documents, at most $most are expected: $*"
    echo "$count changes: $*"
}
puts 72
puts 13 --workers 1 # nothing to do
forget run out
puts 72 --workers 1
