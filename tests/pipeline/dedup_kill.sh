# dedup_kill.sh - every kind of deduplication and decontamination, with their indexes, keeps and drops the same documents whatever the workers,
# splits and order of completion; and a run killed with -9 at any operation on the disk, when run again, leaves the bytes of one that nobody
# disturbed. FULL=1: more kills, workers and splits.
# time limit: 900
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

# Words in sentences in paragraphs; every third document repeats a stretch of an earlier one, every seventh all of it.
perl -e '
    my $seed = 5;
    sub random { $seed = ($seed * 1103515245 + 12345) & 0x7fffffff; ($seed >> 8) % $_[0] }
    sub word { my $n = random(4000); join "", map { chr(97 + int($n / 26 ** $_) % 26) } 0 .. 2 + random(3) }
    my (@texts, @parts);
    sub paragraph { join " ", map { ucfirst(join " ", map { word() } 1 .. 8 + random(6)) . "." } 1 .. 4 }
    for my $day (0, 1, 2, 3) {
        open my $out, ">", "day$day.jsonl" or die;
        for my $n (0 .. 99) {
            my @own = map { @parts && random(3) == 0 ? $parts[random(scalar @parts)] : paragraph() } 1 .. 3;
            push @parts, @own;
            my $text = join "\\n\\n", @own;
            $text = $texts[random(scalar @texts)] if @texts && $n % 7 == 0;
            push @texts, $text;
            print $out qq({"id":"$day-$n","text":"$text"}\n);
        }
    }
    open my $items, ">", "items.jsonl" or die;
    for my $n (0 .. 9) {
        my @w = split / /, $texts[$n * 39 + 3] =~ s/\\n\\n/ /gr;
        printf $items qq({"id":"i%d","task":"t","question":"%s","answer":"%s"}\n), $n, join(" ", @w[0 .. 9]), join(" ", @w[10 .. 29]);
    }'

# The indexes of the day before.
cat >before.lua <<'L'
local s = require "sluice"
local docs = s.files { "day0.jsonl" } | s.read_jsonl {}
local unique = docs | s.minhash { partitions = 2 }
return s.pipeline { "before", unique | s.write_jsonl { "before" }, docs | s.exact_index { partitions = 2 } | s.write_jsonl { "exact.idx" },
  unique | s.minhash_index { path = "minhash.idx", partitions = 2 }, docs | s.bloom_index { expected = 40000, ngram = 5 } | s.write_bloom { "bloom.idx" } }
L
expect 0 "$SLUICE" run before.lua --quiet
cat >dedup.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, split = { "string", "64KiB" } }
local docs = s.files { "day[123].jsonl", split = a.split } | s.read_jsonl {}
local sinks = {}
local function both(name, stream)
  sinks[#sinks + 1] = stream | s.write_jsonl { a.out .. "/" .. name .. ".kept", compression = "none" }
  sinks[#sinks + 1] = stream.dropped | s.write_jsonl { a.out .. "/" .. name .. ".lost", compression = "none" }
end
both("exact", docs | s.named("exact1", s.exact { partitions = 3 }))
both("exact_index", docs | s.named("exact2", s.exact { partitions = 2, against = { "exact.idx@1" } }))
both("sentences", docs | s.sentence_dedup { partitions = 3, min_words = 20 })
both("paragraphs", docs | s.paragraph_dedup { partitions = 2 })
both("bloom", docs | s.bloom_paragraphs { expected = 40000, ngram = 5, document_threshold = 0.6 })
both("decontaminated", docs | s.decontaminate { reference = "items.jsonl" })
local unique = docs | s.named("minhash1", s.minhash { partitions = 3, against = "minhash.idx@1" })
both("minhash_index", unique)
both("minhash", docs | s.named("minhash2", s.minhash { partitions = 2, verify = 0.5 }))
sinks[#sinks + 1] = docs | s.exact_index { partitions = 2 } | s.write_jsonl { a.out .. "/exact.idx" }
sinks[#sinks + 1] = docs | s.bloom_index { expected = 40000, ngram = 5 } | s.write_bloom { a.out .. "/bloom.idx" }
return s.pipeline { "dedup", table.unpack(sinks) }
L
go() {
    name=$1
    shift
    "$SLUICE" run dedup.lua --quiet --run-dir "$(place "$name.run")" "out=$(place "$name.out")" "$@"
}
# decisions NAME prints what was kept and dropped: all rows of each dataset in their order.
decisions() {
    for folder in "$1".out/*.kept "$1".out/*.lost; do
        basename "$folder"
        lines "$folder"
    done
}
SLUICE_TEST_OPLOG=$TMP/log
export SLUICE_TEST_OPLOG
expect 0 go whole --workers 2
unset SLUICE_TEST_OPLOG
operations=$(operations log)
land whole.run whole.out
rm log
for name in exact exact_index sentences paragraphs bloom decontaminated minhash minhash_index; do
    [ "$(lines "whole.out/$name.lost" | wc -l)" -ge 5 ] || fail "$name drops too little"
    [ "$(lines "whole.out/$name.kept" | wc -l)" -ge 50 ] || fail "$name keeps too little"
done

# ---- workers, splits, completion ----
decisions whole >expected
other() {
    name=$1
    shift
    expect 0 go "$name" "$@"
    land "$name.out"
    decisions "$name" >found
    cmp -s expected found || { diff expected found | cut -c 1-200 | head -n 5 >&2; fail "other documents with $*"; }
}
SLUICE_TEST_DELAY=3
export SLUICE_TEST_DELAY
other shuffled --workers 4 split=1MiB
if [ -n "${FULL-}" ]; then
    for workers in 1 2 4; do
        for split in 64KiB 128KiB 1GiB; do
            SLUICE_TEST_DELAY=$workers
            other "w$workers-$split" --workers "$workers" "split=$split"
        done
    done
fi
unset SLUICE_TEST_DELAY

# ---- kill -9 ----
kills=${KILLS:-2}
[ -z "${FULL-}" ] || kills=60
killed=0
seed=0
while [ "$killed" -lt "$kills" ]; do
    seed=$((seed + 1))
    [ "$seed" -le $((kills * 3)) ] || fail "only $killed of $seed seeds killed the run"
    forget cut.run cut.out
    faults "$seed:9"
    may_be_killed "$seed:$operations" go cut --workers $((1 + seed % 4))
    expect 0 go cut --workers 2
    land cut.run cut.out
    same whole.out cut.out "datasets after seed $seed"
    same whole.run/tasks cut.run/tasks "task records after seed $seed"
done
echo "$killed kills in runs of $operations operations"
