# Peak memory over the size of the input, at one --memory: reading, filters, MinHash, writing.
# FULL=1 adds 5 GB.
# time limit: 3600
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
MEMORY=512MiB
WORKERS=2
limit=$((512 * 1024))
pipeline chain "$FILTERS s.minhash {} |"

echo "generated unique documents in one zstd frame, $WORKERS workers, --memory $MEMORY; peak of Pss over all processes"
printf '%-52s %12s %12s %7s  %s\n' 'read, filters, minhash, write' sluice --memory ratio goal
sizes='200 1000'
[ "${FULL:-0}" = 1 ] && sizes="$sizes 5000"
first=
for size in $sizes; do
    "$GENERATE" "${size}000000" | zstd -q -1 >"$TMP/in.zst"
    sluice_run "$TMP/chain.lua" "$TMP/in.zst" -p
    rm -rf "$TMP/in.zst" "$TMP/run" "$TMP/out"
    row "$size MB in $WALL s" "$((PEAK / 1024)) MiB" "$((limit / 1024)) MiB" "$(quotient "$PEAK" "$limit")" '<= 1.1'
    [ -n "$first" ] || first=$PEAK
    last=$PEAK
    [ "$PEAK" -le $((limit * 11 / 10)) ] || fail "$size MB took $PEAK KiB with --memory $MEMORY"
done
# The least that the run takes: what it refuses to run below.
"$GENERATE" 200000000 | zstd -q -1 >"$TMP/in.zst"
least=$("$SLUICE" run "$TMP/chain.lua" "input=$TMP/in.zst" "out=$TMP/out" --run-dir "$TMP/run" --workers "$WORKERS" --quiet --memory 1MiB 2>&1 |
    sed -n 's/.*give --memory \([0-9]*\)MiB.*/\1/p')
[ -n "$least" ] || fail 'a --memory of 1MiB was not refused'
MEMORY=${least}MiB sluice_run "$TMP/chain.lua" "$TMP/in.zst" -p
row "200 MB at the least --memory that is not refused" "$((PEAK / 1024)) MiB" "$least MiB" "$(quotient "$PEAK" $((least * 1024)))" '<= 1.1'
[ "$PEAK" -le $((least * 1024 * 11 / 10)) ] || fail "$PEAK KiB with --memory ${least}MiB"
row "the largest input against the smallest" "$((last / 1024)) MiB" "$((first / 1024)) MiB" "$(quotient "$last" "$first")" '<= 1.1'
