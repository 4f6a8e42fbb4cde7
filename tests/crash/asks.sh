# asks.sh - kill -9 at any operation on the disk of a run that asks a server, again and again, chosen by seeds: each kill repeats at most as
# many requests as were in flight, and the rows are those of a run that nobody disturbed. KILLS (4); `make soak` does fifty. What another
# process wrote and did not sync is synced before it is used. The same where the run is in a store without folders, links and append
# (STORE=hostile, tests/crash/asks_store.sh), whose requests go wrong.
# time limit: 1800
. "$SRC/tests/lib.sh"

command -v perl >/dev/null || skip 'no perl'
KILLS=${KILLS:-4}
FLIGHT=16

server() { # NAME SEED LEAST MOST: $port, and $log
    log=$TMP/$1.log
    : >"$log"
    perl "$SRC/tests/http.pl" "$log" "$2" "$3" "$4" >"$TMP/$1.port" &
    for _ in $(seq 100); do [ -s "$TMP/$1.port" ] && break; sleep 0.1; done
    port=$(cat "$TMP/$1.port")
    [ -n "$port" ] || skip 'no server could be started'
}
N=1500 perl -e 'for my $k (1 .. $ENV{N}) { print "{\"id\":\"$k\",\"text\":\"document $k ", "of many words " x 20, "\"}\n" }' >docs.jsonl
cat >p.lua <<'END'
local s = require "sluice"
local a = s.args { port = { "string" }, out = { "path", "out" }, flight = { "int", 16 } }
local host = "127.0.0.1:" .. a.port
return s.pipeline { "asks", s.files { "docs.jsonl", split = "64KiB" } | s.read_jsonl {} | s.ask { "judge", function(doc, o, ask)
    local r = ask { url = "http://" .. host .. "/", body = doc.text }.json
    return { n = r.n, sum = r.sum }
  end, adds = { n = "int64", sum = "int64" }, ask = { hosts = { host }, in_flight = a.flight } } |
  s.write_jsonl { a.out, compression = "none" } }
END
go() { "$SLUICE" run p.lua --quiet --workers 2 "port=$port" "flight=$FLIGHT" --run-dir "$(place "$1.run")" "out=$TMP/$1.out"; }

server calm 1 0 2
SLUICE_TEST_OPLOG=$TMP/oplog
export SLUICE_TEST_OPLOG
expect 0 go calm
unset SLUICE_TEST_OPLOG
lines calm.out >want
is "$(wc -l <want | tr -d ' ')" 1500 rows
is "$(sort -u "$log" | wc -l | tr -d ' ')" "$(wc -l <"$log" | tr -d ' ')" 'requests of a run that nobody disturbed'
operations=$(operations oplog)
# Files of answers in a store: not one for each answer.
if [ "$STORE" = hostile ]; then
    land calm.run/answers
    files=$(find "$TMP/calm.run/answers" -type f | wc -l)
    [ "$files" -gt 0 ] && [ "$files" -lt 300 ] || fail "$files files for 1500 answers"
fi
[ "$operations" -gt 100 ] || fail "only $operations operations"

# What was in flight at a kill is asked again by whichever run comes to it.
check() {
    repeated=$(($(wc -l <"$log") - $(sort -u "$log" | wc -l)))
    [ "$repeated" -le $((kills * FLIGHT)) ] || fail "seed $seed: $repeated requests repeated after $kills kills, with $FLIGHT in flight"
}
killed=0
seed=0
run=0
while [ "$killed" -lt "$KILLS" ]; do
    run=$((run + 1))
    server "cut$run" "$run" 0 10
    forget cut.run
    rm -rf cut.out
    faults "$run:40"
    before=$killed
    _status=137
    # A run is killed up to ten times.
    while [ "$_status" = 137 ] && [ $((killed - before)) -lt 10 ] && [ "$killed" -lt "$KILLS" ]; do
        seed=$((seed + 1))
        [ "$seed" -le $((KILLS * 4)) ] || fail "only $killed of $seed seeds killed a run"
        may_be_killed "$seed:$((operations / 4))" go cut
        kills=$((killed - before))
        check
    done
    expect 0 go cut
    check
    lines cut.out | cmp - want || fail "other rows after kills up to seed $seed"
    is "$(sort -u "$log" | wc -l | tr -d ' ')" 1500 'requests that differ'
    echo "run $run: killed $kills times, $repeated of 1500 requests repeated"
done
echo "$killed kills"
