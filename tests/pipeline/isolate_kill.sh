# isolate_kill.sh - kill -9 of a stage's process in the middle of a run costs nothing: what it was doing is done again, and the output is
# that of an undisturbed run. When the program itself is killed its children go with it, and the next run ends the same.
. "$SRC/tests/lib.sh"

cp "$BUILD/tests/pipeline/fragile.so" .
perl "$CORPUS" in files=4 docs=150 seed=8 >/dev/null || fail 'no corpus'
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, nap = { "duration", 0 }, ordered = { "bool", false } }
local f = s.plugin "./fragile.so"
local docs = s.files { "in/*", split = "64KiB" } | s.read_jsonl {}
local kept = docs | (a.ordered and f.fragile_ordered { nap = a.nap } or f.fragile { nap = a.nap, isolate = { max_deaths = 100 } })
return s.pipeline { "p", kept | s.write_jsonl { a.out, compression = "none" } }
L
expect 0 "$SLUICE" run p.lua --quiet --run-dir run --batch 16KiB out=out

# children PID: the processes of stages that it started and that live
children() {
    perl -e 'for my $file (glob "/proc/[0-9]*/stat") {
        open my $in, "<", $file or next;
        my ($pid, $state, $parent) = (readline($in) // "") =~ /^(\d+) \(.*\) (\S) (\d+)/ or next;
        next if $parent != $ARGV[0] || $state eq "Z";
        open my $line, "<", "/proc/$pid/cmdline" or next;
        print "$pid\n" if (readline($line) // "") =~ /__isolate/;
    }' "$1"
}
# started RUN: waits until its first task is done, so that its stages are open
started() {
    for _ in $(seq 400); do
        [ -z "$(find "$1/tasks" -name '*.json' 2>/dev/null)" ] || return 0
        sleep 0.05
    done
    fail "$1 does not come to its first task: $(cat log)"
}

# ---- the children of a run, killed again and again ----
"$SLUICE" run p.lua --quiet --run-dir run2 --batch 16KiB --workers 2 out=out2 nap=150ms >log 2>&1 &
run=$!
started run2
killed=0
while kill -0 $run 2>/dev/null; do
    for child in $(children $run); do
        kill -KILL "$child" 2>/dev/null && killed=$((killed + 1))
    done
    sleep 1.2 # long enough to do again what was lost
done
status=0
wait $run || status=$?
[ "$killed" -ge 2 ] || fail "only $killed processes were killed: the run is too short"
is "$status" 0 "status of a run whose children were killed ($(cat log))"
grep -q SIGKILL log || fail "no word of what happened: $(cat log)"
same out out2 'datasets of a run whose children were killed'
same run/tasks run2/tasks 'records of a run whose children were killed'

# ---- a child that held a state: the run ends, and the next one goes on ----
expect 0 "$SLUICE" run p.lua --quiet --run-dir run3 --batch 16KiB out=out3 ordered=true
"$SLUICE" run p.lua --quiet --run-dir run4 --batch 16KiB --workers 2 out=out4 ordered=true nap=50ms >log 2>&1 &
run=$!
started run4
while kill -0 $run 2>/dev/null; do
    for child in $(children $run); do
        kill -KILL "$child" 2>/dev/null
    done
    sleep 0.07
done
status=0
wait $run || status=$?
[ "$status" = 5 ] || [ "$status" = 1 ] || fail "status $status of a run whose ordered stage was killed: $(cat log)"
grep -q "stage 'fragile_ordered'.*SIGKILL" log || fail "the culprit is not named: $(cat log)"
expect 0 "$SLUICE" run p.lua --quiet --run-dir run4 --batch 16KiB out=out4 ordered=true
same out3 out4 'datasets of a run that was resumed'
same run3/tasks run4/tasks 'records of a run that was resumed'

# ---- the program itself: its children go with it ----
"$SLUICE" run p.lua --quiet --run-dir run5 --batch 16KiB --workers 2 out=out5 nap=50ms >log 2>&1 &
run=$!
started run5
orphans=$(children $run)
[ -n "$orphans" ] || fail 'no child to be left behind'
kill -KILL $run
wait $run 2>/dev/null
for child in $orphans; do
    for _ in $(seq 100); do
        kill -0 "$child" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$child/status" 2>/dev/null || break
        sleep 0.05
    done
    ! kill -0 "$child" 2>/dev/null || grep -qs '^State:.Z' "/proc/$child/status" || fail "the child $child lives on"
done
expect 0 "$SLUICE" run p.lua --quiet --run-dir run5 --batch 16KiB out=out5
same out out5 'datasets of a run that was killed'
same run/tasks run5/tasks 'records of a run that was killed'
[ -z "$(find run2 run5 -name '.tmp-*')" ] || fail 'folders of children are left behind'
