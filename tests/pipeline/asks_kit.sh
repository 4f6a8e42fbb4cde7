# asks_kit.sh - a stage of a plugin in a process of its own, which is killed, dies or stands still while its call waits for a server: the call is made again by another
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
expect 0 "$SLUICE" run p.lua --quiet --run-dir quick "port=$port" out=quick.out
lines quick.out >want
first=$(wc -l <"$log")
[ "$(wc -l <want)" -gt 20 ] && [ "$(wc -l <want)" -lt 200 ] || fail 'nothing is judged'

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
    "$SLUICE" run p.lua --quiet --workers 1 --batch 4KiB --run-dir "$1" "port=$port" "out=$1.out" "limit=$2" >said 2>&1 &
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
    lines "$1.out" | cmp - want || fail "other rows after $1"
    is "$(wc -l <"$log")" "$first" "asks after $1"
}
disturbed KILL 1m SIGKILL
disturbed SEGV 1m SIGSEGV
disturbed STOP 1s '1 s without an answer'
