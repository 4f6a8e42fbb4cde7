# races.sh - a second run in a run directory ends with 5 and names who holds it; runs in directories
# of their own that write the same dataset at once publish one snapshot, equal to that of a run
# that nobody disturbed.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=3 docs=300 >made || fail 'no corpus'

# go RUN OUT
go() {
    "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$(place "$1")" "input=$TMP/corpus/*" "out=$(place "$2")" partitions=4 --workers 2
}

expect 0 go calm.run calm
land calm calm.run
faults 7:12

# The delays make the first run last long enough.
SLUICE_TEST_DELAY=5
export SLUICE_TEST_DELAY
(exec "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$(place first.run)" "input=$TMP/corpus/*" "out=$(place first)" partitions=4) >first.out 2>&1 &
first=$!
waited=0
while [ "$(commits first.run)" = 0 ]; do
    waited=$((waited + 1))
    [ "$waited" -lt 6000 ] || fail 'the first run commits nothing'
    sleep 0.01
done
expect 5 go first.run first
kill -0 "$first" 2>/dev/null || fail 'the first run was over before the second one began'
says "process $first" first.run
wait "$first" || fail 'the first run was disturbed'
land first
same calm first 'datasets of the first run'

# Four at once into one dataset.
for number in 1 2 3 4; do
    SLUICE_TEST_DELAY=$number
    faults $number:12
    go "many$number.run" many >"many$number.log" 2>&1 &
    eval "pid$number=$!"
done
# shellcheck disable=SC2154
for number in 1 2 3 4; do
    eval "wait \$pid$number" || { cat "many$number.log" >&2; fail "run $number of four into one dataset"; }
done
land many
same calm many 'datasets of four runs at once'
is "$(find many/kept/snapshots -name '*.json' | wc -l)" 1 'snapshots'

# One task in four processes at once: one of them commits it, all of them end well.
expect 0 go apart.run apart
forget apart.run/tasks apart.run/spill apart
unset SLUICE_TEST_DELAY
for task in 0 1 2; do
    for number in 1 2 3 4; do
        faults $task$number:12
        "$SLUICE" task "$(place apart.run)" "$task" >"task$number.log" 2>&1 &
        eval "pid$number=$!"
    done
    for number in 1 2 3 4; do
        eval "wait \$pid$number" || { cat "task$number.log" >&2; fail "task $task in four processes at once"; }
    done
    is "$(commits apart.run)" $((task + 1)) 'records of tasks done by four processes at once'
done
expect 0 go apart.run apart
land apart apart.run
same calm apart 'datasets after tasks were done by four processes at once'
same calm.run/tasks apart.run/tasks 'task records after tasks were done by four processes at once'
