# Asking a local server that takes 5 to 500 ms for an answer, 64 at once, one and two workers, against the time that 64 askers who never
# wait for anything else would take: the sum of all latencies by 64. The same rows, whatever is answered first. REQUESTS (10000).
# time limit: 1800
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
command -v perl >/dev/null || { echo 'no perl'; exit 77; }
REQUESTS=${REQUESTS:-10000}
[ -z "$SMOKE" ] || REQUESTS=400
N=$REQUESTS perl -e 'for my $k (1 .. $ENV{N}) { print "{\"id\":\"$k\",\"text\":\"document $k\"}\n" }' >"$TMP/docs.jsonl"
cat >"$TMP/p.lua" <<'END'
local s = require "sluice"
local a = s.args { input = { "glob", "in" }, out = { "path", "out" }, port = { "string" } }
local host = "127.0.0.1:" .. a.port
return s.pipeline { "asks", s.files { a.input, split = "64KiB" } | s.read_jsonl {} | s.ask { "judge", function(doc, o, ask)
    local r = ask { url = "http://" .. host .. "/", body = doc.text }.json
    return { n = r.n, sum = r.sum }
  end, adds = { n = "int64", sum = "int64" }, ask = { hosts = { host }, in_flight = 64 } } | s.write_jsonl { a.out, compression = "none" } }
END
rows() { cat "$PLACE"/out/latest/* | cksum; }

echo "$REQUESTS requests of 5 to 500 ms, 64 in flight, wall time; load $(cut -d ' ' -f 1 /proc/loadavg)"
printf '%-52s %12s %12s %7s  %s\n' '' sluice ideal ratio goal
before=
for workers in 1 2; do
    rm -f "$TMP/delays" "$TMP/port"
    DELAYS=$TMP/delays perl "$SRC/tests/http.pl" "$TMP/asked" "$workers" 5 500 >"$TMP/port" &
    server=$!
    for _ in $(seq 100); do [ -s "$TMP/port" ] && break; sleep 0.1; done
    rm -rf "$PLACE/run" "$PLACE/out"
    once "$SLUICE" run "$TMP/p.lua" "input=$TMP/docs.jsonl" "out=$PLACE/out" "port=$(cat "$TMP/port")" --run-dir "$PLACE/run" \
        --workers "$workers" --quiet --memory 1GiB
    kill "$server"
    wait "$server" 2>/dev/null || :
    [ "$(wc -l <"$TMP/delays")" = "$REQUESTS" ] || fail "$(wc -l <"$TMP/delays") requests came"
    [ -z "$before" ] || [ "$before" = "$(rows)" ] || fail 'other rows'
    before=$(rows)
    ideal=$(awk '{ sum += $1 } END { printf "%.2f", sum / 64 / 1000 }' "$TMP/delays")
    row "$workers worker$([ "$workers" = 1 ] || echo s)" "$WALL s" "$ideal s" "$(quotient "$WALL" "$ideal")" '<= 1.3'
done
