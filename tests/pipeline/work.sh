# work.sh - any number of `sluice work` processes take the tasks of a run between them: one snapshot,
# the bytes of a run alone, and no task done twice. They help a coordinator, too, and one that is
# killed does not stop the others.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=4 docs=250 >made || fail 'no corpus'

go() {
    name=$1
    shift
    "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$(place "$name.run")" "input=$TMP/corpus/*" "out=$(place "$name")" partitions=4 "$@"
}
expect 0 go alone
land alone alone.run
faults 4:12
total=$(json alone.run/last.json 'phases.*.tasks' | sum)

# A run directory with a plan and nothing done yet.
prepare() {
    expect 0 go "$1" --workers 2
    forget "$1.run/tasks" "$1.run/spill" "$1"
}

prepare many
SLUICE_TEST_DELAY=9
SLUICE_TEST_OPLOG=$TMP/log
export SLUICE_TEST_DELAY SLUICE_TEST_OPLOG
# The plan remembers arguments, so the workers need none; they may run anywhere.
for number in 1 2 3; do
    (cd / && exec "$SLUICE" work "$(place many.run)" --workers 2 --quiet >"$TMP/work$number.out" 2>&1) &
    eval "pid$number=$!"
done
# shellcheck disable=SC2154
for number in 1 2 3; do
    eval "wait \$pid$number" || { cat "work$number.out" >&2; fail "worker $number"; }
done
land many many.run
same alone many 'datasets of three workers'
same alone.run/tasks many.run/tasks 'task records of three workers'
is "$(find many/kept/snapshots -name '*.json' | wc -l)" 1 'snapshots'
unset SLUICE_TEST_OPLOG
# Each record was begun once (an open of a temporary file in its folder).
[ "$STORE" != disk ] || is "$(operations log '^1 .*/many.run/tasks/.*/[.]tmp-')" "$(commits many.run)" 'task records that were begun'

prepare killed
(exec "$SLUICE" work "$(place killed.run)" --workers 1 --quiet >work1.out 2>&1) &
first=$!
(exec "$SLUICE" work "$(place killed.run)" --workers 1 --quiet >work2.out 2>&1) &
second=$!
waited=0
while [ "$(commits killed.run)" -lt 6 ]; do
    waited=$((waited + 1))
    [ "$waited" -lt 6000 ] || fail 'the workers commit nothing'
    sleep 0.01
done
kill -9 "$first"
wait "$second" || { cat work2.out >&2; fail 'the worker that was left'; }
wait "$first" 2>/dev/null || true
# What it was writing stays until somebody cleans up.
expect 0 "$SLUICE" gc "$(place killed.run)"
land killed killed.run
same alone killed 'datasets after a worker was killed'
same alone.run/tasks killed.run/tasks 'task records after a worker was killed'

# Beside a coordinator, which takes up what others did.
SLUICE_TEST_OPLOG=$TMP/log2
export SLUICE_TEST_OPLOG
go both --workers 1 >both.out 2>&1 &
coordinator=$!
waited=0
while ! there both.run/plan.json || [ "$(commits both.run)" -lt 1 ]; do
    waited=$((waited + 1))
    [ "$waited" -lt 6000 ] || fail 'the coordinator commits nothing'
    sleep 0.01
done
expect 0 "$SLUICE" work "$(place both.run)" --workers 2 --quiet
wait "$coordinator" || { cat both.out >&2; fail 'the coordinator'; }
unset SLUICE_TEST_OPLOG
land both both.run
same alone both 'datasets of a coordinator and a worker'
same alone.run/tasks both.run/tasks 'task records of a coordinator and a worker'
[ "$STORE" != disk ] || is "$(operations log2 '^1 .*/both.run/tasks/.*/[.]tmp-')" "$(commits both.run)" 'task records that a coordinator and a worker began'
[ "$total" -gt 30 ] || fail "only $total tasks"
