# asks_stages.sh - stages of plugins that ask servers, in this process and in one of their own without a network: every role gives what the
# answers say, whatever comes first; what asks nobody, what asks twice, what can't be asked.
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

N=800 perl -e 'for my $k (1 .. $ENV{N}) { print "{\"id\":\"$k\",\"text\":\"", "x" x ($k * 7 % 30), " $k", $k % 90 ? "" : " refuse",
    $k % 50 ? "" : "y" x 120, "\"}\n" }' >docs.jsonl
cat >p.lua <<'END'
local s = require "sluice"
local a = s.args { port = { "string" }, out = { "path", "out" }, apart = { "bool", false } }
local c = s.plugin(s.args.plugin)
local host = "127.0.0.1:" .. a.port
local function stage(name)
  return c[name] { url = "http://" .. host .. "/", ask = { hosts = { host } }, isolate = a.apart or nil }
end
local docs = s.files { "docs.jsonl", split = "64KiB" } | s.read_jsonl {}
local few = docs | stage "cxx_ask_filter"
return s.pipeline { "asks",
  few | stage "cxx_ask_twice" | s.write_jsonl { a.out .. "/few", compression = "none" },
  few.dropped | s.write_jsonl { a.out .. "/dropped", compression = "none" },
  docs | stage "cxx_ask_batch" | stage "cxx_ask_transform" | s.write_jsonl { a.out .. "/thirds", compression = "none" } }
END
sed "s|s.plugin(s.args.plugin)|s.plugin \"$BUILD/tests/abi/cxx_asks.so\"|" p.lua >q.lua && mv q.lua p.lua

# What the answers say, reckoned here.
perl -MJSON::PP -e '
    open my $in, "<", "docs.jsonl"; my ($few, $dropped, $thirds) = map { open my $f, ">", "want.$_"; $f } qw(few dropped thirds);
    my $j = JSON::PP->new->canonical; my $sum = sub { unpack "%32C*", $_[0] };
    while (<$in>) {
        my ($id, $t) = /"id":"(.*?)","text":"(.*?)"/;
        print $thirds length("$t!"), " $t\n" if "$t!" !~ /refuse/ && length("$t!") % 3 == 0;
        print $thirds "0 $t\n" if $t =~ /refuse/;
        if (length $t < 100 && ($t =~ /refuse/ || length $t < 20)) { print $dropped "$id ", $t =~ /refuse/ ? "refused" : "few", "\n"; next }
        my $body = "first $t";
        my $answer = $t =~ /refuse/ ? -1 : $sum->($body);
        if ($t !~ /refuse/ && length($body) % 2 == 0) { $answer = $sum->("{\"n\":" . length($body) . ",\"sum\":$answer}") }
        print $few "$id $answer\n";
    }'
found() {
    land "$1"
    lines "$1/few" | sed 's/.*"id":"\([0-9]*\)".*"sum":\(-*[0-9]*\).*/\1 \2/' | cmp - want.few || fail "$2: other sums"
    lines "$1/dropped" | sed 's/.*"id":"\([0-9]*\)".*"drop_reason":"\([a-z]*\)".*/\1 \2/' | cmp - want.dropped || fail "$2: others are dropped"
    lines "$1/thirds" | sed 's/.*"text":"\([^"]*\)".*"n":\([0-9]*\).*/\2 \1/' | cmp - want.thirds || fail "$2: other rows of a transform"
}

[ "$(wc -l <want.few)" -gt 100 ] && [ "$(wc -l <want.dropped)" -gt 50 ] || fail 'few rows are checked'
server one 1 0 0 0
faults 13:40
expect 0 "$SLUICE" run p.lua --trust --quiet --workers 1 "port=$port" --run-dir "$(place r1)" "out=$(place o1)"
found o1 'one worker'
first=$(wc -l <"$log")
server two 5 0 20 10
expect 0 "$SLUICE" run p.lua --trust --quiet --workers 2 "port=$port" --run-dir "$(place r2)" "out=$(place o2)"
found o2 'answers in another order'
server three 9 0 20 10
expect 0 "$SLUICE" run p.lua --trust --quiet --workers 2 "port=$port" --run-dir "$(place r3)" "out=$(place o3)" apart=true
found o3 'stages in processes of their own'
is "$(grep -c '^200\|^404' "$log")" "$first" 'asks of isolated stages that were answered'
# In the journal is what any of them asked, isolated or not.
before=$(wc -l <"$log")
expect 0 "$SLUICE" run p.lua --trust --quiet --workers 1 "port=$port" --run-dir "$(place r3)" "out=$(place o4)" apart=false --fresh
found o4 'from the journal'
is "$(wc -l <"$log")" "$before" 'asks of what the journal holds'

cat >wrong.lua <<END
local s = require "sluice"
local c = s.plugin "$BUILD/tests/abi/cxx_asks.so"
return s.pipeline { "wrong", s.files "docs.jsonl" | s.read_jsonl {}
  | c.cxx_ask_wrong { url = "http://127.0.0.1:$port/", ask = { hosts = { "127.0.0.1:$port" } } } | s.write_jsonl "o5" }
END
expect 1 "$SLUICE" run wrong.lua --trust --quiet --run-dir "$(place r5)"
says 'cxx_ask_wrong' 'a URL with a control byte'
