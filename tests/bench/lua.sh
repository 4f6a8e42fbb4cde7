# Gopher's repetition rules as a Lua heuristic over the text primitives, against the same in C.
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
