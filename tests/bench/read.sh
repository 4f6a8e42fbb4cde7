# Reading zstd JSON Lines and validating every record, against decompressing the same file.
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
RUNS=${RUNS_READ:-5}
real
plain=$TMP/in.jsonl
file=$TMP/in.jsonl.zst
repeated 2 "$REAL" >"$plain"
zstd -q -3 "$plain" -o "$file"
size=$(megabytes "$plain")
pipeline read "$DROP_ALL"

ours() { sluice_run "$TMP/read.lua" "$file" taskset -c "$CPU"; }
piped() { sluice_run "$TMP/read.lua" "$TMP/piped.zst" taskset -c "$CPU"; }
plainly() { sluice_run "$TMP/read.lua" "$plain" taskset -c "$CPU"; }
peer() { once taskset -c "$CPU" sh -c "zstd -dc '$file' >/dev/null"; }
copy() { once taskset -c "$CPU" sh -c "cat '$plain' | cat >/dev/null"; }

echo "$ORIGIN, $size MB of JSON Lines in one zstd frame of $(megabytes "$file") MB, 1 processor"
heading 'read, validate every record, drop all' 'zstd -dc'
versus ours peer
row 'processor time' "$(rate "$size" "$LEFT_USED")" "$(rate "$size" "$RIGHT_USED")" "$(quotient "$RIGHT_USED" "$LEFT_USED")" '>= 0.5'
row 'wall' "$(rate "$size" "$LEFT_WALL")" "$(rate "$size" "$RIGHT_WALL")" "$(quotient "$RIGHT_WALL" "$LEFT_WALL")"
zstd -q -3 <"$plain" >"$TMP/piped.zst"
versus piped peer
row 'the frame does not state its size: decoded twice' "$(rate "$size" "$LEFT_USED")" "$(rate "$size" "$RIGHT_USED")" \
    "$(quotient "$RIGHT_USED" "$LEFT_USED")"
rm "$TMP/piped.zst"
versus plainly copy
row 'not compressed (peer: cat | cat)' "$(rate "$size" "$LEFT_USED")" "$(rate "$size" "$RIGHT_USED")" "$(quotient "$RIGHT_USED" "$LEFT_USED")"
