# MinHash at scale: time per document and peak memory for DOCUMENTS (1,000,000) short generated documents, a twentieth, a quarter and
# all of them; then an index of all, and the cost of 5 % new ones against it. NO_INDEX=1 leaves the index out.
# time limit: 86400
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
DOCUMENTS=${DOCUMENTS:-1000000}
MEMORY=${MEMORY:-2GiB}
WORKERS=${WORKERS:-2}
COPIES=$BUILD/tests/bench/copies

cat >"$TMP/scale.lua" <<'LUA'
local s = require "sluice"
local a = s.args { input = { "glob", "in" }, out = { "path", "out" }, against = { "string", "" }, index = { "string", "" } }
local options = { words = "whitespace" }
if a.against ~= "" then options.against = a.against end
local docs = s.files { a.input } | s.read_jsonl {}
local unique = docs | s.minhash(options)
local sinks = { unique | s.write_jsonl { a.out } }
if a.index ~= "" then sinks[2] = unique | s.minhash_index { path = a.index } end
return s.pipeline { "scale", table.unpack(sinks) }
LUA
scale() {
    rm -rf "$TMP/run" "$TMP/out"
    once -p "$SLUICE" run "$TMP/scale.lua" --run-dir "$TMP/run" "out=$TMP/out" --workers "$WORKERS" --memory "$MEMORY" --quiet "$@"
}
per_document() { awk -v t="$1" -v n="$2" 'BEGIN { printf "%.1f us", 1e6 * t / n }'; }

echo "generated documents of 50 words, one in five a near copy; $WORKERS workers, --memory $MEMORY"
printf '%-52s %12s %12s %12s\n' 'documents' 'wall' 'CPU/document' 'peak MiB'
mkdir -p "$TMP/in"
part=$((DOCUMENTS / 20))
done=0
for parts in 1 5 20; do
    while [ $done -lt $parts ]; do
        "$COPIES" $((done * part)) $part | zstd -q -1 >"$TMP/in/$(printf %02d $done).jsonl.zst"
        done=$((done + 1))
    done
    scale "input=$TMP/in/*"
    printf '%-52s %12s %12s %12s\n' $((part * parts)) "$WALL s" "$(per_document "$USED" $((part * parts)))" $((PEAK / 1024))
done
full=$USED
[ -z "${NO_INDEX-}" ] || exit 0
scale "input=$TMP/in/*" "index=$TMP/idx"
printf '%-52s %12s %12s %12s\n' 'the same, writing an index' "$WALL s" "$(per_document "$USED" "$DOCUMENTS")" $((PEAK / 1024))
kept=$USED
mkdir "$TMP/new"
"$COPIES" "$DOCUMENTS" $((DOCUMENTS / 20)) | zstd -q -1 >"$TMP/new/new.jsonl.zst"
scale "input=$TMP/new/*" "against=$TMP/idx@1"
printf '%-52s %12s %12s %12s\n' '5 % new ones against it' "$WALL s" "$(per_document "$USED" $((DOCUMENTS / 20)))" $((PEAK / 1024))
new=$USED
scale "input=$TMP/new/*" "against=$TMP/idx@1" "index=$TMP/idx"
printf '%-52s %12s %12s %12s\n' '5 % new ones against it, carrying it on' "$WALL s" "$(per_document "$USED" $((DOCUMENTS / 20)))" $((PEAK / 1024))
row '5 % new ones against the full run' "$new s" "$full s" "$(quotient "$new" "$full")" '<= 0.1'
row 'the same, both with an index' "$USED s" "$kept s" "$(quotient "$USED" "$kept")" '<= 0.1'
