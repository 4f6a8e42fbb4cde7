# asks.sh - stages that ask servers: rows in their order whatever is answered first, by any number of workers; each ask made once, also
# after a kill; what is refused, what is tried again, hosts that are not named; nothing is asked by check, try and plan.
# shellcheck shell=sh
. "$SRC/tests/lib.sh"

command -v perl >/dev/null || skip 'no perl'

# server NAME SEED LEAST MOST FAULTS: $port and $log
server() {
    log=$TMP/$1.log
    : >"$log"
    perl "$SRC/tests/http.pl" "$log" "$2" "$3" "$4" "$5" >"$TMP/$1.port" &
    for _ in $(seq 100); do [ -s "$TMP/$1.port" ] && break; sleep 0.1; done
    port=$(cat "$TMP/$1.port")
    [ -n "$port" ] || skip 'no server could be started'
}
asked() { wc -l <"$log"; }

N=2000 perl -e 'for my $k (1 .. $ENV{N}) { print "{\"id\":\"$k\",\"text\":\"", join(" ", map { "w$_" } 1 .. 1 + $k * 7 % 40), " $k",
    $k % 400 ? "" : " refuse", "\"}\n" }' >docs.jsonl
cat >p.lua <<'END'
local s = require "sluice"
local a = s.args { port = { "string" }, out = { "path", "out" }, more = { "string", "" } }
local host = "127.0.0.1:" .. a.port
local docs = s.files { "docs.jsonl", split = "64KiB" } | s.read_jsonl {}
local judged = docs | s.ask { "judge", function(doc, o, ask)
    local r = ask { url = "http://" .. host .. "/score", json = { text = doc.text .. a.more } }
    if r.refused then return nil, "refused" end
    local again = r.json.n % 3 == 0 and ask { url = "http://" .. host .. "/score", body = "second " .. doc.text } or nil
    return { n = r.json.n, sum = again and again.json.sum or 0 }
  end, adds = { n = "int64", sum = "int64" }, ask = { hosts = { host }, in_flight = 32 } }
return s.pipeline { "asks", judged | s.filter { "odd", function(doc) if doc.n % 5 == 0 then return "five" end end }
                                   | s.write_jsonl { a.out, compression = "none" } }
END

# ---- the order of rows, and of answers ---------------------------------------------------------------

server one 1 0 20 0
expect 0 "$SLUICE" run p.lua --quiet --workers 1 "port=$port" --run-dir r1 out=o1
first=$(asked)
lines o1 >want
grep -q '"judge.recorded": true' o1/snapshots/000001.json || fail 'the manifest does not say that it is made of answers'
is "$(wc -l <want | tr -d ' ')" "$(grep -c . want)" 'rows'
[ "$(wc -l <want)" -gt 100 ] || fail 'few rows are left'
is "$(grep -c '^404' "$log")" 5 'refusals'
expect 0 "$SLUICE" run p.lua --quiet --workers 2 "port=$port" --run-dir r1 out=o1 --fresh
is "$(asked)" "$first" 'asks after a run that asked them all'
grouped=$(echo "$first" | sed 's/\(...\)$/,\1/')
expect 0 "$SLUICE" report r1
says "judge: $grouped answers, all known before"

# Each first request of every third body fails in one way or another, and the slowest answers come first: the same rows.
server two 7 0 60 33
expect 0 "$SLUICE" run p.lua --quiet --workers 2 "port=$port" --run-dir r2 out=o2
lines o2 | cmp - want || fail 'other rows in another order of answers, or behind faults'
expect 0 "$SLUICE" report r2
says "judge: $grouped answers (5 refused, "
repeated=$("$SLUICE" report r2 --json | perl -MJSON::PP -e 'local $/; print map { $_->{asks}{retries} // () } @{ decode_json(<>)->{funnel} }')
is "$repeated" "$(grep -c '^429\|^503\|^cut' "$log")" 'requests repeated'
for word in 429 503 cut; do grep -q "^$word" "$log" || fail "no $word was answered"; done
is "$(grep -c '^200' "$log")" "$(grep '^200' "$log" | sort -u | wc -l | tr -d ' ')" 'answers to asks that had one'

# Dropped rows of several stages come in the order of the rows, too, while others wait.
cat >dropped.lua <<'END'
local s = require "sluice"
local a = s.args { port = { "string" }, out = { "path", "out" } }
local host = "127.0.0.1:" .. a.port
local function judge(name) return s.ask { name, function(doc, o, ask)
    local n = ask { url = "http://" .. host .. "/score", body = name .. doc.text }.json
    if not n or n.n % 7 == 0 then return nil, "seven" end
    return { n = n.n }
  end, adds = { n = "int64" }, ask = { hosts = { host } } } end
local docs = s.files { "docs.jsonl", split = "64KiB" } | s.read_jsonl {}
local kept = docs | judge "first" | s.filter { "odd", function(doc) if doc.n % 5 == 0 then return "five" end end }
                  | judge "second" | s.filter { "third", function(doc) if doc.n % 3 == 0 then return "three" end end }
return s.pipeline { "asks", kept | s.write_jsonl { a.out .. "/kept", compression = "none" },
                    kept.dropped | s.write_jsonl { a.out .. "/dropped", compression = "none" },
                    docs | s.write_jsonl { a.out .. "/all", compression = "none" } }
END
server even 1 0 0 0
expect 0 "$SLUICE" run dropped.lua --quiet --workers 1 "port=$port" --run-dir r8 out=o8
server uneven 7 0 60 0
expect 0 "$SLUICE" run dropped.lua --quiet --workers 2 "port=$port" --run-dir r9 out=o9
for part in kept dropped all; do
    lines o8/$part >even
    lines o9/$part | cmp - even || fail "other rows in $part in another order of answers"
done

# What has no answer soon is asked a second time: the same rows.
sed 's/in_flight = 32/in_flight = 32, hedge = "10ms"/' p.lua >hedged.lua
server hedged 3 0 40 0
expect 0 "$SLUICE" run hedged.lua --quiet --workers 2 "port=$port" --run-dir r12 out=o12
lines o12 | cmp - want || fail 'other rows with hedges'
expect 0 "$SLUICE" report r12
says ' hedged; '
[ "$(asked)" -gt "$first" ] || fail 'nothing was asked twice'

sed 's/in_flight = 32/in_flight = 32, hedge = "p90"/' p.lua >hedged.lua
server share 3 0 40 0
expect 0 "$SLUICE" run hedged.lua --quiet --workers 2 "port=$port" --run-dir r14 out=o14
lines o14 | cmp - want || fail 'other rows with hedges by a quantile'
expect 0 "$SLUICE" report r14
says ' hedged; '
for bad in p95x p40 p100 px; do
    sed "s/in_flight = 32/hedge = \"$bad\"/" p.lua >bad.lua
    expect 2 "$SLUICE" check bad.lua "port=$port"
    says "hedge is \"$bad\", expected a time such as \"2s\", or \"p50\" to \"p99.9\""
done

# ---- killed ------------------------------------------------------------------------------------------

# What was answered and is in the journal is not asked again: after any number of kills an ask was answered once, but for
# those that were in flight (32) or not yet durable at each of them.
server three 3 1 30 0
kills=0
for wait in 0.2 0.4 0.3 0.6; do
    "$SLUICE" run p.lua --quiet --workers 2 "port=$port" --run-dir r3 out=o3 >killed.log 2>&1 &
    pid=$!
    sleep "$wait"
    if kill -9 "$pid" 2>killed.log; then kills=$((kills + 1)); fi
    wait "$pid" 2>killed.log || :
done
expect 0 "$SLUICE" run p.lua --quiet --workers 2 "port=$port" --run-dir r3 out=o3
lines o3 | cmp - want || fail 'other rows after kills'
[ $(($(asked) - first)) -le $((kills * 64)) ] || fail "$(asked) asks with $kills kills, $first without"
# A journal whose end is cut, and one in which a byte is another: told, and asked again.
for file in r3/answers/*; do [ -s "$file" ] && break; done
size=$(wc -c <"$file")
head -c $((size - 5)) "$file" >cut && cp cut "$file"
before=$(asked)
expect 0 "$SLUICE" run p.lua --workers 2 "port=$port" --run-dir r3 out=o3 --fresh
says 'is cut or damaged from byte'
lines o3 | cmp - want || fail 'other rows from a cut journal'
[ $(($(asked) - before)) -le 1 ] || fail 'more was asked than was cut'

# ---- what is not asked -------------------------------------------------------------------------------

before=$(asked)
expect 0 "$SLUICE" check p.lua "port=$port"
expect 0 "$SLUICE" plan p.lua "port=$port" --run-dir r4 out=o4
is "$(asked)" "$before" 'asks of check and plan'
sed 's/hosts = { host }/hosts = { "elsewhere:80" }/' p.lua >other.lua
expect 2 "$SLUICE" run other.lua --quiet "port=$port" --run-dir r5 out=o5
says "127.0.0.1:$port is asked, which ask = { hosts = {...} } does not name"
is "$(asked)" "$before" 'asks of a host that is not named'
sed 's/, ask = { hosts = { host }, in_flight = 32 }//' p.lua >none.lua
expect 2 "$SLUICE" check none.lua "port=$port"
says "'judge' asks servers: say which"
sed 's/hosts = { host }/hosts = { "http:\/\/x" }/' p.lua >bad.lua
expect 2 "$SLUICE" check bad.lua "port=$port"
says "expected a server's name"
sed 's/in_flight = 32/in_fligth = 32/' p.lua >bad.lua
expect 2 "$SLUICE" check bad.lua "port=$port"
says 'in_flight'

# Sent to another server: said, and nothing is kept, so that it is asked again.
printf '{"id":"1","text":"moved"}\n' >moved.jsonl
sed 's/docs.jsonl/moved.jsonl/' p.lua >moved.lua
for _ in 1 2; do
    expect 2 "$SLUICE" run moved.lua --quiet "port=$port" --run-dir r13 out=o13
    says "http://127.0.0.1:$port/score sends us to http://elsewhere/x (status 307), whose server ask = { hosts = {...} } does not name"
done
is "$(grep -c '^307' "$log")" 2 'requests that were sent elsewhere'

# ---- a server that is not there ----------------------------------------------------------------------

sed 's/in_flight = 32/tries = 2/' p.lua >p2.lua
expect 5 "$SLUICE" run p2.lua --quiet port=1 --run-dir r6 out=o6
says 'http://127.0.0.1:1/score has not answered in 2 tries' 'what was answered before is kept'

# ---- a signal while it waits -------------------------------------------------------------------------

server slow 5 60000 60000 0
"$SLUICE" run p.lua --quiet "port=$port" --run-dir r7 out=o7 >term.log 2>&1 &
pid=$!
for _ in $(seq 100); do [ -d r7/tasks ] && break; sleep 0.1; done
sleep 0.3
kill -TERM "$pid"
status=0
wait "$pid" || status=$?
is "$status" 130 'status after SIGTERM'

# ---- two processes that were answered differently ----------------------------------------------------

printf '{"id":"1","text":"a count"}\n' >count.jsonl
cat >count.lua <<'END'
local s = require "sluice"
local a = s.args { port = { "string" } }
local host = "127.0.0.1:" .. a.port
return s.pipeline { "count", s.files "count.jsonl" | s.read_jsonl {} | s.ask { "judge", function(doc, o, ask)
    return { n = ask { url = "http://" .. host .. "/", body = doc.text }.json.n } end,
  adds = { n = "int64" }, ask = { hosts = { host } } } | s.write_jsonl { "counted", compression = "none" } }
END
server counting 1 700 700 0
expect 0 "$SLUICE" prepare count.lua "port=$port" --run-dir r10
cp -R r10 r11
expect 0 "$SLUICE" task r11 0
# Its record comes to stand where the other process wants to put its own. The first one stands, and it is said.
"$SLUICE" task r10 0 >second.log 2>&1 &
pid=$!
for _ in $(seq 100); do [ -n "$(find r10/leases -type f 2>/dev/null)" ] && break; sleep 0.05; done
mkdir -p r10/tasks && cp -R r11/tasks/. r10/tasks
wait "$pid" || fail "$(cat second.log)"
is "$(asked)" 2 'asks of two processes'
grep -q 'had other answers for some of its rows: that result stands' second.log || fail "$(cat second.log)"
expect 0 "$SLUICE" run count.lua --quiet "port=$port" --run-dir r10
is "$(lines counted)" '{"text":"a count","id":"1","n":1}' 'what the first was answered'
is "$(asked)" 2 'asks of a task that is done'
