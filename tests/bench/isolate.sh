# A stage in a child process against the same stage in this one: whole runs, and single calls.
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
real
head -c 60000000 "$REAL" | sed '$d' >"$TMP/in.jsonl"
zstd -q -3 "$TMP/in.jsonl" -o "$TMP/in.zst"
size=$(megabytes "$TMP/in.jsonl")
pipeline here 's.gopher_quality {} |'
pipeline there 's.gopher_quality { isolate = true } |'

here() { sluice_run "$TMP/here.lua" "$TMP/in.zst"; }
there() { sluice_run "$TMP/there.lua" "$TMP/in.zst"; }

echo "$ORIGIN, $size MB of JSON Lines, processor time of all processes, 1 worker"
heading 'read, words, gopher_quality, write' 'in process'
versus there here
row 'gopher_quality in a child process' "$LEFT_USED s" "$RIGHT_USED s" "$(quotient "$LEFT_USED" "$RIGHT_USED")" '<= 1.10'
cat "$TMP"/out/latest/*.zst >"$TMP/bytes.here"
there
cat "$TMP"/out/latest/*.zst | cmp -s - "$TMP/bytes.here" || fail 'the two runs wrote different bytes'

"$GENERATE" 8000000 >"$TMP/text"
batches='65536 1048576 4194304'
[ -z "$SMOKE" ] || batches=65536
for batch in $batches; do
    "$BUILD/tests/bench/isolate_calls" "$BUILD" "$TMP/text" $batch 200 >"$TMP/calls"
    while read -r name left right ratio; do
        if [ "$name" = start_ms ]; then
            row "one child started, opened and prepared ($batch)" "$left ms" '' ''
        else
            row "one call of $name on $batch bytes, wall time" "$right us" "$left us" "$ratio"
        fi
    done <"$TMP/calls"
done
