# failures.sh - a task that fails ends nothing while others can go on: what may pass is tried again, what comes again is not; the end names
# what failed, in the report too, and running again tries that alone. What is stopped by an order stops, and waits for the next `run`.
. "$SRC/tests/lib.sh"

cp "$BUILD/tests/pipeline/fragile.so" .
# Twelve files, each a task.
mkdir in
for number in 01 02 03 04 05 06 07 08 09 10 11 12; do
    perl -e 'my ($n) = @ARGV; printf qq({"id":"%d","text":"%s"}\n), $_, "word $n $_ " . "x" x 33000 for 1, 2' "$number" >"in/$number.jsonl"
done
cat >naps.lua <<'L'
local s = require "sluice"
local retry = require "policies.retry"
local a = s.args { input = { "glob", "in/*" }, out = { "path", "out" }, nap = { "string", "1ms" }, greedy = { "bool", false }, split = { "string", "64KiB" }, attempts = { "int", 3 } }
return s.pipeline { "naps", s.files { a.input, split = a.split } | s.read_jsonl { text = "text", id = "id" }
    | s.fragile { nap = a.nap, greedy = a.greedy } | s.write_jsonl { a.out }, policies = { retry { attempts = a.attempts } } }
L
go() {
    "$SLUICE" run naps.lua --quiet --trust --plugin "$TMP/fragile.so" --run-dir "$(place run)" "out=$(place out)" --workers 2 "$@"
}
outcomes() {
    land run/attempts
    cat run/attempts/*.jsonl | grep -c "\"outcome\":\"$1\"" || true
}
# Waits are short here.
SLUICE_TEST_RETRY=100
export SLUICE_TEST_RETRY

# What comes again: the others are done, and it is tried once.
expect 0 go
total=$(commits run)
[ "$total" = 12 ] || fail "$total tasks"
forget run out
gzip -c in/05.jsonl | head -c 60 >in/05.jsonl.gz
mv in/05.jsonl away
expect 4 go
says '05.jsonl.gz'
is "$(commits run)" 11 'records of those that did not fail'
is "$(outcomes failed)" 1 'failed attempts'
land run
is "$(json run/last.json 'failures.*.class')" permanent 'the class in the report'
is "$(json run/last.json state)" failed 'the state'
expect 0 "$SLUICE" show "$(place run)"
says 'task 4 failed, permanent, 1 time'
expect 4 go
is "$(outcomes failed)" 2 'failed attempts of two runs'
is "$(outcomes committed)" 11 'attempts that committed'

# Helpers learn of failures; each ends with the status of what failed. (Failures of before are forgotten by who begins alone, and of three
# that begin at once perhaps none does.)
forget run/tasks run/attempts run/failures out
for number in 1 2 3; do
    "$SLUICE" work "$(place run)" --workers 1 --quiet --trust >"work$number.out" 2>&1 &
    eval "pid$number=$!"
done
for number in 1 2 3; do
    status=0
    eval "wait \$pid$number" || status=$?
    is "$status" 4 "the status of worker $number"
done
is "$(commits run)" 11 'records of three workers'
is "$(outcomes failed)" 1 'failed attempts of three workers'
mv away in/05.jsonl
rm in/05.jsonl.gz
expect 0 go
land run
is "$(reran run | sum)" 1 'tasks that ran when it was mended'

# What may pass: one operation on the disk fails, and the task is tried again.
SLUICE_TEST_OPLOG=$TMP/log
export SLUICE_TEST_OPLOG
forget run out
expect 0 go --workers 1
unset SLUICE_TEST_OPLOG
operations=$(operations log)
again=0
for part in 4 5 6 7; do
    forget run out
    status=0
    SLUICE_TEST_FAIL=$((part * operations / 10)):EIO go --workers 1 >out1 2>&1 || status=$?
    if [ "$(outcomes failed)" -gt 0 ]; then
        again=$((again + 1))
        is "$status" 0 'the status of a run of which a task failed once'
        grep -q 'tried again in' out1 || true
        is "$(commits run)" 12 'records of a run of which a task failed once'
    fi
done
[ "$again" -ge 1 ] || fail 'no task failed for one operation'

# What runs out of memory beside others is tried again alone: at its second attempt it succeeds, and one more is not allowed.
forget run out
expect 0 go greedy=true nap=100ms --workers 4
is "$(commits run)" 12 'records of tasks that need all memory'
[ "$(outcomes failed)" -ge 1 ] || fail 'no task ran out of memory'
is "$(cat run/attempts/*.jsonl | grep -c '"class":"memory"')" "$(outcomes failed)" 'failures for memory'

# A process that is asked to go gives back at once what it can't finish by then: a task of more than a minute, with half a minute left. The
# heart beats fast here, to tell how far it has come.
forget run out
mkdir long
perl -e 'printf qq({"id":"%d","text":"%s"}\n), $_, "word $_ " . "x" x 65500 for 1 .. 64' >long/1.jsonl
SLUICE_DRAIN=30
SLUICE_TEST_LEASE=100:15000:10000
export SLUICE_DRAIN SLUICE_TEST_LEASE
("$SLUICE" run naps.lua --quiet --trust --plugin "$TMP/fragile.so" --run-dir "$(place run)" "out=$(place out)" --workers 1 --batch 64KiB \
    input='long/*' split=64MiB nap=1s >out1 2>&1; echo $? >status1) &
waited=0
until perl -e 'local $/; $_ = <>; exit !(/"text_bytes":(\d+)/ && $1 > 400000)' run/workers/* 2>/dev/null; do
    waited=$((waited + 1))
    [ "$waited" -lt 6000 ] || fail 'the task comes to nothing'
    sleep 0.05
    land run/workers
done
kill -USR1 "$(sed 's/.*"words":"process \([0-9]*\) .*/\1/' run/workers/*)"
wait
is "$(cat status1)" 130 'the status of a process that was asked to go'
grep -q 'given back, as it would take about' out1 || fail "$(cat out1)"
is "$(outcomes drained)" 1 'tasks that were given back'
is "$(outcomes committed)" 0 'tasks that were finished all the same'
unset SLUICE_DRAIN SLUICE_TEST_LEASE

# The order to stop.
forget run out
SLUICE_DRAIN=30
export SLUICE_DRAIN
go nap=400ms --workers 1 >out1 2>&1 &
first=$!
waited=0
while [ "$(commits run)" -lt 1 ]; do
    waited=$((waited + 1))
    [ "$waited" -lt 6000 ] || fail 'nothing is committed'
    sleep 0.01
done
expect 0 "$SLUICE" show "$(place run)"
says 'naps: running' 'run: process '
expect 0 "$SLUICE" stop "$(place run)" --wait 60
says 'told to stop'
status=0
wait "$first" || status=$?
is "$status" 130 'the status of a run that was stopped'
is "$(outcomes failed)" 0 'failures of a run that was stopped'
is "$(outcomes drained)" 0 'tasks that were given up: what was in hand is finished'
is "$(leases run)" 0 'leases of a run that was stopped'
expect 130 "$SLUICE" work "$(place run)" --quiet --trust
says 'was stopped by'
expect 0 "$SLUICE" stop "$(place run)" --undo
expect 0 "$SLUICE" work "$(place run)" --quiet --trust --workers 1
expect 0 "$SLUICE" stop "$(place run)"
says 'nobody works on it'
expect 0 go nap=400ms
# The report of the one that finished tells of what all did.
land run
is "$(json run/history/000001.json 'phases.*.committed' | sum)" "$(json run/history/000001.json 'phases.*.tasks' | sum)" 'tasks in the report'
is "$(json run/history/000001.json processes)" 2 'processes in the report'
