# minhash_index.sh - the persistent index: documents that it has are dropped and named, all copies of
# them; carrying it on day by day keeps what one run over all days keeps, except where a new document joins
# published ones, which the plan counts; other parameters and older snapshots are refused by name.
#
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

cat >day.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "list", "day1.jsonl" }, out = { "path", "out" }, against = { "string", "" }, ngram = { "int", 3 }, index = { "string", "idx" },
  verify = { "float", 0 }, partitions = { "int", 4 }, over = { "string", "text" } }
local options = { over = a.over, ngram = a.ngram, bands = 20, rows = 5, partitions = a.partitions, verify = a.verify }
if a.against ~= "" then options.against = a.against end
local docs = s.files { a.input, split = "64KiB" } | s.read_jsonl {}
local unique = docs | s.minhash(options)
return s.pipeline { "day", unique | s.write_jsonl { a.out .. "/kept", compression = "none" },
  unique.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" },
  unique | s.minhash_index { path = a.index, partitions = a.partitions } }
L
# Three days: each repeats texts of the days before, changed a little, and twice of its own.
perl -e '
    my $seed = 11;
    sub word { $seed = ($seed * 1103515245 + 12345) & 0x7fffffff; join "", map { chr(97 + (($seed >> (5 * $_)) % 26)) } 0 .. 4 }
    my @texts;
    for my $day (1 .. 3) {
        open my $out, ">", "day$day.jsonl" or die;
        for my $n (0 .. 119) {
            my @w = map { word() } 1 .. 160;
            @w = @{$texts[($n * 7 + $day) % @texts]} if @texts && $n % 3 == 0;
            $w[80] = word() if $n % 2;
            push @texts, [@w];
            for my $copy (0 .. ($n % 10 == 0 ? 1 : 0)) { print $out "{\"id\":\"$day-$n-$copy\",\"text\":\"", join(" ", @w), "\"}\n"; }
        }
    }'
expect 0 "$SLUICE" run day.lua --quiet out=o1 --run-dir r1
expect 0 "$SLUICE" run day.lua --quiet out=o2 --run-dir r2 input=day2.jsonl against=idx@1
is "$(ls -d idx/v*)" "$(printf 'idx/v000001\nidx/v000002')" 'snapshots of the index'
# The first snapshot's files stay, under their names.
for file in idx/v000001/*; do [ -e "idx/v000002/$(basename "$file")" ] || fail "$file is not carried on"; done
lines o2/lost >lost
[ "$(grep -c minhash_in_index lost)" -gt 30 ] || fail 'too few documents are found in the index'
[ "$(grep -c minhash_duplicate lost)" -gt 5 ] || fail 'too few duplicates among the new documents'
grep minhash_in_index lost | member dup_of | grep -qv '^1-' && fail 'a document of the index is not of day 1'
grep minhash_duplicate lost | member dup_of | grep -qv '^2-' && fail 'a new duplicate is of another day'
grep minhash_in_index lost | member similarity | awk '$1 < 0.2 || $1 > 1 { exit 1 }' || fail 'a similarity is out of range'
# All copies of what the index has are dropped, not the first of them alone.
lines o2/kept | member id >kept
grep -e '-1$' kept && fail 'a copy stays'
expect 0 "$SLUICE" run day.lua --quiet out=o3 --run-dir r3 input=day3.jsonl against=idx@2
# One run over all days drops the same documents.
expect 0 "$SLUICE" run day.lua --quiet out=all --run-dir rall input=day1.jsonl,day2.jsonl,day3.jsonl index=fresh
lines all/kept | member id | LC_ALL=C sort >left
for day in 1 2 3; do lines o$day/kept | member id; done | LC_ALL=C sort >right
cmp -s left right || { diff left right | head >&2; fail 'day by day keeps other documents than one run'; }
expect 0 "$SLUICE" plan day.lua out=o4 --run-dir r4 input=day3.jsonl against=idx@3
says 'idx@3 was carried on 2 times' 'would change at most 0 of'
# Once more from the same snapshot: the same files, no new number. From an older one: refused.
expect 0 "$SLUICE" run day.lua --quiet out=o3 --run-dir r3b input=day3.jsonl against=idx@2 --workers 1
[ ! -e idx/v000004 ] || fail 'the same day was published twice'
expect 2 "$SLUICE" run day.lua --quiet out=o5 --run-dir r5 input=day1.jsonl against=idx@1
says 'this run carries snapshot 1 on, but the newest is 3' 'idx@3'

# Documents that are like two published ones: building anew would drop one of these. The plan knows how many.
perl -e '
    my @texts = map { /"text":"([^"]*)"/ ? $1 : () } <>;
    for my $k (5 .. 24) { print "{\"id\":\"bridge$k\",\"text\":\"$texts[$k] $texts[$k + 30]\"}\n" }' day1.jsonl >z_bridge.jsonl
expect 0 "$SLUICE" run day.lua --quiet out=o6 --run-dir r6 input=z_bridge.jsonl against=idx@3
expect 0 "$SLUICE" run day.lua --quiet out=anew --run-dir ranew input=day1.jsonl,day2.jsonl,day3.jsonl,z_bridge.jsonl index=anew.idx
for out in o1 o2 o3 o6; do lines $out/kept | member id; done | LC_ALL=C sort >left
lines anew/kept | member id | LC_ALL=C sort >right
LC_ALL=C comm -23 left right >changed
[ -s changed ] || fail 'no document bridges two published ones; the test tests nothing'
expect 0 "$SLUICE" plan day.lua out=o7 --run-dir r7 input=z_bridge.jsonl against=idx@4 --json
grep -q "\"rebuild_changes\": *$(wc -l <changed)," stdout || { cat changed stdout >&2; fail 'another number of documents is counted'; }
expect 0 "$SLUICE" plan day.lua out=o7 --run-dir r7 input=z_bridge.jsonl against=idx@4
says "would change at most $(wc -l <changed) of"

# Other parameters, no snapshot, no such snapshot, damage.
expect 2 "$SLUICE" run day.lua --quiet out=o8 --run-dir r8 input=day2.jsonl against=idx@4 ngram=4
says 'the index was built with ngram=3, this pipeline has ngram=4'
expect 2 "$SLUICE" run day.lua --quiet out=o8 --run-dir r8 input=day2.jsonl against=idx@4 over=id
says 'the index was built with over=text, this pipeline has over=id'
expect 2 "$SLUICE" run day.lua --quiet out=o8 --run-dir r8 against=idx
says 'does not say which snapshot' 'idx@1'
expect 2 "$SLUICE" run day.lua --quiet out=o8 --run-dir r8 against=idx@1 verify=0.8
says 'verify compares shingles'
"$SLUICE" run day.lua --quiet out=o8 --run-dir r8 against=idx@9 2>stderr && fail 'a snapshot that is not there'
grep -q '000009.json' stderr || fail 'the message does not name the manifest'
for keys in idx/data/*.keys; do
    chmod u+w "$keys"
    perl -e 'open my $f, "+<", $ARGV[0] or die; seek $f, 300, 0; read $f, my $c, 1; seek $f, 300, 0; print $f chr(ord($c) ^ 1)' "$keys"
done
"$SLUICE" run day.lua --quiet out=o9 --run-dir r9 input=day2.jsonl,day3.jsonl,day1.jsonl against=idx@4 index=other 2>stderr && fail 'a damaged index was read'
grep -q 'does not fit its checksum' stderr || { cat stderr >&2; fail 'the damage is not named'; }
# A file of it that is gone, or cut: input data, by its name.
for keys in idx/data/*.keys; do
    mv "$keys" whole
done
expect 4 "$SLUICE" run day.lua --quiet out=o10 --run-dir r10 input=day2.jsonl against=idx@4
says 'idx/data/' 'is not there; put it back'
for docs in idx/data/*.docs; do
    head -c 300 whole >"${docs%.docs}.keys"
done
expect 4 "$SLUICE" run day.lua --quiet out=o10 --run-dir r10 input=day2.jsonl against=idx@4
says 'idx/data/' 'its size is not that of the manifest'
