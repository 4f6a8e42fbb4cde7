# Dolma's rule-based taggers in one pass, attributes written; the peer in one process on the first megabytes.
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
real
head -c 100000000 "$REAL" | sed '$d' >"$TMP/in.jsonl"
printf 'darn\nbig darn\n' >"$TMP/words"
all='gopher_v1 gopher_v2 c4_v1 c4_v2 repetitions_v1 paragraph_repetitions_v1 pii_regex_v2 pii_regex_with_counts_fast_v2'
python=$PYTHON
"$python" -c 'import dolma' 2>/dev/null || python=$SLUICE_ASSETS/parity-dolma-python/bin/python

# script NAME TAGGER...
script() {
    _name=$1
    shift
    # shellcheck disable=SC2046
    cat >"$TMP/$_name.lua" <<LUA
local s = require "sluice"
local a = s.args { input = { "glob", "in.jsonl" }, out = { "path", "out" } }
return s.pipeline { "tags", s.files(a.input) | s.read_jsonl {} | s.dolma_tag { { $(printf '"%s", ' "$@") }, bad_words = "$TMP/words" }
  | s.write_attributes { a.out, compression = "zstd" } }
LUA
}

ours() { sluice_run "$TMP/$name.lua" "$TMP/$input" taskset -c "$CPU"; }

input=in.jsonl
size=$(megabytes "$TMP/$input")
echo "$ORIGIN, $size MB of JSON Lines, 1 processor, processor time"
heading 'dolma_tag and write_attributes' -
for name in all gopher_v2 c4_v2 repetitions_v1 pii_regex_v2 pii_regex_with_counts_fast_v2; do
    # shellcheck disable=SC2086
    if [ $name = all ]; then script all $all; else script $name $name; fi
    versus ours ours
    row "$name" "$(rate "$size" "$LEFT_USED")" - -
done
if ! "$python" -c 'import dolma' 2>/dev/null; then
    echo 'dolma is not installed (tests/parity/dolma.sh installs it): not compared'
    exit 0
fi
# Lines of the peer's repetitions_v1 cost their length squared: documents of at most 20,000 bytes.
perl -ne 'print if length() < 20000' "$TMP/in.jsonl" | head -c 3000000 | sed '$d' |
    sed 's/^{/{"source":"bench",/' >"$TMP/head.jsonl"
input=head.jsonl
size=$(awk -v n="$(stat -c %s "$TMP/$input")" 'BEGIN { printf "%.2f", n / 1e6 }')
heading "the first $size MB of documents below 20 kB" 'dolma 1.2.1'
for name in all gopher_v2 c4_v2 repetitions_v1 pii_regex_v2 pii_regex_with_counts_fast_v2; do
    versus ours ours
    # shellcheck disable=SC2086
    if [ $name = all ]; then taggers=$all; else taggers=$name; fi
    # shellcheck disable=SC2046,SC2086
    set -- $(taskset -c "$CPU" "$python" "$SRC/tests/bench/peer_dolma.py" "$TMP/$input" "$TMP/theirs.jsonl" $taggers 2>/dev/null)
    row "$name, $2 documents" "$(rate "$size" "$LEFT_USED")" "$(awk -v a="$size" -v b="$1" 'BEGIN { printf "%.2f MB/s", a / b }')" "$(quotient "$1" "$LEFT_USED")"
done
