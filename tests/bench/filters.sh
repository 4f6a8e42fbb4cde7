# The filters of FineWeb, from zstd to zstd JSON Lines: on white-space words, and its whole chain on spaCy's.
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
real
file=$TMP/in.jsonl.zst
zstd -q -3 "$REAL" -o "$file"
size=$(megabytes "$REAL")
white='{ words = "whitespace" } |'
pipeline filters "s.gopher_quality $white s.gopher_repetition $white s.fineweb_quality $white"
pipeline chain 's.gopher_repetition {} | s.gopher_quality {} | s.c4_quality {} | s.fineweb_quality {} |'

ours() { sluice_run "$TMP/filters.lua" "$file" taskset -c "$CPU"; }
generated() { sluice_run "$TMP/filters.lua" "$TMP/generated.zst" taskset -c "$CPU"; }
chain() { sluice_run "$TMP/chain.lua" "$file" taskset -c "$CPU"; }
generated_chain() { sluice_run "$TMP/chain.lua" "$TMP/generated.zst" taskset -c "$CPU"; }
peer() { once taskset -c "$CPU" sh -c "zstd -dc '$file' >/dev/null"; }
peer_generated() { once taskset -c "$CPU" sh -c "zstd -dc '$TMP/generated.zst' >/dev/null"; }

echo "$ORIGIN, $size MB of JSON Lines, 1 processor, processor time"
heading 'gopher_quality, gopher_repetition, fineweb_quality' 'zstd -dc'
versus ours peer
row 'real text' "$(rate "$size" "$LEFT_USED")" "$(rate "$size" "$RIGHT_USED")" "$(quotient "$RIGHT_USED" "$LEFT_USED")" '>= 50 MB/s'
"$GENERATE" 100000000 | zstd -q -3 >"$TMP/generated.zst"
versus generated peer_generated
row 'generated prose, nearly all kept and written' "$(rate 100 "$LEFT_USED")" "$(rate 100 "$RIGHT_USED")" "$(quotient "$RIGHT_USED" "$LEFT_USED")" '>= 50 MB/s'
heading 'the chain of FineWeb, words and sentences of spaCy' 'zstd -dc'
versus chain peer
row 'real text' "$(rate "$size" "$LEFT_USED")" "$(rate "$size" "$RIGHT_USED")" "$(quotient "$RIGHT_USED" "$LEFT_USED")" '>= 60 MB/s'
versus generated_chain peer_generated
row 'generated prose' "$(rate 100 "$LEFT_USED")" "$(rate 100 "$RIGHT_USED")" "$(quotient "$RIGHT_USED" "$LEFT_USED")" '>= 60 MB/s'

# The same filters of datatrove, on the first megabytes.
if ! "$PYTHON" -c 'import datatrove, regex, spacy, zstandard, orjson' 2>/dev/null; then
    echo 'datatrove is not installed (pkg/setup --for bench installs it): not compared'
    exit 0
fi
head -c 20000000 "$REAL" | sed '$d' >"$TMP/head.jsonl"
zstd -q -3 "$TMP/head.jsonl" -o "$TMP/head.zst"
size=$(megabytes "$TMP/head.jsonl")

head_ours() { sluice_run "$TMP/filters.lua" "$TMP/head.zst" taskset -c "$CPU"; }

# shellcheck disable=SC2046
set -- $(taskset -c "$CPU" "$PYTHON" "$SRC/tests/bench/peer_filters.py" "$TMP/head.zst" "$TMP/theirs.zst" 1000 split)
versus head_ours head_ours
kept=$(cat "$TMP"/out/latest/* | zstd -qdc | wc -l)
heading 'the same filters, words by str.split' datatrove
row "the first $size MB: $3 of $2 documents kept, by us $kept" "$(rate "$size" "$LEFT_USED")" "$(rate "$size" "$4")" "$(quotient "$4" "$LEFT_USED")"
[ "$kept" = "$3" ] || fail "datatrove keeps $3 documents, we keep $kept"

head_chain() { sluice_run "$TMP/chain.lua" "$TMP/head.zst" taskset -c "$CPU"; }

# shellcheck disable=SC2046
set -- $(taskset -c "$CPU" "$PYTHON" "$SRC/tests/bench/peer_filters.py" "$TMP/head.zst" "$TMP/theirs.zst" 1000 spacy)
versus head_chain head_chain
kept=$(cat "$TMP"/out/latest/* | zstd -qdc | wc -l)
heading 'the chain of FineWeb, words and sentences of spaCy' datatrove
row "the first $size MB: $3 of $2 documents kept, by us $kept" "$(rate "$size" "$LEFT_USED")" "$(rate "$size" "$4")" "$(quotient "$4" "$LEFT_USED")" '>= 100'
[ "$kept" = "$3" ] || fail "datatrove keeps $3 documents, we keep $kept"
