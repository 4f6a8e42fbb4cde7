# finish.sh - whoever finishes a run writes its report, and one only: workers that end at the same time, workers killed anywhere, a worker
# that finds nothing left to do. Reports, history and datasets are those of a run.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=3 docs=120 >made || fail 'no corpus'
go() {
    "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$(place run)" "input=$TMP/corpus/*" "out=$(place data)" partitions=3 "$@"
}
reports() {
    land run/history && find run/history -name '*.json' | wc -l
}
# again: a run directory with a plan and nothing done
again() {
    forget run/tasks run/spill data
}
expect 0 go
is "$(reports)" 1 'reports of a run'
land data
cp -r data first
faults 3:9

again
for number in 1 2 3; do
    "$SLUICE" work "$(place run)" --workers 1 >"work$number.out" 2>&1 &
    eval "pid$number=$!"
done
# shellcheck disable=SC2154
for number in 1 2 3; do
    eval "wait \$pid$number" || { cat "work$number.out" >&2; fail "worker $number"; }
done
is "$(reports)" 2 'reports of a run and of three workers'
is "$(grep -l '^web: finished' work?.out | wc -l)" 1 'workers that print a report'
land run data
is "$(json run/last.json state)" finished 'the state in the report'
cmp run/last.json run/history/000002.json || fail 'the newest report is not the last one of the history'
is "$(json run/last.json 'datasets.*.rows' | sum)" "$(json run/history/000001.json 'datasets.*.rows' | sum)" 'rows in the report'
expect 0 "$SLUICE" report "$(place run)"
says 'web: finished' 'tasks reused'
expect 0 "$SLUICE" show "$(place run)"
expect 0 "$SLUICE" head "$(place data/kept)"
same first data 'datasets of three workers'

# Nothing is left to do.
expect 0 "$SLUICE" work "$(place run)" --quiet
is "$(reports)" 2 'reports after a worker that found nothing to do'
expect 0 go
is "$(reports)" 3 'reports after a run that found nothing to do'

n=3
killed=0
for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do
    again
    faults $seed:9
    "$SLUICE" work "$(place run)" --workers 1 --quiet >other.out 2>&1 &
    pid=$!
    may_be_killed $seed:700 "$SLUICE" work "$(place run)" --workers 1 --quiet
    wait "$pid" || { cat other.out >&2; fail "seed $seed: the other worker"; }
    n=$((n + 1))
    is "$(reports)" $n "seed $seed: reports"
    expect 0 "$SLUICE" work "$(place run)" --quiet
    is "$(reports)" $n "seed $seed: reports after another worker"
    # Alone, and killed near the end.
    again
    forget run/history
    may_be_killed $((seed + 100)):900 "$SLUICE" work "$(place run)" --workers 1 --quiet
    expect 0 "$SLUICE" work "$(place run)" --quiet
    is "$(reports)" 1 "seed $seed: reports of one that may be killed and the next"
    n=1
done
[ "$killed" -ge 3 ] || fail "only $killed of 24 workers were killed"
land data
same first/kept/data data/kept/data 'datasets after workers were killed'
