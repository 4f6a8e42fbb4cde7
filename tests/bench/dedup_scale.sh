# MinHash at scale: time per document and peak memory for DOCUMENTS (1,000,000) short generated documents, a tenth, a third and all of
# them; then an index of all, and the cost of 5 % new ones against it. DOCUMENTS=20000000 takes about 60 GB of scratch space.
# time limit: 86400
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
DOCUMENTS=${DOCUMENTS:-1000000}
MEMORY=${MEMORY:-2GiB}
WORKERS=${WORKERS:-2}

# documents FIRST COUNT: one in five is like an earlier one, with two words of fifty exchanged.
documents() {
    perl -e '
        use integer;
        my ($first, $count) = @ARGV;
        my @words = map { my $x = $_ * 2654435761 & 0x7fffffff; join "", map { chr 97 + ($x >> 4 * $_ & 15) + $_ } 0 .. 2 + $_ % 5 } 1 .. 20000;
        my $state;
        sub number { $state = $state * 6364136223846793005 + 1442695040888963407; (($state >> 33) & 0x7fffffff) % $_[0] }
        for my $i ($first .. $first + $count - 1) {
            $state = $i * 7919 + 1;
            my $copy = number(5) == 0 && $i > 0;
            my $of = $copy ? number($i) : $i;
            $state = $of * 104729 + 17;
            my @t = map { $words[number(20000)] } 1 .. 50;
            if ($copy) { $state = $i; $t[number(50)] = "edited" for 1 .. 2 }
            print "{\"id\":\"$i\",\"text\":\"@t\"}\n";
        }' "$1" "$2"
}

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
part=$((DOCUMENTS / 10))
done=0
for tenths in 1 3 10; do
    while [ $done -lt $tenths ]; do
        documents $((done * part)) $part | zstd -q -1 >"$TMP/in/$(printf %02d $done).jsonl.zst"
        done=$((done + 1))
    done
    scale "input=$TMP/in/*"
    printf '%-52s %12s %12s %12s\n' $((part * tenths)) "$WALL s" "$(per_document "$USED" $((part * tenths)))" $((PEAK / 1024))
done
full=$USED
scale "input=$TMP/in/*" "index=$TMP/idx"
printf '%-52s %12s %12s %12s\n' 'the same, writing an index' "$WALL s" "$(per_document "$USED" "$DOCUMENTS")" $((PEAK / 1024))
mkdir "$TMP/new"
documents "$DOCUMENTS" $((DOCUMENTS / 20)) | zstd -q -1 >"$TMP/new/new.jsonl.zst"
scale "input=$TMP/new/*" "against=$TMP/idx@1" "index=$TMP/idx"
printf '%-52s %12s %12s %12s\n' '5 % new ones against it, carrying it on' "$WALL s" "$(per_document "$USED" $((DOCUMENTS / 20)))" $((PEAK / 1024))
row 'the cost of 5 % new ones against the full run' "$USED s" "$full s" "$(quotient "$USED" "$full")" '<= 0.1'
