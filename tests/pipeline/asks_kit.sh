# asks_kit.sh - why, trace and show name what servers answered; a stage of a plugin in a process of its own, which is killed, dies or stands still while its call waits for a server: the call is made again by another
# process, the rows are those of an undisturbed run, and nothing is asked twice. Waiting counts for no time limit.
# shellcheck shell=sh
. "$SRC/tests/lib.sh"

command -v perl >/dev/null || skip 'no perl'
[ -r /proc/net/tcp ] || skip 'no /proc/net/tcp'

# server NAME LATENCY: $port and $log
server() {
    log=$TMP/$1.log
    : >"$log"
    perl "$SRC/tests/http.pl" "$log" 1 "$2" "$2" 0 >"$TMP/$1.port" &
    for _ in $(seq 100); do [ -s "$TMP/$1.port" ] && break; sleep 0.1; done
    port=$(cat "$TMP/$1.port")
    [ -n "$port" ] || skip 'no server could be started'
}
perl -e 'print qq({"id":"d$_","text":"), $_ % 7 == 3 ? "short $_" : "row $_ has words enough", qq("}\n) for 0 .. 199' >docs.jsonl
cat >p.lua <<END
local s = require "sluice"
local a = s.args { port = { "string" }, out = { "path" }, limit = { "duration", "1m" } }
local host = "127.0.0.1:" .. a.port
local asks = s.plugin "$BUILD/tests/conform/bad_asks.so".asks_fine
return s.pipeline { "p", s.files "docs.jsonl" | s.read_jsonl {}
  | asks { url = "http://" .. host .. "/", ask = { hosts = { host } }, isolate = { timeout = a.limit, max_deaths = 100 } }
  | s.write_jsonl { a.out, compression = "none" } }
END
server quick 0
expect 0 "$SLUICE" run p.lua --quiet --run-dir "$(place quick)" "port=$port" "out=$(place quick.out)"
land quick.out
faults 14:40
lines quick.out >want
first=$(wc -l <"$log")
[ "$(wc -l <want)" -gt 20 ] && [ "$(wc -l <want)" -lt 200 ] || fail 'nothing is judged'

# ---- what was answered is named ----------------------------------------------------------------------

perl -e 'print qq({"id":"d$_","text":"row $_ has ), "many " x 150, qq(words"}\n) for 0 .. 199' >long.jsonl
cat >named.lua <<END
local s = require "sluice"
local a = s.args { port = { "string" }, out = { "path" } }
local host = "127.0.0.1:" .. a.port
return s.pipeline { "named", s.files { "long.jsonl", split = "64KiB" } | s.read_jsonl {}
  | s.filter { "five", function(doc) if doc.id == "d5" then return "five" end end }
  | s.ask { "judge", function(doc, o, ask)
    local r = ask { url = "http://" .. host .. "/score", json = { text = doc.text, id = doc.id } }
    return { n = r.json.n, sum = ask { url = "http://" .. host .. "/sum", method = "PUT", body = r.body }.json.sum }
  end, adds = { n = "int64", sum = "int64" }, ask = { hosts = { host } } }
  | s.write_jsonl { a.out, compression = "none" } }
END
expect 0 "$SLUICE" run named.lua --quiet "port=$port" --run-dir "$(place named)" "out=$(place named.out)"
asked=$(wc -l <"$log")
all() { if [ "$STORE" = disk ]; then find named named.out; else ls objects; fi | LC_ALL=C sort; }
all >before
expect 0 "$SLUICE" why "$(place named)" --id d77
says "answered: POST http://127.0.0.1:$port/score: 200, " "answered: PUT http://127.0.0.1:$port/sum: 200, " "recorded in $(place named)/answers" \
    'judge                        kept'
expect 0 "$SLUICE" why "$(place named)" --id d77 --json
is "$(json "$TMP/stdout" documents.0.way.2.recorded)" true 'a stage that asks is recorded'
is "$(json "$TMP/stdout" documents.0.way.2.answers.asks.1.code)" 200 'the code of the second answer'
is "$(json "$TMP/stdout" documents.0.way.2.answers.asks.0.found)" true 'the first answer'
expect 0 "$SLUICE" why "$(place named)" --id d5
! grep -q answered "$TMP/stdout" || fail 'a document that was dropped before is said to have been judged'
expect 0 "$SLUICE" trace "$(place named.out)" 0 7 --run "$(place named)"
says "answered: POST http://127.0.0.1:$port/score: 200, "
expect 0 "$SLUICE" trace "$(place named.out)" 0 7 --run "$(place named)" --json
is "$(json "$TMP/stdout" origin.0.answers.0.stage)" judge 'the stage that asked'
expect 0 "$SLUICE" show "$(place named)"
says 'judge: 245 answers (' '153 known before' 'recorded: it is made of what servers answered judge'
expect 0 "$SLUICE" show "$(place named)" --json
is "$(json "$TMP/stdout" datasets.0.recorded.0)" judge 'what recorded it'
is "$(json "$TMP/stdout" asked.0.asks.answered)" 245 'answers'
is "$(wc -l <"$log")" "$asked" 'asks of why, trace and show'
all | cmp - before || fail 'looking leaves files'
# A journal that lacks an answer is told, and nobody is asked.
forget named/answers
expect 0 "$SLUICE" why "$(place named)" --id d77
says "asked: POST http://127.0.0.1:$port/score: not in the journal"
is "$(wc -l <"$log")" "$asked" 'asks without a journal'

# ---- processes of stages that go away ----------------------------------------------------------------

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
# asking: waits until somebody is connected to the server
asking() {
    for _ in $(seq 400); do
        grep -qi "^ *[0-9]*: [0-9A-F]*:[0-9A-F]* [0-9A-F]*:$(printf %04X "$port") 01 " /proc/net/tcp && return 0
        sleep 0.05
    done
    fail "nobody asks: $(cat said)"
}
# disturbed SIGNAL LIMIT WORDS: it comes while the first calls wait
disturbed() {
    server "$1" 1500
    "$SLUICE" run p.lua --quiet --workers 1 --batch 4KiB --run-dir "$(place "$1")" "port=$port" "out=$(place "$1.out")" "limit=$2" >said 2>&1 &
    run=$!
    asking
    killed=0
    for child in $(children $run); do
        kill "-$1" "$child" && killed=$((killed + 1))
    done
    [ "$killed" -gt 0 ] || fail 'no process of a stage was there'
    status=0
    wait $run || status=$?
    is "$status" 0 "status after $1 ($(cat said))"
    grep -q "asks_fine: warning: its process ended: $3; what it was doing is done again" said || fail "no word of $1: $(cat said)"
    land "$1.out"
    lines "$1.out" | cmp - want || fail "other rows after $1"
    is "$(wc -l <"$log")" "$first" "asks after $1"
}
disturbed KILL 1m SIGKILL
disturbed SEGV 1m SIGSEGV
disturbed STOP 1s '1 s without an answer'
