# Two workers against one on the filters: one file that can't be sought, and many files.
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
if [ "$(nproc)" -lt 2 ]; then
    echo 'one processor only: nothing to compare'
    exit 77
fi
real
mkdir "$TMP/many"
repeated 2 "$REAL" >"$TMP/in.jsonl"
size=$(megabytes "$TMP/in.jsonl")
zstd -q -3 "$TMP/in.jsonl" -o "$TMP/one.jsonl.zst"
split -C 8M --additional-suffix=.jsonl "$TMP/in.jsonl" "$TMP/many/part-"
zstd -q -3 --rm "$TMP"/many/*.jsonl
rm "$TMP/in.jsonl"
# In memory where there is such a place: waiting for a disk is not what is measured.
if [ -d /dev/shm ] && [ -w /dev/shm ]; then
    PLACE=$(mktemp -d /dev/shm/sluice-bench-XXXXXX)
    trap 'rm -rf "$PLACE"' EXIT
fi
# Splits of 16 MB, so that both workers have work to the end.
SPLIT=16MB
pipeline filters "$FILTERS"

of_one() { sluice_run "$TMP/filters.lua" "$TMP/one.jsonl.zst" env; }
of_many() { sluice_run "$TMP/filters.lua" "$TMP/many/*.zst" env; }
one_by_one() { WORKERS=1 of_one; }
one_by_two() { WORKERS=2 of_one; }
many_by_one() { WORKERS=1 of_many; }
many_by_two() { WORKERS=2 of_many; }
# A processor that other work takes away makes both sides slower, the second more.
spinning() { once sh -c 'i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done'; }
two_spinning() { once sh -c 'for k in 1 2; do (i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done) & done; wait'; }

echo "$ORIGIN, $size MB of JSON Lines, wall time; load $(cut -d ' ' -f 1 /proc/loadavg)"
printf '%-52s %12s %12s %7s  %s\n' 'gopher and fineweb filters' '2 workers' '1 worker' ratio goal
versus one_by_two one_by_one
row 'one zstd frame' "$(rate "$size" "$LEFT_WALL")" "$(rate "$size" "$RIGHT_WALL")" "$(quotient "$RIGHT_WALL" "$LEFT_WALL")" '>= 1.8'
versus many_by_two many_by_one
row "$(find "$TMP/many" -type f | wc -l) files" "$(rate "$size" "$LEFT_WALL")" "$(rate "$size" "$RIGHT_WALL")" "$(quotient "$RIGHT_WALL" "$LEFT_WALL")" '>= 1.8'
versus two_spinning spinning
row 'limit: two empty loops at once against one' '' '' "$(awk -v a="$LEFT_WALL" -v b="$RIGHT_WALL" 'BEGIN { printf "%.2f", 2 * b / a }')"
