# Gopher's repetition rules as a Lua heuristic over the text primitives, against the same in C; phrases of a list, against counting words.
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
RUNS=${RUNS_LUA:-5}
real
cp "$REAL" "$TMP/real.jsonl"
"$GENERATE" 100000000 >"$TMP/generated.jsonl"
pipeline read "$DROP_ALL"
pipeline c "s.gopher_repetition {} | $DROP_ALL"
PRELUDE='local repetition = require "heuristics.repetition"'
pipeline lua "repetition {} | $DROP_ALL"

in_lua() { sluice_run "$TMP/lua.lua" "$file" taskset -c "$CPU"; }
in_c() { sluice_run "$TMP/c.lua" "$file" taskset -c "$CPU"; }
reading() { sluice_run "$TMP/read.lua" "$file" taskset -c "$CPU"; }

# less A B
less() {
    awk -v a="$1" -v b="$2" 'BEGIN { print a - b }'
}

# compare NAME FILE
compare() {
    file=$2
    size=$(megabytes "$file")
    versus in_c reading
    base=$RIGHT_USED
    versus in_lua in_c
    row "$1, $size MB" "$(rate "$size" "$(less "$LEFT_USED" "$base")")" "$(rate "$size" "$(less "$RIGHT_USED" "$base")")" \
        "$(quotient "$(less "$LEFT_USED" "$base")" "$(less "$RIGHT_USED" "$base")")" '<= 1.3'
}

echo "$ORIGIN, 1 processor, processor time above that of reading; the ratio is time in Lua over time in C"
heading "Gopher's repetition rules in Lua" 'in C'
compare 'real text' "$TMP/real.jsonl"
compare 'generated prose' "$TMP/generated.jsonl"

# A million phrases of which no word is in the text, of which every word is, and 400 words.
perl -e 'srand 3; print join("", map { chr(97 + rand 26) } 1 .. 6 + rand 6), "\n" for 1 .. shift' "${PHRASES:-1000000}" >"$TMP/rare.txt"
perl -ne 'while (/\w{3,}/g) { $n{$&}++ } END { srand 4; my @w = sort keys %n; for (1 .. $ENV{PHRASES} || 1000000) { print join(" ", map { $w[rand @w] } 1 .. 2 + rand 2), "\n" } }' \
    "$TMP/generated.jsonl" >"$TMP/common.txt"
head -n 400 "$TMP/rare.txt" >"$TMP/few.txt"
listing() { sluice_run "$TMP/list.lua" "$file" taskset -c "$CPU"; }
loading() { sluice_run "$TMP/load.lua" "$file" taskset -c "$CPU"; }
counting() { taskset -c "$CPU" env LC_ALL=C wc -w "$file" >/dev/null; }

heading 'phrases of a list, above reading and making it' 'wc -w'
file=$TMP/generated.jsonl
size=$(megabytes "$file")
for list in few rare common; do
    PRELUDE="local list = s.list \"$TMP/$list.txt\""
    pipeline list "s.filter { \"f\", function(doc) if list:count(doc.text) < 1000000 then return \"few\" end end } | $DROP_ALL"
    pipeline load "s.filter { \"f\", function(doc) if not list:has(doc.id) then return \"few\" end end } | $DROP_ALL"
    versus listing loading
    above=$(less "$LEFT_USED" "$RIGHT_USED")
    versus counting reading
    row "$(wc -l <"$TMP/$list.txt" | tr -d ' ') $list phrases" "$(rate "$size" "$above")" "$(rate "$size" "$LEFT_USED")" "$(quotient "$above" "$LEFT_USED")" ''
done
