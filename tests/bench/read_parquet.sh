# Reading a text column of Parquet, zstd 3, UTF-8 and checksums checked, against decompressing the same bytes, and against pyarrow's and
# DuckDB's batches.
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
peer_script=$SRC/tests/bench/peer_parquet.py
mkdir "$TMP/in"
"$PYTHON" "$peer_script" text "$REAL" "$TMP/in/1.parquet" "$TMP/raw"
zstd -q -3 "$TMP/raw" -o "$TMP/raw.zst"
for copy in 2 3 4; do ln "$TMP/in/1.parquet" "$TMP/in/$copy.parquet"; done
size=$(awk -v n="$(stat -c %s "$TMP/raw")" 'BEGIN { printf "%.0f", 4 * n / 1e6 }')
cat >"$TMP/read.lua" <<'LUA'
local s = require "sluice"
local a = s.args { input = { "glob", "in" }, out = { "path", "out" } }
return s.pipeline { "read", s.files { a.input, split = "4GiB" } | s.read_parquet {} | s.sampler { rate = 0 } | s.write_jsonl { a.out } }
LUA

ours() { sluice_run "$TMP/read.lua" "$TMP/in/*.parquet" taskset -c "$CPU"; }
codec() { once taskset -c "$CPU" sh -c "zstd -qdc '$TMP/raw.zst' '$TMP/raw.zst' '$TMP/raw.zst' '$TMP/raw.zst' >/dev/null"; }
timed() {
    # shellcheck disable=SC2046
    set -- $(taskset -c "$CPU" "$PYTHON" "$peer_script" "$1" "$TMP"/in/*.parquet)
    USED=$2
    WALL=0
}
pyarrow() { timed read; }
duckdb() { timed duckdb; }
compare() { # PEER WHAT GOAL
    versus ours "$1"
    row "$2" "$(rate "$size" "$LEFT_USED")" "$(rate "$size" "$RIGHT_USED")" "$(quotient "$RIGHT_USED" "$LEFT_USED")" "$3"
}

echo "$ORIGIN, $size MB of text in Parquet files of $(megabytes "$TMP/in/1.parquet") MB, 1 processor, processor time, $RUNS pairs"
heading 'read_parquet, and each row dropped by its id' 'the peer'
compare codec 'zstd -dc of the same bytes' '>= 0.8'
compare pyarrow 'pyarrow, iter_batches (its start is not counted)' '>= 1'
if "$PYTHON" -c 'import duckdb' 2>/dev/null; then
    compare duckdb 'DuckDB to Arrow batches (its start is not counted)' '>= 1'
else
    echo 'DuckDB is not installed: not compared'
fi
