# saved_partitions.sh - a writer of partitions goes on from its saved state wherever its task was given back: the same folders and files as of a
# run that nobody disturbed, with frames that are whole and begun, and several files in a folder.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=2 docs=300 bad=4 >made || fail 'no corpus'
cat >p.lua <<'END'
local s = require "sluice"
local a = s.args { out = { "path", "out" } }
local docs = s.files "corpus/*" | s.read_jsonl { columns = { kind = "utf8" } }
return s.pipeline { "p", max_bad = "5%",
  docs | s.write_jsonl { a.out .. "/kinds", partition_by = { "kind", { hash = "id", n = 2 } }, shard_size = "20KiB" },
  docs | s.write_jsonl { a.out .. "/gz", partition_by = { "kind" }, compression = "gzip" } }
END
go() {
    "$SLUICE" run p.lua --quiet --run-dir "$TMP/$1.run" "out=$TMP/$1.out" --workers 1 --batch 16KiB
}
expect 0 go whole
[ "$(find whole.out/kinds/latest/ -name 'part-*' | wc -l)" -gt 12 ] || fail 'few files'

SLUICE_SAVE=0
export SLUICE_SAVE SLUICE_TEST_SAVE
for n in 2 5; do
    SLUICE_TEST_SAVE="$n!"
    status=130
    rounds=0
    while [ "$status" = 130 ]; do
        rounds=$((rounds + 1))
        [ "$rounds" -lt 400 ] || fail "every $n: no end"
        status=0
        go "back$n" >out 2>&1 || status=$?
    done
    [ "$status" = 0 ] || { cat out >&2; fail "every $n: status $status"; }
    [ "$rounds" -gt 2 ] || fail "every $n: it was not given back"
    went=$(cat "back$n.run"/attempts/*.jsonl | grep -c '"from_row"')
    [ "$went" -gt 1 ] || fail "every $n: nothing went on from a saved state"
    same whole.out "back$n.out" "folders, given back at every ${n}th place"
    same whole.run/tasks "back$n.run/tasks" "records, given back at every ${n}th place"
done
