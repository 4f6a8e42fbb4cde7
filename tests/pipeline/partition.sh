# partition.sh - write_jsonl { partition_by = … }: rows lie in folders called as Hive calls them, in the same bytes for any number of
# workers and size of batches and after any kill; their sources are found; too many, unknown and too long ones are refused, and the report
# names the hot ones.
# time limit: 600
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

mkdir in
perl -e 'srand 5; my @lang = ("en") x 8; push @lang, "de", "a/b=c", "", undef, "x y", "\x{e9}";
    for my $f (1 .. 8) { open my $o, ">:utf8", sprintf "in/%02d.jsonl", $f or die;
    for (1 .. 400) { my $lang = $lang[rand @lang]; $lang = !defined $lang ? "null" : "\"$lang\"";
    print $o "{\"id\":\"$f-$_\",\"text\":\"" . join(" ", map { int rand 1e9 } 1 .. 20) . "\",\"lang\":$lang,\"n\":" . int(rand 3) . "}\n" } }'
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path" }, by = { "string", "lang" }, most = { "int", 100 }, columns = { "string", "" }, join = { "string", "0" } }
local by = ({ lang = { "lang" }, hash = { hash = "id", n = 4 }, both = { "n", { hash = "id", n = 2 } }, bad = { "hash(id)" }, none = { "long" },
  id = { "id" }, text = { "text" } })[a.by]
return s.pipeline { "p", s.files { "in/*", split = "64KiB" } | s.read_jsonl { columns = { lang = "utf8", n = "int64" } } |
  s.write_jsonl { a.out, partition_by = by, max_partitions = a.most, join = a.join } }
L
go() { # NAME [OPTION...]
    _name=$1
    shift
    "$SLUICE" run p.lua --run-dir "$(place "$_name.run")" "out=$(place "$_name.out")" "$@"
}
names() { # NAME: the public names of its newest snapshot
    json "$(find "$1.out/snapshots" -name '*.json' | LC_ALL=C sort | tail -n 1)" 'shards.*.name'
}
folders() {
    names "$1" | sed 's|/part-.*||' | LC_ALL=C sort -u
}

expect 0 go one --workers 1
says '6 partitions, median' '; hot: lang=en '
land one.out one.run
cat >expected <<'F'
lang=__HIVE_DEFAULT_PARTITION__
lang=a%2Fb%3Dc
lang=de
lang=en
lang=x y
lang=é
F
folders one | diff - expected >&2 || fail 'other folders'
is "$(json one.run/last.json 'datasets.0.partitions.n')" 6 'partitions in the report'
is "$(json one.run/last.json 'datasets.0.partitions.largest.0.folder')" lang=en 'the largest'
[ "$(json one.run/last.json 'phases.0.tasks')" -ge 4 ] || fail 'too few tasks'
# Every row is where it belongs, and all are there.
json "$(find one.out/snapshots -name '*.json')" 'shards.*.file' >files
names one | paste - files | while IFS='	' read -r name file; do
    zstd -qdc "one.out/data/$file" | sed "s|^|$(echo "$name" | sed 's|/part-.*||')	|"
done >rows
is "$(wc -l <rows)" 3200 'rows'
grep -c '^lang=en	.*"lang":"en"' rows >en
is "$(cat en)" "$(cat in/* | grep -c '"lang":"en"')" 'rows of lang=en'
is "$(grep -c '^lang=__HIVE_DEFAULT_PARTITION__	' rows)" "$(cat in/* | grep -cE '"lang":(null|"")')" 'rows of no language'
cut -f 2 rows | member id | LC_ALL=C sort >ids
cat in/* | member id | LC_ALL=C sort | cmp - ids || fail 'other rows'
# In a folder they stand in the order of the input.
grep '^lang=de' rows | cut -f 2 | member id >order
cat in/* | grep '"lang":"de"' | member id | cmp - order || fail 'another order in a folder'
expect 0 "$SLUICE" verify "$(place one.run)"
expect 0 "$SLUICE" verify "$(place one.out)"
names one | awk 'NR % 16 == 1' >sorted
row=0
while read -r name; do
    file=$(names one | paste - files | awk -F '\t' -v name="$name" '$1 == name { print $2 }')
    expect 0 "$SLUICE" trace "$(place one.out)" "$name" 0 --run "$(place one.run)" --json
    is "$(json stdout origin.0.id)" "$(zstd -qdc "one.out/data/$file" | head -n 1 | member id)" "the source of $name"
    row=$((row + 1))
done <sorted
[ "$row" -ge 6 ] || fail 'no file was traced'

for workers in 2 5; do
    expect 0 go w$workers --workers $workers --batch $((workers * 8))KiB
    land w$workers.out w$workers.run
    same one.out w$workers.out "with $workers workers"
    same one.run/tasks w$workers.run/tasks "records with $workers workers"
done

# Read again, rows are those of the input.
cat >again.lua <<'L'
local s = require "sluice"
local a = s.args { from = { "string" }, out = { "path" } }
return s.pipeline { "again", s.dataset(a.from) | s.read_jsonl { columns = { lang = "utf8", n = "int64" } } | s.write_jsonl { a.out } }
L
expect 0 "$SLUICE" run again.lua --quiet --run-dir "$(place again.run)" "from=$(place one.out)" "out=$(place again.out)"
land again.out
lines again.out | member id | LC_ALL=C sort | cmp - ids || fail 'other rows are read again'

# Hashes, several levels, small files joined within each folder.
expect 0 go hash by=hash
land hash.out
printf 'id_bucket=%d\n' 0 1 2 3 >expected
folders hash | diff - expected >&2 || fail 'other buckets'
# What is in a bucket is so for ever: others join by it.
json "$(find hash.out/snapshots -name '*.json')" 'shards.*.file' >files
names hash | paste - files | grep '^id_bucket=2/' | cut -f 2 | sed 's|^|hash.out/data/|' | xargs zstd -qdc | member id | head -n 3 >ids2
printf '1-%d\n' 1 3 4 | cmp - ids2 || fail "other rows in bucket 2: $(cat ids2)"
expect 0 go both by=both join=1MB
land both.out
printf 'n=%d/id_bucket=%d\n' 0 0 0 1 1 0 1 1 2 0 2 1 >expected
folders both | diff - expected >&2 || fail 'other folders of two levels'
is "$(names both | wc -l)" 6 'files, joined'
expect 0 "$SLUICE" verify "$(place both.out)"
json "$(find both.out/snapshots -name '*.json')" 'shards.*.rows' >joined
is "$(sum <joined)" 3200 'rows, joined'
expect 0 "$SLUICE" compact "$(place one.out)" --least 2
land one.out
is "$(names one | wc -l)" 6 'files, compacted'
folders one >expected
folders w2 | diff - expected >&2 || fail 'other folders after compaction'
expect 0 "$SLUICE" verify "$(place one.out)"

# Refused.
expect 2 go no most=3
says 'fall into more than 3 partitions' max_partitions 'hash(COLUMN, N)'
expect 2 go no by=bad
says 'neither the name of a column nor hash(COLUMN, N)'
expect 2 go no by=none
says "'long'"
expect 2 go no by=text
says "can't call a folder 'text=" 'partition by a hash'
! there no.out/snapshots/000001.json || fail 'a refused run published'

kills=${KILLS:-4}
[ -z "${FULL-}" ] || kills=60
killed=0
seed=0
while [ "$killed" -lt "$kills" ]; do
    seed=$((seed + 1))
    [ "$seed" -le $((kills * 8)) ] || fail "only $killed of $seed seeds killed the run"
    forget cut.run cut.out
    may_be_killed "$seed:300" go cut --workers $((1 + seed % 4))
    expect 0 go cut --workers 2
    land cut.out
    same w2.out cut.out "after seed $seed"
done
