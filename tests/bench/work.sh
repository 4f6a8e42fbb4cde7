# Two processes of one worker each against one: `sluice run` helped by `sluice work`, with the filters over many files.
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
if [ "$(nproc)" -lt 2 ]; then
    echo 'one processor only: nothing to compare'
    exit 77
fi
real
mkdir "$TMP/many"
size=$(megabytes "$REAL")
split -C 4M --additional-suffix=.jsonl "$REAL" "$TMP/many/part-"
if [ -d /dev/shm ] && [ -w /dev/shm ]; then
    PLACE=$(mktemp -d /dev/shm/sluice-bench-XXXXXX)
    trap 'rm -rf "$PLACE"' EXIT
fi
SPLIT=4MB
pipeline filters "$FILTERS"
export SLUICE PLACE

alone() { WORKERS=1 sluice_run "$TMP/filters.lua" "$TMP/many/*" env; }
helped() {
    rm -rf "$PLACE/run" "$PLACE/out"
    # shellcheck disable=SC2016
    once sh -c '"$SLUICE" run "$1" "input=$2" "out=$PLACE/out" --run-dir "$PLACE/run" --workers 1 --quiet --memory 1GiB &
        pid=$!
        while [ ! -f "$PLACE/run/plan.json" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
        "$SLUICE" work "$PLACE/run" --workers 1 --quiet --memory 1GiB && wait "$pid"' sh "$TMP/filters.lua" "$TMP/many/*"
}

echo "$ORIGIN, $size MB of JSON Lines, wall time; load $(cut -d ' ' -f 1 /proc/loadavg)"
printf '%-52s %12s %12s %7s  %s\n' 'gopher and fineweb filters' '2 processes' '1 process' ratio goal
versus helped alone
row 'run and work' "$(rate "$size" "$LEFT_WALL")" "$(rate "$size" "$RIGHT_WALL")" "$(quotient "$LEFT_WALL" "$RIGHT_WALL")" '<= 0.6'
