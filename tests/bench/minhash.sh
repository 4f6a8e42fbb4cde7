# MinHash with 14 bands of 8 rows over 5-grams, text normalised: signing, and the whole deduplication.
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
real
file=$TMP/in.jsonl
head -c 100000000 "$REAL" | sed '$d' >"$file"
size=$(megabytes "$file")
pipeline read "$DROP_ALL"
pipeline sign "s.minhash_sign {} | $DROP_ALL"
pipeline minhash 's.minhash {} |'

reading() { sluice_run "$TMP/read.lua" "$file" taskset -c "$CPU"; }
signing() { sluice_run "$TMP/sign.lua" "$file" taskset -c "$CPU"; }
whole() { sluice_run "$TMP/minhash.lua" "$file" taskset -c "$CPU"; }
hashing() { once taskset -c "$CPU" sha256sum "$file"; }

echo "$ORIGIN, $size MB of JSON Lines, 1 processor, processor time"
heading 'minhash 14 x 8, 5-grams, normalised' sha256sum
versus signing reading
sign=$(awk -v a="$LEFT_USED" -v b="$RIGHT_USED" 'BEGIN { print a - b }')
versus whole hashing
row 'signing (what it adds to reading)' "$(rate "$size" "$sign")" "$(rate "$size" "$RIGHT_USED")" "$(quotient "$RIGHT_USED" "$sign")" '>= 50 MB/s'
row 'from JSON Lines to zstd JSON Lines without duplicates' "$(rate "$size" "$LEFT_USED")" "$(rate "$size" "$RIGHT_USED")" \
    "$(quotient "$RIGHT_USED" "$LEFT_USED")"

if ! "$PYTHON" -c 'import datatrove, spacy, orjson' 2>/dev/null; then
    echo 'datatrove is not installed (pkg/setup --for bench installs it): not compared'
    exit 0
fi
head -c 10000000 "$REAL" | sed '$d' >"$TMP/head.jsonl"
# shellcheck disable=SC2046
set -- $(TQDM_DISABLE=1 taskset -c "$CPU" "$PYTHON" "$SRC/tests/bench/peer_minhash.py" "$TMP/head.jsonl" "$TMP/peer")
file=$TMP/head.jsonl
size=$(megabytes "$file")
versus signing reading
sign=$(awk -v a="$LEFT_USED" -v b="$RIGHT_USED" 'BEGIN { print a - b }')
versus whole hashing
heading 'the same bytes, words by spacy-en on both sides' datatrove
row "signatures of $size MB, $2 documents" "$(rate "$size" "$sign")" "$(rate "$size" "$3")" "$(quotient "$3" "$sign")" '>= 100x, >= 100 MB/s'
row 'all four stages, from JSON Lines to JSON Lines' "$(rate "$size" "$LEFT_USED")" "$(rate "$size" "$4")" "$(quotient "$4" "$LEFT_USED")" '>= 50x'
