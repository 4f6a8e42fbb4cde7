# errors.sh - any operation on the disk that fails (once with EIO, or from there on with ENOSPC) ends
# the run with 5 and the reason, or does not matter; never with a wrong result. Running again gives
# the bytes of a run that nobody disturbed. FULL=1: every operation.
# time limit: 1800
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=2 docs=200 bad=4 >made || fail 'no corpus'

go() {
    "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$(place "$1.run")" "input=$TMP/corpus/*" "out=$(place "$1.out")" \
        partitions=3 split=64KiB max_bad=2% --workers 2
}

SLUICE_TEST_OPLOG=$TMP/log
export SLUICE_TEST_OPLOG
expect 0 go whole
unset SLUICE_TEST_OPLOG
operations=$(operations log)
land whole.run whole.out
rm log
points=${POINTS:-10}
[ -z "${FULL-}" ] || points=$operations
point=0
stopped=0
while [ "$point" -lt "$points" ]; do
    at=$(((2 * point + 1) * operations / (2 * points) + 1))
    point=$((point + 1))
    for failure in "$at:EIO" "$at+:ENOSPC"; do
        forget cut.run cut.out
        status=0
        SLUICE_TEST_FAIL=$failure go cut >out 2>&1 || status=$?
        case $status in
        0) land cut.out && same whole.out cut.out "datasets of a run that went on after $failure" ;;
        5)
            stopped=$((stopped + 1))
            grep -q 'Input/output error\|No space left on device' out || { cat out >&2; fail "$failure: the message has no reason"; }
            ;;
        *) cat out >&2; fail "$failure of $operations operations: status $status" ;;
        esac
        expect 0 go cut
        land cut.run cut.out
        same whole.out cut.out "datasets after $failure"
        same whole.run/tasks cut.run/tasks "task records after $failure"
    done
done
[ "$stopped" -ge "$points" ] || fail "only $stopped failures of $((2 * points)) were noticed"
echo "$stopped of $((2 * points)) failures in $operations operations ended the run"
