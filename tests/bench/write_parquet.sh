# Parquet to Parquet, and what of it is writing, against pyarrow with the same options: zstd 3, row groups of 64 MiB, pages of 1 MiB,
# checksums, page index, no dictionary on texts that do not repeat themselves.
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
RUNS=${RUNS_PARQUET:-9}
[ -z "$SMOKE" ] || RUNS=1
[ -f "$BUILD/plugins/columnar.so" ] || { echo 'the plugin columnar is not built'; exit 77; }
if ! "$PYTHON" -c 'import pyarrow' 2>/dev/null; then
    echo 'pyarrow is not installed (pkg/setup --for bench installs it): not compared'
    exit 77
fi
real
file=$TMP/in.parquet
peer_script=$SRC/tests/bench/peer_parquet.py
[ "${PARQUET_BYTES:-0}" = 0 ] || { head -c "$PARQUET_BYTES" "$REAL" | sed '$d' >"$TMP/part.jsonl" && REAL=$TMP/part.jsonl; }
"$PYTHON" "$peer_script" make "$REAL" "$file"
size=$(megabytes "$REAL")
for stages in 'write:s.write_parquet { a.out }' 'read:s.sampler { rate = 0 } | s.write_jsonl { a.out }'; do
    cat >"$TMP/${stages%%:*}.lua" <<LUA
local s = require "sluice"
local a = s.args { input = { "glob", "in" }, out = { "path", "out" } }
return s.pipeline { "parquet", s.files { a.input, split = "1GiB" } | s.read_parquet {} | ${stages#*:} }
LUA
done

ours() { sluice_run "$TMP/write.lua" "$file" taskset -c "$CPU"; }
reading() { sluice_run "$TMP/read.lua" "$file" taskset -c "$CPU"; }
timed() {
    # shellcheck disable=SC2046
    set -- $(taskset -c "$CPU" "$PYTHON" "$peer_script" "$@")
    USED=$2
    WALL=0
}
peer() { timed write "$file" "$TMP/theirs.parquet"; }
peer_reading() { timed read "$file"; }

echo "$ORIGIN, $size MB of JSON Lines as Parquet of $(megabytes "$file") MB, 1 processor, processor time, $RUNS pairs"
heading 'read_parquet, write_parquet' pyarrow
versus ours peer
ours_all=$LEFT_USED peer_all=$RIGHT_USED
row 'there and back (their start is not counted)' "$(rate "$size" "$ours_all")" "$(rate "$size" "$peer_all")" "$(quotient "$peer_all" "$ours_all")" '>= 1'
versus reading peer_reading
row 'reading alone (ours drops each row by its id)' "$(rate "$size" "$LEFT_USED")" "$(rate "$size" "$RIGHT_USED")" "$(quotient "$RIGHT_USED" "$LEFT_USED")"
ours_left=$(awk -v a="$ours_all" -v b="$LEFT_USED" 'BEGIN { printf "%.3f", a - b }')
peer_left=$(awk -v a="$peer_all" -v b="$RIGHT_USED" 'BEGIN { printf "%.3f", a - b }')
row 'the difference: writing' "$(rate "$size" "$ours_left")" "$(rate "$size" "$peer_left")" "$(quotient "$peer_left" "$ours_left")" '>= 1'
row 'MB that are stored' "$(cat "$TMP"/out/latest/* 2>/dev/null | wc -c | awk '{ printf "%.1f", $1 / 1e6 }')" "$(stat -c %s "$TMP/theirs.parquet" | awk '{ printf "%.1f", $1 / 1e6 }')" ''
