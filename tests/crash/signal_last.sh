# signal_last.sh - a signal while the last task runs, or rows that never end: nothing is published, the exit status is 130 and not 0,
# and the process ends soon, however long the rows would go on.
. "$SRC/tests/lib.sh"

mkdir in
perl -e 'print qq({"id":"$_","text":"row $_"}\n) for 1 .. 200000' >in/1.jsonl

# write BODY: a pipeline of one task
write() {
    printf 'local s = require "sluice"\nreturn s.pipeline { "q", max_bad = 1000000, s.files "in/*" | s.read_jsonl {} | s.filter { "f", function(doc) %s end, reasons = { "x" } } | s.write_jsonl { "%s", compression = "none" } }\n' "$1" "$(place out)" >q.lua
}

# stop NAME SIGNAL: the run gets it while its only task runs
stop() {
    name=$1
    forget out r
    ("$SLUICE" run q.lua --quiet --run-dir "$(place r)") >said 2>&1 &
    pid=$!
    waited=0
    until ls r/tasks/* >/dev/null 2>&1 || ls objects/or,leases,*,* >/dev/null 2>&1; do
        waited=$((waited + 1))
        [ "$waited" -lt 6000 ] || fail "$name: no task begins"
        sleep 0.01
    done
    sleep 0.3
    kill -s "$2" "$pid"
    began=$(date +%s)
    status=0
    wait "$pid" || status=$?
    took=$(($(date +%s) - began))
    is "$status" 130 "$name: exit status after SIG$2 ($(cat said))"
    [ "$took" -le 10 ] || fail "$name: it took $took s to end after SIG$2"
    grep -q 'run the same command again' said || { cat said >&2; fail "$name: the message does not say how to go on"; }
    land out
    [ ! -e out/snapshots ] || fail "$name: something was published"
}

# Each row is within its bounds; all of them take a minute or more.
write 'local n = 0 for i = 1, 40000 do n = n + i % 7 end if n == 3 then return "x" end'
stop slow_rows TERM
stop slow_rows INT
# Rows that never end.
write 'while true do pcall(function() while true do end end) end'
stop endless TERM
# One row that fills memory until it is refused, again and again.
write 'local t = {} for i = 1, 1e9 do t[i] = "s" .. i end'
stop memory TERM
