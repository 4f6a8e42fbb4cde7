# workers.sh - processes that work on one run beside each other: they share the work and no task is done twice; those that are killed lose
# what they had in hand, those that stand still lose it to others and say so when they wake; nothing is lost, nothing is there twice, and
# the bytes are those of one process alone. On other hosts, too, which can only be told by their hearts.
# time limit: 900
. "$SRC/tests/lib.sh"

cp "$BUILD/tests/pipeline/fragile.so" .
# rows NAME N: N rows of 64 KiB each, so many tasks
rows() {
    perl -e 'my ($n) = @ARGV; printf qq({"id":"%d","text":"%s"}\n), $_, "word $_ " . "x" x 65500 for 1 .. $n' "$2" >"$1"
}
# A stage that sleeps for each task.
cat >naps.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "path", "in.jsonl" }, out = { "path", "out" } }
return s.pipeline { "naps", s.files { a.input, split = "64KiB" } | s.read_jsonl { text = "text", id = "id" }
    | s.fragile { nap = "250ms" } | s.write_jsonl { a.out } }
L
# attempts RUN OUTCOME: how many there were of the newest execution
attempts() {
    land "$1"
    cat "$1"/attempts/"$(find "$1/attempts" -type f -printf '%f\n' | sort | tail -n 1 | cut -c 1-6)"-*.jsonl | grep -c "\"outcome\":\"$2\"" || true
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
    "$SLUICE" run naps.lua --quiet --trust --plugin "$TMP/fragile.so" --run-dir "$(place "$name.run")" "input=$TMP/in.jsonl" "out=$(place "$name")" --workers 1 "$@"
}
help() {
    name=$1
    shift
    exec "$SLUICE" work "$(place "$name.run")" --quiet --trust --workers 1 "$@"
}

rows in.jsonl 60
begin=$(date +%s%N)
expect 0 go alone
alone=$((($(date +%s%N) - begin) / 1000000))
tasks=$(commits alone.run)
[ "$tasks" -ge 60 ] || fail "only $tasks tasks"
is "$(attempts alone.run committed)" "$tasks" 'attempts of a process alone'

# Three at work: a third of the time, each task once.
begin=$(date +%s%N)
go three >three.out 2>&1 &
first=$!
await 'there three.run/used.json' 'no plan is written'
(help three >work1.out 2>&1) &
second=$!
(help three >work2.out 2>&1) &
third=$!
wait "$first" || { cat three.out >&2; fail 'the run'; }
took=$((($(date +%s%N) - begin) / 1000000))
wait "$second" || { cat work1.out >&2; fail 'the first helper'; }
wait "$third" || { cat work2.out >&2; fail 'the second helper'; }
land alone three
same alone three 'the dataset of three'
is "$(attempts three.run committed)" "$tasks" 'attempts of three'
is "$(attempts three.run lost_race)" 0 'tasks of three that were done twice'
is "$(find three.run/attempts -type f -printf '%f\n' | cut -c 1-39 | sort -u | wc -l)" 3 'processes that log attempts'
is "$(leases three.run)" 0 'leases that stay'
echo "three processes took $took ms, one $alone ms"
# (Asking a store costs more than looking at a disk.)
[ "$STORE" != disk ] || tenths=4
[ "$took" -lt $((alone * ${tenths:-7} / 10)) ] || fail "three processes took $took ms, one $alone ms"

# Ten that are killed or stand still, five of them on other hosts; the hearts beat fast here.
SLUICE_TEST_LEASE=100:1500:1000
export SLUICE_TEST_LEASE
go ten --workers 1 >ten.out 2>&1 &
first=$!
await 'there ten.run/used.json' 'no plan is written'
number=0
killed=0
stopped=
while [ "$number" -lt 10 ]; do
    number=$((number + 1))
    [ $((number % 2)) = 0 ] || SLUICE_TEST_HOST=host$number
    export SLUICE_TEST_HOST
    (help ten >"ten$number.out" 2>&1) &
    pid=$!
    unset SLUICE_TEST_HOST
    # It has a task in hand.
    await "grep -qs 'process $pid on ' ten.run/leases/*/*.* objects/oten.run,leases,*,* || ! kill -0 $pid 2>/dev/null" "worker $number takes nothing"
    if kill -0 "$pid" 2>/dev/null; then
        if [ $((number % 4)) -lt 2 ]; then
            kill -9 "$pid" && killed=$((killed + 1))
        else
            kill -STOP "$pid" && stopped="$stopped $pid"
        fi
    fi
done
wait "$first" || { cat ten.out >&2; fail 'the run among ten that died'; }
for pid in $stopped; do
    kill -CONT "$pid"
done
wait
land ten ten.run
same alone ten 'the dataset of ten'
same alone.run/tasks ten.run/tasks 'the records of ten'
grep -h . ten?*.out || true
echo "$killed killed, $(echo "$stopped" | wc -w) stopped; $(attempts ten.run committed) committed, $(attempts ten.run lost_worker) taken over, $(attempts ten.run lost_race) races lost"
is "$(attempts ten.run committed)" "$tasks" 'attempts that committed'
[ "$(attempts ten.run lost_worker)" -ge 5 ] || fail 'hardly a worker was lost'
[ "$(attempts ten.run lost_race)" -le "$(echo "$stopped" | wc -w)" ] || fail 'tasks were done twice'
# Those that stood still woke up and say that their task was another's.
[ "$(cat ten?*.out | grep -c 'stood still')" -ge 1 ] || fail 'nobody says that it lost a task'
