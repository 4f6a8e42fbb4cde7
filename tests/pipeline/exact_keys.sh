# exact_keys.sh - exact duplicates by any key: several columns, within a column's value, the highest priority first, and against an index
# that an earlier run made; the same survivors for any workers and splits, and after a kill.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

perl -e 'for my $i (0 .. 1999) { my $k = $i * 7919 % 1000; my $u = $i % 300;
    printf qq({"id":"d%d","text":"text %d which is long enough that the files are cut at more than one place, hopefully yes","url":"u%d","p":%d,"dump":"c%d"}\n), $i, $k % 400, $u, ($i * 31) % 65535 + 1, $i % 3 }' >all.jsonl
head -n 1200 all.jsonl >in1.jsonl
tail -n +1201 all.jsonl >in2.jsonl
cat >exact.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, mode = { "string", "plain" }, split = { "string", "64MiB" }, input = { "glob", "in*.jsonl" } }
local docs = s.files { a.input, split = a.split } | s.read_jsonl { columns = { url = "utf8", p = "int64", dump = "utf8" } }
local modes = {
  plain = {}, priority = { priority = "p" }, within = { within = "dump" }, columns = { over = { "text", "url" } },
  against = { against = "index" }, only = { against = "index", against_only = true }, wrong = { over = "url", against = "index" },
}
for _, mode in pairs(modes) do mode.partitions = 3 end
if a.mode == "index" then return s.pipeline { "exact", docs | s.exact_index { partitions = 3 } | s.write_jsonl { a.out, compression = "none" } } end
local unique = docs | s.exact(modes[a.mode])
return s.pipeline { "exact", unique | s.write_jsonl { a.out .. "/kept", compression = "none" },
  unique.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" } }
L
# What must stay, told by perl: ids kept, and id dup_of of those that go.
cat >told.pl <<'P'
my $mode = shift; my (@docs, %best, %old);
if ($mode eq "against" || $mode eq "only") { open my $in, "<", "in1.jsonl"; while (<$in>) { /"id":"(.*?)","text":"(.*?)"/; $old{$2} //= $1 } }
while (<STDIN>) { /"id":"(.*?)","text":"(.*?)","url":"(.*?)","p":(\d+),"dump":"(.*?)"/ or die; push @docs, [$1, $2, $3, $4, $5] }
my $key = sub { my $d = shift; $mode eq "within" ? "$d->[1]/$d->[4]" : $mode eq "columns" ? "$d->[1]/$d->[2]" : $d->[1] };
for my $d (@docs) { my $k = $key->($d); $best{$k} = $d if !$best{$k} || ($mode eq "priority" && $d->[3] > $best{$k}[3]) }
for my $d (@docs) { my $k = $key->($d);
    my $of = exists $old{$k} ? $old{$k} : $mode eq "only" ? undef : $best{$k} == $d ? undef : $best{$k}[0];
    print defined $of ? "lost $d->[0] $of\n" : "kept $d->[0]\n" }
P
found() {
    { lines "$1/kept" | member id | sed 's/^/kept /'; lines "$1/lost" >lost; member id <lost >a; member dup_of <lost >b; paste -d ' ' a b | sed 's/^/lost /'; } | LC_ALL=C sort
}
for mode in plain priority within columns; do
    expect 0 "$SLUICE" run exact.lua --quiet mode=$mode out=$mode --run-dir $mode.run
    perl told.pl $mode <all.jsonl | LC_ALL=C sort >expected
    found $mode >got
    grep -q '^lost' expected || fail "$mode: nothing to drop"
    cmp -s expected got || { diff expected got | head -n 5 >&2; fail "$mode: other documents stay"; }
done
expect 0 "$SLUICE" run exact.lua --quiet mode=index out=index input=in1.jsonl --run-dir index.run
lines index >rows
is "$(wc -l <rows)" "$(member text <in1.jsonl | sort -u | wc -l)" 'one row a text in the index'
member key <rows | LC_ALL=C sort -c || fail 'the index is not sorted'
is "$(member rule <rows | sort -u)" 'exact-1 over=text' 'what the index was made by'
for mode in against only; do
    expect 0 "$SLUICE" run exact.lua --quiet mode=$mode out=$mode input=in2.jsonl --run-dir $mode.run
    perl told.pl $mode <in2.jsonl | LC_ALL=C sort >expected
    found $mode >got
    cmp -s expected got || { diff expected got | head -n 5 >&2; fail "$mode: other documents stay"; }
done
# Any workers and splits; a run that was killed goes on.
for workers in 4; do
    expect 0 "$SLUICE" run exact.lua --quiet mode=priority split=64KiB out=p$workers --run-dir p$workers.run --workers $workers
    found p$workers >got
    perl told.pl priority <all.jsonl | LC_ALL=C sort | cmp -s - got || fail "other documents stay with $workers workers and small splits"
done
"$SLUICE" run exact.lua --quiet mode=priority split=64KiB out=killed --run-dir killed.run --workers 2 >/dev/null 2>&1 &
child=$!
sleep 0.1
kill -9 "$child" 2>/dev/null || true
wait "$child" 2>/dev/null || true
expect 0 "$SLUICE" run exact.lua --quiet mode=priority split=64KiB out=killed --run-dir killed.run --workers 2
same p4 killed 'after a kill'
# An index of another rule is no index.
expect 4 "$SLUICE" run exact.lua --quiet mode=wrong out=wrong
says other_index_rule 'exact-1 over=url'
