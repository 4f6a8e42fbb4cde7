# places_map.sh - an index in a place that can't be mapped: host->map gives stages a copy in the run's scratch, which is fetched once a
# version; the rows are those of the same index on a disk, also where the stage is in a process of its own. Another version of a file
# takes the place of the copy of the first.
STORE=hostile
. "$SRC/tests/lib.sh"

"$SLUICE" inspect minhash_index_keys >/dev/null 2>&1 || skip 'the plugin minhash is not built'
cat >day.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "path", "day1.jsonl" }, out = { "path", "out" }, against = { "string", "" }, index = { "string", "idx" } }
local options = { ngram = 3, bands = 20, rows = 5, partitions = 3 }
if a.against ~= "" then options.against = a.against end
local docs = s.files { a.input, split = "64KiB" } | s.read_jsonl {}
local unique = docs | s.minhash(options)
return s.pipeline { "day", unique | s.write_jsonl { a.out .. "/kept", compression = "none" },
  unique.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" },
  unique | s.minhash_index { path = a.index, partitions = 3 } }
L
perl -e '
    my $seed = 11;
    sub word { $seed = ($seed * 1103515245 + 12345) & 0x7fffffff; join "", map { chr(97 + (($seed >> (5 * $_)) % 26)) } 0 .. 4 }
    my @texts;
    for my $day (1 .. 2) {
        open my $out, ">", "day$day.jsonl" or die;
        for my $n (0 .. 59) {
            my @w = map { word() } 1 .. 100;
            @w = @{$texts[($n * 7 + $day) % @texts]} if @texts && $n % 3 == 0;
            push @texts, [@w];
            print $out "{\"id\":\"$day-$n\",\"text\":\"", join(" ", @w), "\"}\n";
        }
    }'
# days NAME OPTION...: both days, the second against the index of the first
days() {
    name=$1
    shift
    expect 0 "$SLUICE" run day.lua --quiet --run-dir "$(place "$name.1")" "out=$(place "$name.out1")" "index=$(place "$name.idx")" "$@"
    expect 0 "$SLUICE" run day.lua --quiet --run-dir "$(place "$name.2")" "out=$(place "$name.out2")" "index=$(place "$name.idx")" \
        "against=$(place "$name.idx")@1" input=day2.jsonl "$@"
}
STORE=disk
days disk
[ "$(lines disk.out2/lost | grep -c minhash_in_index)" -gt 10 ] || fail 'too few documents are found in the index'
STORE=hostile
for seed in 1 2; do
    faults $seed:8
    days far$seed --scratch "$TMP/scratch$seed"
    land far$seed.out2 far$seed.idx
    same disk.out2/kept/data far$seed.out2/kept/data "what was kept, seed $seed"
    same disk.out2/lost/data far$seed.out2/lost/data "what was dropped, seed $seed"
    same disk.idx/data far$seed.idx/data "the index, seed $seed"
done
copies=$(find scratch1 -name 'map-*' | wc -l)
is "$copies" "$(json far1.idx/snapshots/000001.json 'shards.*.file' | wc -l)" 'copies of the files of the index'
find scratch1 -name 'map-*' -printf '%p %i\n' | sort >before

# Again: nothing is fetched twice.
for folder in tasks spill; do forget "far1.2/$folder"; done
forget far1.out2
expect 0 "$SLUICE" run day.lua --quiet --run-dir "$(place far1.2)" "out=$(place far1.out2)" "index=$(place far1.idx)" \
    "against=$(place far1.idx)@1" input=day2.jsonl --scratch "$TMP/scratch1"
land far1.out2
same disk.out2/kept/data far1.out2/kept/data 'what was kept the second time'
find scratch1 -name 'map-*' -printf '%p %i\n' | sort >after
cmp -s before after || fail 'a copy that was there was fetched again'

# A file that an option names, mapped by a stage in a process of its own and in this one; then another version of it.
cp "$BUILD/tests/pipeline/mapped.so" .
cat >listed.lua <<'L'
local s = require "sluice"
local a = s.args { list = { "path" }, out = { "path" } }
return s.pipeline { "listed", s.files "day1.jsonl" | s.read_jsonl {} | s.mapped { list = a.list } | s.write_jsonl { a.out, compression = "none" } }
L
mkdir lists
# list COUNT: how many ids are listed
list() {
    perl -ne 'print "$1\n" if /"id":"([^"]*)"/' day1.jsonl | head -n "$1" >lists/ids.txt
    lift lists
}
# kept DATASET COUNT
kept() {
    land "$1"
    is "$(cat "$1"/data/* | wc -l)" "$2" "rows of $1"
}
listed() {
    name=$1
    shift
    "$SLUICE" run listed.lua --quiet --plugin "$TMP/mapped.so" --run-dir "$(place "$name.run")" "out=$(place "$name")" "list=$(place lists/ids.txt)" \
        --scratch "$TMP/scratch3" "$@"
}
list 7
expect 0 listed alone
kept alone 7
expect 0 listed trusted --trust
kept trusted 7
# A file that an option names is frozen with the plan: each run has a copy here.
is "$(find scratch3 -path '*/content/*' -name ids.txt | wc -l)" 2 'copies of the list'
list 11
expect 0 listed later
kept later 11
is "$(find scratch3 -path '*/content/*' -name ids.txt | wc -l)" 3 'copies of the list after it was changed'
# On a disk it is kept with the run.
expect 0 "$SLUICE" run listed.lua --quiet --trust --plugin "$TMP/mapped.so" --run-dir "$TMP/near.run" "out=$TMP/near" "list=$(place lists/ids.txt)"
is "$(cat near/data/* | wc -l)" 11 'rows of a run on a disk'
is "$(find near.run/content -name ids.txt | wc -l)" 1 'lists kept in the run'
forget lists
expect 2 listed gone
says 'lists/ids.txt'
