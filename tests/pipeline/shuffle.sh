# shuffle.sh - a global shuffle of documents and of packed rows: the same rows in an order that workers, batches, memory, splits, kills and the
# order of tasks don't change; an order that looks random; what files that are added leave as it is; and the way back to the source.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=3 docs=400 codec=none words=20 dup=0 near=0 >made || fail 'no corpus'
tokenizer=$SRC/tests/data/tokenize/tiny_qwen.json
cat >shuffle.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, split = { "string", "64KiB" }, seed = { "int", 7 }, parts = { "int", 4 }, tokenizer = { "path", required = true } }
local docs = s.files { "corpus/*", split = a.split } | s.read_jsonl { columns = { kind = "utf8", of = "utf8" } }
local packed = docs | s.tokenize { a.tokenizer }
  | s.pack { sequence_length = 64, cu_seqlens = true, position_ids = true, document_ids = true }
return s.pipeline { "shuffle",
  s.named("documents", docs | s.shuffle { seed = a.seed, partitions = a.parts } | s.write_jsonl { a.out .. "/documents", compression = "none" }),
  s.named("packed", packed | s.write_jsonl { a.out .. "/packed", compression = "none" }),
  s.named("rows", packed | s.shuffle { seed = a.seed, partitions = 4 } | s.write_jsonl { a.out .. "/rows", compression = "none" }),
}
L

# go NAME OPTION... : a run in a run directory and output folder of its own
go() {
    name=$1
    shift
    "$SLUICE" run shuffle.lua --quiet --run-dir "$name.run" out="$name.out" tokenizer="$tokenizer" "$@"
}

SLUICE_TEST_OPLOG=$TMP/log
export SLUICE_TEST_OPLOG
expect 0 go first --workers 1
unset SLUICE_TEST_OPLOG
operations=$(operations log)
rm log

# The same rows, in another order: list columns, positions and boundaries are untouched.
cat corpus/* | member id | sort >ids
lines first.out/documents | member id >order
sort order | cmp -s - ids || fail 'a document is lost or made'
lines first.out/packed | sort >left
lines first.out/packed >plain
lines first.out/rows | sort >right
[ "$(wc -l <left)" -gt 400 ] || fail 'too few packed rows'
cmp -s left right || fail 'packed rows are not what they were'
lines first.out/rows >rows
cmp -s rows plain && fail 'packed rows are in order'

# An order as good as random: tenths of places before against tenths of places after (81 degrees of freedom), how far documents move (n/3), and
# how many are still beside the neighbour that they had.
cat corpus/* | member id >before
perl -e 'open my $b, "<", "before"; my @b = <$b>; open my $a, "<", "order"; my @a = <$a>; my %at; @at{@a} = 0 .. $#a;
    my ($n, $moved, $together, $chi, @cell) = (scalar @b, 0, 0, 0);
    for my $i (0 .. $n - 1) {
        my $to = $at{$b[$i]};
        $moved += abs($to - $i);
        $together++ if $i && abs($to - $at{$b[$i - 1]}) == 1;
        $cell[int($i * 10 / $n)][int($to * 10 / $n)]++;
    }
    for my $x (0 .. 9) { for my $y (0 .. 9) { my $e = $n / 100; $chi += (($cell[$x][$y] // 0) - $e) ** 2 / $e } }
    printf "n %d, moved %.3f n, together %d, chi-square %.1f\n", $n, $moved / $n / $n, $together, $chi;
    exit !($n == 1200 && $moved / $n / $n > 0.31 && $moved / $n / $n < 0.36 && $together < 12 && $chi < 141)' || fail 'the order is not random'

# Nothing but the seed matters.
SLUICE_TEST_DELAY=3
export SLUICE_TEST_DELAY
expect 0 go batch --workers 2 --batch 64KiB
same first.out batch.out 'with two workers and other batches'
same first.run/tasks batch.run/tasks 'task records'
SLUICE_TEST_FLOOR=off
export SLUICE_TEST_FLOOR
expect 0 go spills --workers 4 --memory 2MiB
same first.out spills.out 'in little memory'
unset SLUICE_TEST_FLOOR SLUICE_TEST_DELAY
expect 0 go splits split=64MiB parts=1
lines splits.out/documents | member id >ids
cmp -s ids order || fail 'another order with other splits and partitions'
grep -q '"shuffle.seed": 7' first.out/documents/snapshots/000001.json || fail 'the seed is not in the manifest'

# Killed somewhere in the middle, and taken up again.
status=0
SLUICE_TEST_KILL=$((operations / 2)):half go cut --workers 2 >said 2>&1 || status=$?
[ "$status" = 137 ] || { cat said >&2; fail "nothing was killed: status $status"; }
expect 0 go cut --workers 3
same first.out cut.out 'datasets after a kill'
same first.run/tasks cut.run/tasks 'task records after a kill'

# From a shuffled row to its source.
id=$(sed -n 3p order)
expect 0 "$SLUICE" trace first.out/documents 0 2 --run first.run --text
grep -qF "\"id\":\"$id\"" stdout || fail "the third row is traced to $(cat stdout), expected $id"
expect 0 "$SLUICE" trace first.out/rows 1 4 --run first.run
grep -q 'id ' stdout || fail 'a packed row has no source'
expect 0 "$SLUICE" verify first.out/rows

# A file more: its split is read, the documents that were there stay in their order, and what comes out is what a run from nothing gives.
perl "$CORPUS" more files=1 docs=60 seed=5 codec=none words=20 dup=0 near=0 name=zz >/dev/null
sed 's/"id":"/"id":"more-/' more/zz-00000.jsonl >corpus/zz.jsonl
expect 0 go first
first=$(reran first.run | sed -n 1p)
[ "$first" -ge 1 ] && [ "$first" -le 2 ] || fail "$first first tasks ran for one file more"
expect 0 go fresh
for dataset in documents rows; do
    lines first.out/$dataset >left
    lines fresh.out/$dataset | cmp -s - left || fail "$dataset differs from that of a run from nothing"
done
lines first.out/documents | member id | grep -v '^more-' | cmp -s - order || fail 'documents changed their order when others came'
is "$(lines first.out/documents | member id | grep -c '^more-')" 60 'documents added'

# Mistakes.
cat >wrong.lua <<'L'
local s = require "sluice"
local a = s.args { by = { "string", "id" }, column = { "string", "kind" } }
local docs = s.files "corpus/*" | s.read_jsonl { columns = { [a.column] = "utf8" } }
return s.pipeline { "wrong", docs | s.shuffle { by = { a.by } } | s.write_jsonl { "wrong" } }
L
expect 2 "$SLUICE" check wrong.lua column=key
says "the rows have a column 'key', which a shuffle needs for itself"
expect 2 "$SLUICE" check wrong.lua by=idd
says "it needs the column 'idd'" "did you mean 'id'"
expect 4 "$SLUICE" run wrong.lua --quiet by=absent column=absent
says 'no_id'
