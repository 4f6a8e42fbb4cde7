# late.sh - a worker that is late with its last task: another one that has nothing else to do does that task, too, and the run ends without
# the first one. There is one second copy, the bytes are those of one process alone, and who comes last finds what was committed.
. "$SRC/tests/lib.sh"

cp "$BUILD/tests/pipeline/fragile.so" .
ROWS=24
if [ "$STORE" != disk ]; then
    # There a process that is alone looks for others every five seconds, and what tasks took is put with each beat.
    ROWS=64
    export SLUICE_TEST_LEASE=300:60000:50000
fi
perl -e 'printf qq({"id":"%d","text":"%s"}\n), $_, "word $_ " . "x" x 65500 for 1 .. $ARGV[0]' "$ROWS" >in.jsonl
cat >late.lua <<'L'
local s = require "sluice"
local speculate = require "policies.speculate"
local a = s.args { input = { "path", "in.jsonl" }, out = { "path", "out" }, seconds = { "float", 3 }, split = { "string", "64KiB" } }
return s.pipeline { "late", s.files { a.input, split = a.split } | s.read_jsonl { text = "text", id = "id" }
    | s.fragile { nap = "150ms" } | s.write_jsonl { a.out }, policies = { speculate { seconds = a.seconds } } }
L
# attempts NAME PATTERN: lines of attempts that have it
attempts() {
    cat "$1".run/attempts/*.jsonl | grep -c "$2" || true
}
await() {
    waited=0
    while ! eval "$1"; do
        waited=$((waited + 1))
        [ "$waited" -lt 6000 ] || fail "$2"
        sleep 0.01
    done
}
go() {
    name=$1
    shift
    exec "$SLUICE" run late.lua --quiet --trust --plugin "$TMP/fragile.so" --run-dir "$(place "$name.run")" "out=$(place "$name")" --workers 1 "$@"
}
help() {
    exec "$SLUICE" work "$(place "$1.run")" --quiet --trust --workers 1
}
# has NAME PID WHICH: whether the process has a task of the run in hand; it reads what is there now, on a disk or in a place
has() {
    eval "grep -qs 'process $2 on ' $1.run/leases/*/$3 objects/o$1.run,leases,*,$3"
}

(go alone) || fail "the run alone"
tasks=$(commits alone.run)
[ "$tasks" -ge "$ROWS" ] || fail "only $tasks tasks"

# stall NAME: two are at work, and the first one stands still with a task in hand; the other one ends the run.
stall() {
    (go "$1" >"$1.out" 2>&1) &
    first=$!
    await "there $1.run/used.json" 'no plan is written'
    (help "$1" >"$1.work.out" 2>&1) &
    second=$!
    await "has $1 $second '*.1'" 'the helper takes nothing'
    # It is stopped where it has a task that is not committed.
    while :; do
        await "has $1 $first '[0-9]*.1'" 'the run takes nothing'
        kill -STOP "$first"
        if has "$1" "$first" '[0-9]*.1'; then break; fi
        kill -CONT "$first"
    done
    status=0
    wait "$second" || status=$?
}

stall late
[ "$status" = 0 ] || { cat late.work.out >&2; fail 'the helper'; }
# What the one that stands still was writing lies there, under a name that nobody reads.
land alone alone.run late late.run
rm -rf seen
cp -a late seen
find seen -name '.tmp-*' -delete
same alone seen 'the dataset, while one stands still'
is "$(attempts late '"twin":true')" 1 'second copies'
is "$(attempts late '"outcome":"committed","twin":true')" 1 'second copies that were committed'
is "$(attempts late '"outcome":"lost_worker"')" 0 'workers that were given up'
kill -CONT "$first"
status=0
wait "$first" || status=$?
[ "$status" = 0 ] || { cat late.out >&2; fail 'the one that stood still'; }
land late late.run
same alone late 'the dataset'
same alone.run/tasks late.run/tasks 'the records'
is "$(attempts late '"outcome":"committed"')" "$tasks" 'attempts that committed'
is "$(attempts late '"outcome":"lost_')" 1 'attempts that came too late'
is "$(leases late.run)" 0 'leases that stay'
is "$(find late.run late -name '.tmp-*' | wc -l)" 0 'files in the making that stay'
is "$(json late.run/last.json 'phases.*.twins' | sum)" 1 'second copies in the report'

# Two stand still, with half of a task done, and wake when the first of the two tasks was done by the third; whoever is beaten to a task
# leaves it where it is. A second copy may be beaten, too.
perl -e 'printf qq({"id":"%d","text":"%s"}\n), $_, "word $_ " . "x" x 65500 for 1 .. 640' >in.jsonl
expect 0 "$SLUICE" run late.lua --quiet --trust --plugin "$TMP/fragile.so" --run-dir "$(place parts.run)" "out=$(place parts)" --workers 1 split=2MiB
tasks=$(commits parts.run)
(go three split=2MiB >three.out 2>&1) &
first=$!
await 'there three.run/used.json' 'no plan is written'
for number in 1 2; do
    (exec "$SLUICE" work "$(place three.run)" --quiet --trust --workers 1 >"three$number.out" 2>&1) &
    eval "pid$number=$!"
done
for pid in "$first" "$pid1" "$pid2"; do
    await "has three $pid '[0-9]*.1'" 'the process takes nothing'
done
for pid in "$first" "$pid1"; do
    while :; do
        await "has three $pid '[0-9]*.1'" 'the process takes nothing'
        kill -STOP "$pid"
        if has three "$pid" '[0-9]*.1'; then break; fi
        kill -CONT "$pid"
    done
done
await "find three.run/leases objects -name '*.won' 2>/dev/null | grep -q . || ! kill -0 $pid2 2>/dev/null" 'nobody does the tasks of those that stand still'
kill -CONT "$first" "$pid1"
for pid in "$first" "$pid1" "$pid2"; do
    status=0
    wait "$pid" || status=$?
    [ "$status" = 0 ] || { cat three*.out >&2; fail "a process of three ended with $status"; }
done
land parts parts.run three three.run
same parts three 'the dataset of three'
same parts.run/tasks three.run/tasks 'the records of three'
twins=$(attempts three '"twin":true')
echo "$twins second copies: $(attempts three '"outcome":"committed","twin":true') committed, $(attempts three '"outcome":"speculative"') in vain"
{ [ "$twins" -ge 1 ] && [ "$twins" -le 2 ]; } || fail "$twins second copies"
is "$(attempts three '"outcome":"committed"')" "$tasks" 'attempts of three that committed'
is "$(attempts three '"outcome":"lost_\|"outcome":"speculative"')" "$twins" 'attempts of three that came too late'
is "$(leases three.run)" 0 'leases of three that stay'
is "$(find three.run three -name '.tmp-*' | wc -l)" 0 'files in the making of three that stay'
