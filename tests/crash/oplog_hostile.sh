# oplog_hostile.sh - a power cut at any moment of a machine whose run is in a place without links: what is there stays; what this machine
# holds of it (scratch, copies of files, what is known of them) loses names and bytes that were not synced, or all of them. From each such
# state running again gives the bytes of a run that nobody disturbed.
# time limit: 1800
STORE=hostile
. "$SRC/tests/lib.sh"

command -v python3 >/dev/null 2>&1 || skip 'python3, which replays the operations, is not installed'
perl "$CORPUS" corpus files=2 docs=200 bad=4 >made || fail 'no corpus'

# go FOLDER: a machine and a store of its own
go() {
    SLUICE_TEST_HOSTILE_ROOT=$TMP/$1/objects XDG_CACHE_HOME=$TMP/$1/cache "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet \
        --run-dir hostile://run out=hostile://out "input=$TMP/corpus/*" partitions=3 split=64KiB max_bad=2% --workers 2
}
# found FOLDER: what is in its store
found() {
    rm -rf out run
    for name in out run/tasks; do
        perl "$SRC/tests/objects.pl" "$TMP/$1/objects" "$name" "$TMP/$name" || fail "no objects in $1"
    done
}
mkdir whole none
SLUICE_TEST_OPLOG=$TMP/log
export SLUICE_TEST_OPLOG
expect 0 go whole
unset SLUICE_TEST_OPLOG
found whole
mv out whole.out
mv run whole.run
expect 0 python3 "$SRC/tests/crash/replay.py" log "$TMP/whole" all --base none --prefix 999999
operations=$(cat stdout)
[ "$operations" -gt 300 ] || fail "only $operations operations"
point=0
tried=0
points=${POINTS:-6}
[ -z "${FULL-}" ] || points=$((operations / 3))
while [ "$point" -lt "$points" ]; do
    at=$(((2 * point + 1) * operations / (2 * points)))
    for mode in lost torn; do
        rm -rf cut
        expect 0 python3 "$SRC/tests/crash/replay.py" log "$TMP/whole" cut --base none --prefix "$at" --mode "$mode" --safe objects
        faults $((at + 1)):11
        expect 0 go "cut/$at-$mode"
        found "cut/$at-$mode"
        same whole.out/kept/data out/kept/data "files after operation $at of $operations, $mode"
        same whole.out/kept/snapshots out/kept/snapshots "snapshots after operation $at of $operations, $mode"
        same whole.run/tasks run/tasks "task records after operation $at of $operations, $mode"
        tried=$((tried + 1))
    done
    point=$((point + 1))
done
echo "$tried states of $operations operations"
