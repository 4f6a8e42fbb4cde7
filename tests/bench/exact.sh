# Exact deduplication by the text, from JSON Lines to JSON Lines, every document there twice.
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
RUNS=${RUNS_EXACT:-7}
[ -z "$SMOKE" ] || RUNS=1
real
file=$TMP/in.jsonl
repeated 2 "$REAL" >"$file"
size=$(megabytes "$file")
documents=$(wc -l <"$file")
pipeline read "$DROP_ALL"
pipeline exact 's.exact {} |'
sed -i 's/write_jsonl { a.out }/write_jsonl { a.out, compression = "none" }/' "$TMP/exact.lua"

ours() { sluice_run "$TMP/exact.lua" "$file" taskset -c "$CPU"; }
reading() { sluice_run "$TMP/read.lua" "$file" taskset -c "$CPU"; }
# Prints rows, kept rows and seconds; the clock starts behind what starting takes.
peer() {
    # shellcheck disable=SC2046
    set -- $(POLARS_MAX_THREADS=1 taskset -c "$CPU" "$PYTHON" "$SRC/tests/bench/peer_exact.py" "$file" "$TMP/theirs.jsonl")
    kept_by_peer=$2
    USED=$3
    WALL=0
}

echo "$ORIGIN twice, $size MB of JSON Lines, $documents documents, 1 processor, processor time"
heading 'exact, from JSON Lines to JSON Lines' 'only read'
versus ours reading
row 'all of it' "$(rate "$size" "$LEFT_USED")" "$(rate "$size" "$RIGHT_USED")" "$(quotient "$RIGHT_USED" "$LEFT_USED")"
if ! "$PYTHON" -c 'import polars' 2>/dev/null; then
    echo 'polars is not installed (pkg/setup --for bench installs it): not compared'
    exit 0
fi
versus peer ours
kept=$(cat "$TMP"/out/latest/* | wc -l)
heading 'the same, its start not counted' polars
row "$kept_by_peer documents kept, by us $kept" "$(rate "$size" "$RIGHT_USED")" "$(rate "$size" "$LEFT_USED")" "$(quotient "$LEFT_USED" "$RIGHT_USED")" '>= 1'
[ "$kept" = "$kept_by_peer" ] || fail "polars keeps $kept_by_peer documents, we keep $kept"
