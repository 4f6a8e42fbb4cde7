# oplog.sh - a power cut at any moment: what the disk would hold after the first K operations of a
# run, with everything dropped that was not synced (`lost`: names too), is a state from which
# running again gives the bytes of a run that nobody disturbed. FULL=1: every third K.
# time limit: 1800
. "$SRC/tests/lib.sh"

command -v python3 >/dev/null 2>&1 || skip 'python3, which replays the operations, is not installed'
perl "$CORPUS" corpus files=2 docs=250 bad=4 >made || fail 'no corpus'

# go FOLDER
go() {
    "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$TMP/$1/run" "input=$TMP/corpus/*" "out=$TMP/$1/out" \
        partitions=3 split=64KiB max_bad=2% --workers 2
}

# Logs a run and replays it.
record() {
    rm -rf whole none all log
    mkdir whole none
    SLUICE_TEST_OPLOG=$TMP/log
    export SLUICE_TEST_OPLOG
    expect 0 go whole
    unset SLUICE_TEST_OPLOG
    expect 0 python3 "$SRC/tests/crash/replay.py" log "$TMP/whole" all --base none --prefix 999999
    operations=$(cat stdout)
    [ "$operations" -gt 300 ] || fail "only $operations operations"

    # The replay itself: all operations replayed are the tree that is there.
    expect 0 python3 "$SRC/tests/crash/replay.py" log "$TMP/whole" all --base none --prefix "$operations"
    for folder in out run/tasks run/spill; do
        same "whole/$folder" "all/$operations-all/$folder" "the replay of all operations, $folder"
    done
    # What a finished run published stays after a power cut.
    same whole/out "all/$operations-lost/out" 'datasets of a run that ended, after a power cut'
}

# cuts POINTS
cuts() {
    points=$1
    [ -z "${FULL-}" ] || points=$((operations / 3))
    point=0
    tried=0
    while [ "$point" -lt "$points" ]; do
        at=$(((2 * point + 1) * operations / (2 * points)))
        for mode in lost torn; do
            rm -rf cut
            expect 0 python3 "$SRC/tests/crash/replay.py" log "$TMP/whole" cut --base none --prefix "$at" --mode "$mode"
            expect 0 go "cut/$at-$mode"
            same whole/out "cut/$at-$mode/out" "datasets after operation $at of $operations, $mode"
            same whole/run/tasks "cut/$at-$mode/run/tasks" "task records after operation $at of $operations, $mode"
            tried=$((tried + 1))
        done
        point=$((point + 1))
    done
    echo "$tried states of $operations operations"
}

# Short tasks: what they spill, and their records, are not synced.
record
cuts "${POINTS:-18}"
# As if each task had taken long: with its record all that it made survives.
SLUICE_TEST_DURABLE=1
export SLUICE_TEST_DURABLE
record
for folder in tasks spill; do
    same "whole/run/$folder" "all/$operations-lost/run/$folder" "$folder of a run whose tasks took long, after a power cut"
done
cuts "${POINTS:-6}"
