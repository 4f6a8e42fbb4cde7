# signals.sh - SIGINT and SIGTERM end a run with 130 and publish nothing; the tasks that were
# finished are kept, and the next run gives the bytes of a run that nobody disturbed. A second
# signal ends it at once.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=4 docs=400 >made || fail 'no corpus'

# go NAME OPTION... becomes the program, so that $! is its process
go() {
    name=$1
    shift
    exec "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$(place "$name.run")" "input=$TMP/corpus/*" "out=$(place "$name")" partitions=4 "$@"
}

(go calm) >out 2>&1 || { cat out >&2; fail 'the run without signals'; }
land calm
faults 5:9

# await NAME COUNT: until so many tasks are committed
await() {
    waited=0
    while [ "$(commits "$1.run")" -lt "$2" ]; do
        waited=$((waited + 1))
        [ "$waited" -lt 6000 ] || fail "$1 commits no $2 tasks"
        sleep 0.01
    done
}

SLUICE_TEST_DELAY=3
export SLUICE_TEST_DELAY
for signal in INT TERM; do
    (go "$signal" --workers 2) >out 2>&1 &
    pid=$!
    await "$signal" 3
    kill -s "$signal" "$pid"
    status=0
    wait "$pid" || status=$?
    is "$status" 130 "exit status after SIG$signal"
    grep -q 'run the same command again' out || { cat out >&2; fail "SIG$signal: the message does not say how to go on"; }
    land "$signal"
    [ ! -e "$signal/kept/snapshots/000001.json" ] || fail "SIG$signal: something was published"
    kept=$(commits "$signal.run")
    (go "$signal" --workers 2) >out 2>&1 || { cat out >&2; fail "the run after SIG$signal"; }
    land "$signal" "$signal.run"
    total=$(json "$signal.run/last.json" 'phases.*.tasks' | sum)
    [ "$kept" -lt "$total" ] || fail "SIG$signal came too late"
    is "$(reran "$signal.run" | sum)" $((total - kept)) "tasks that ran after SIG$signal"
    same calm "$signal" "datasets after SIG$signal"
done

(go twice --workers 1) >out 2>&1 &
pid=$!
await twice 1
kill -s TERM "$pid"
kill -s TERM "$pid"
status=0
wait "$pid" || status=$?
is "$status" 130 'exit status after two signals'
(go twice) >out 2>&1 || { cat out >&2; fail 'the run after two signals'; }
land twice
same calm twice 'datasets after two signals'
