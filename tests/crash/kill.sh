# kill.sh - kill -9 at any operation on the disk, chosen by seeds over the whole run and over the
# runs that resume it, leaves nothing or valid commits: running again gives the bytes of a run that
# nobody disturbed, works only on tasks that had no commit, and leaves no debris. FULL=1: 500 kills.
# time limit: 3600
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=3 docs=300 bad=4 >made || fail 'no corpus'

go() {
    "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$(place "$1.run")" "input=$TMP/corpus/*" \
        "out=$(place "$1.out")" partitions=8 split=64KiB max_bad=2% "columnar=${COLUMNAR:-false}" --workers "$2"
}

SLUICE_TEST_OPLOG=$TMP/log
export SLUICE_TEST_OPLOG
expect 0 go whole 2
unset SLUICE_TEST_OPLOG
operations=$(operations log)
rm log
land whole.run whole.out
json whole.run/last.json 'phases.*.tasks' >tasks
total=$(sum <tasks)
is "$(awk '$1 != 1 && $1 < 8' tasks)" '' 'phases with fewer than 8 tasks'
[ "$operations" -gt 500 ] || fail "only $operations operations"

kills=${KILLS:-40}
[ -z "${FULL-}" ] || kills=500
killed=0
seed=0
while [ "$killed" -lt "$kills" ]; do
    seed=$((seed + 1))
    [ "$seed" -le $((kills * 3)) ] || fail "only $killed of $seed seeds killed the run"
    forget cut.run cut.out
    faults "$seed:8"
    # Every third time the run that resumes is killed too.
    rounds=$((1 + (seed % 3 == 0)))
    while [ "$rounds" -gt 0 ]; do
        may_be_killed "$seed$rounds:$((operations / (rounds * rounds)))" go cut $((1 + seed % 4))
        rounds=$((rounds - 1))
    done
    land cut.run
    committed=$(commits cut.run)
    expect 0 go cut 2
    land cut.run cut.out
    again=$(reran cut.run | sum)
    [ $((again + committed)) -le "$total" ] || fail "seed $seed: $committed of $total tasks were committed, $again ran again"
    same whole.out cut.out "datasets after seed $seed"
    same whole.run/tasks cut.run/tasks "task records after seed $seed"
    same whole.run/spill cut.run/spill "spill files after seed $seed"
done
echo "$killed kills in runs of $operations operations and $total tasks"
