# asks_beside.sh - several processes of a run that ask the same at once ask it once: three of them, and tasks with the same 1,000 asks;
# on a disk, and in a store without folders and append whose requests go wrong; with hosts that can't see each other; with a process that
# is killed, whose asks the others take over; and beside one that waits in vain, whose asks are given back.
# time limit: 1200
# shellcheck shell=sh
. "$SRC/tests/lib.sh"

command -v perl >/dev/null || skip 'no perl'

# server NAME SEED LEAST MOST: $port and $log
server() {
    log=$TMP/$1.log
    : >"$log"
    perl "$SRC/tests/http.pl" "$log" "$2" "$3" "$4" >"$TMP/$1.port" &
    for _ in $(seq 100); do [ -s "$TMP/$1.port" ] && break; sleep 0.1; done
    port=$(cat "$TMP/$1.port")
    [ -n "$port" ] || skip 'no server could be started'
}
asked() { wc -l <"$log"; }

# The same documents six times, but for their ids.
perl -e 'for my $k (1 .. 6) { for my $n (1 .. 1000) { print "{\"id\":\"$k-$n\",\"text\":\"document $n\",\"pad\":\"", "x" x 150, "\"}\n" } }' >docs.jsonl
cat >p.lua <<'END'
local s = require "sluice"
local a = s.args { port = { "string" }, out = { "path", "out" } }
local host = "127.0.0.1:" .. a.port
return s.pipeline { "asks", s.files { "docs.jsonl", split = "256KiB" } | s.read_jsonl {} | s.ask { "judge", function(doc, o, ask)
    local r = ask { url = "http://" .. host .. "/", body = doc.text }.json
    return { n = r.n, sum = r.sum }
  end, adds = { n = "int64", sum = "int64" }, ask = { hosts = { host }, in_flight = 32 } } | s.write_jsonl { a.out, compression = "none" } }
END

# three NAME: three processes at once; then their ends, and the end of the run.
APART=
three() {
    expect 0 "$SLUICE" prepare p.lua "port=$port" "out=$TMP/$1.out" --run-dir "$(place "$1")"
    pids=
    for k in 0 1 2; do
        if [ -n "$APART" ]; then export "SLUICE_TEST_HOST=host$k"; fi
        "$SLUICE" work "$(place "$1")" --workers 1 >"$1.$k" 2>&1 &
        pids="$pids $!"
    done
}
together() {
    for pid in $pids; do
        wait "$pid" || fail "$(cat "$1".?)"
    done
}
finish() {
    expect 0 "$SLUICE" run p.lua --quiet "port=$port" "out=$TMP/$1.out" --run-dir "$(place "$1")"
    lines "$1.out" >"$1.rows"
    [ -e want ] || cp "$1.rows" want
    cmp "$1.rows" want || fail "$1: other rows"
}

# ---- each ask once -----------------------------------------------------------------------------------

server disk 1 5 60
three disk
together disk
is "$(asked)" 1000 'requests of three processes'
finish disk
is "$(wc -l <want | tr -d ' ')" 6000 rows
is "$(asked)" 1000 'requests of all'
# What one of them asked the others knew, as the log of attempts says it, with names.
cat disk/attempts/*.jsonl >attempts
grep -q '"asks":\[{"op":' attempts || fail 'the log of attempts does not name its numbers'
is "$(perl -MJSON::PP -ne 'my $l = decode_json($_); $n += $_->{answered} for @{ $l->{asks} // [] }; END { print $n }' attempts)" 1000 'answers in the log of attempts'

server apart 2 5 60
APART=yes
three apart
APART=
unset SLUICE_TEST_HOST
together apart
is "$(asked)" 1000 'requests of three hosts'
finish apart

# A log of many generations, of three entries each.
server long 3 5 60
SLUICE_TEST_CLAIMS=3
export SLUICE_TEST_CLAIMS
three long
together long
is "$(asked)" 1000 'requests with a log of many generations'
ls long/claims/*.sum >sums || fail 'no generation of the log was summed up'
finish long
unset SLUICE_TEST_CLAIMS

# ---- in a store --------------------------------------------------------------------------------------

STORE=hostile
SLUICE_TEST_HOSTILE_ROOT=$TMP/objects
XDG_CACHE_HOME=$TMP/cache
export SLUICE_TEST_HOSTILE_ROOT XDG_CACHE_HOME
server store 4 5 60
for seed in 1 2; do
    faults "$seed:40"
    : >"$log"
    three "store$seed"
    together "store$seed"
    is "$(asked)" 1000 'requests of three processes of a run in a store'
    finish "store$seed"
done
unset SLUICE_TEST_HOSTILE
STORE=disk

# ---- killed ------------------------------------------------------------------------------------------

server killed 5 20 120
three killed
for _ in $(seq 200); do [ "$(asked)" -ge 200 ] && break; sleep 0.05; done
set -- $pids
kill -9 "$1"
wait "$1" 2>wait.err || :
pids="$2 $3"
together killed
[ "$(asked)" -ge 1000 ] && [ "$(asked)" -le 1032 ] || fail "$(asked) requests of three processes, one of which was killed with 32 in flight at most"
finish killed
[ "$(asked)" -le 1032 ] || fail "$(asked) requests of all"

# ---- stopped, which gives back what it had -------------------------------------------------------------

server stopped 6 20 120
three stopped
for _ in $(seq 200); do [ "$(asked)" -ge 200 ] && break; sleep 0.05; done
set -- $pids
kill -TERM "$1"
status=0
wait "$1" || status=$?
[ "$status" = 130 ] || [ "$status" = 0 ] || fail "status $status after SIGTERM"
pids="$2 $3"
together stopped
[ "$(asked)" -le 1032 ] || fail "$(asked) requests of three processes, one of which was stopped with 32 in flight at most"
finish stopped
