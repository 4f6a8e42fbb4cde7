# fixed.sh - keep = "fixed": days that are deduplicated against an index and appended one by one are, row by row, one run over all days, also
# where a document is like two that are not like each other; whatever the workers and partitions; a kill between the dataset and its index
# is made good by the next run. Exact duplicates the same, with an index that is appended to.
# time limit: 900
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

# Each text is a window of one long text of its theme, so that neighbours are alike and far ones are not: chains.
mkdir all in
perl -e '
    my $seed = 5;
    sub roll { $seed = ($seed * 1103515245 + 12345) & 0x7fffffff; ($seed >> 8) % shift }
    my @themes = map { [map { join "", map { chr(97 + roll(26)) } 0 .. 5 } 1 .. 400] } 1 .. 12;
    for my $day (1 .. 4) {
        open my $o, ">", "all/day$day.jsonl" or die;
        for my $n (1 .. 90) {
            my ($t, $at) = (roll(12), 12 * roll(20));
            my @w = @{$themes[$t]}[$at .. $at + 119];
            $w[roll(120)] = "x$day$n" if $n % 3 == 0;
            print $o "{\"text\":\"@w\",\"id\":\"$day-$n\"}\n";
        }
    }'
touch -d '2 hours ago' all/*
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "string" }, against = { "string", "" }, input = { "string", "in/*" }, keep = { "string", "fixed" }, partitions = { "int", 4 },
  exact = { "bool", false } }
local out, exact = a.out, a.exact
local docs = s.files { a.input, since = { out .. "/kept", out .. "/index" }, split = "64KiB" } | s.read_jsonl {}
local options = { keep = a.keep, partitions = a.partitions }
if not exact then options.bands, options.rows = 20, 5 end
if a.against ~= "" then options.against = out .. "/index@" .. a.against end
local unique = exact and docs | s.exact(options) or docs | s.minhash(options)
return s.pipeline { "p", unique | s.named("kept", s.write_jsonl { out .. "/kept", compression = "none", mode = "append" }),
  unique.dropped | s.named("lost", s.write_jsonl { out .. "/lost", compression = "none", mode = "append" }),
  exact and unique | s.exact_index { partitions = a.partitions } | s.named("index", s.write_jsonl { out .. "/index", mode = "append" })
    or unique | s.named("index", s.minhash_index { path = out .. "/index", partitions = a.partitions }) }
L
go() { # NAME [OPTION...]
    _name=$1
    shift
    "$SLUICE" run p.lua --quiet --run-dir "$(place "$_name.run")" "out=$(place "$_name.out")" "$@"
}
cp -p all/* in
expect 0 go whole
expect 0 go five partitions=7 --workers 5
land whole.out five.out
lines whole.out/kept >kept
lines five.out/kept | cmp - kept >&2 || fail 'workers or partitions change what is kept'
[ "$(wc -l <kept)" -gt 40 ] && [ "$(wc -l <kept)" -lt 200 ] || fail "$(wc -l <kept) of 360 rows are kept"
# It is another rule than that of clusters: there are chains.
sed -e 's/since = .*\(split\)/\1/' -e 's/, mode = "append"//' p.lua >plain.lua
expect 0 "$SLUICE" run plain.lua --quiet --run-dir "$(place first.run)" "out=$(place first.out)" keep=first
land first.out
[ "$(lines first.out/kept | wc -l)" -lt "$(wc -l <kept)" ] || fail 'there are no chains; the test tests nothing'
# What a document is said to be like is kept, and came before it.
lines whole.out/lost | perl -ne '/"id":"([^"]*)".*"dup_of":"([^"]*)"/ or die $_; print "$1 $2\n"' >pairs
member id <kept >ids
cut -d ' ' -f 2 pairs | sort -u | comm -23 - "$(sort ids >sorted; echo sorted)" >strange
[ ! -s strange ] || fail "duplicates of $(head -n 1 strange), which is not kept"

days() { # NAME OPTIONS...: one after the other
    _base=$1
    shift
    rm in/*
    for d in 1 2 3 4; do
        cp -p all/day$d.jsonl in
        [ $d -eq 1 ] || set -- "$@" "against=$((d - 1))"
        expect 0 go "$_base" "$@"
    done
}
days daily
land daily.out
lines daily.out/kept | cmp - kept >&2 || fail 'days that are appended keep other rows than one run over all'
lines daily.out/lost | member id >left
lines whole.out/lost | member id | cmp - left >&2 || fail 'days that are appended drop other rows'
is "$(find daily.out/index/snapshots -name '0*.json' | wc -l)" 4 'snapshots of the index'
expect 0 "$SLUICE" plan p.lua "out=$(place daily.out)" against=4 --run-dir "$(place daily.run)"
says "appends to $(place daily.out)/kept@4" "appends to $(place daily.out)/index@4" '4 files left out'
expect 0 go daily against=4
land daily.out
is "$(find daily.out/index/snapshots -name '0*.json' | wc -l)" 4 'snapshots of the index after a day without files'
# Beside the index nothing may be forgotten, and other rules fit no index of this one.
sed 's|, out .. "/index" }|}|' p.lua >forgets.lua
sed -i 's|mode = "append"|mode = "append" |' forgets.lua
expect 2 go daily against=4 keep=first input='all/*'
says 'the index was built with keep=fixed, this pipeline has keep=first'
sed 's/keep = a.keep/keep = a.keep, verify = 0.5/' p.lua >verify.lua
expect 2 "$SLUICE" check verify.lua out=x
says 'verify takes documents out of clusters'

# Killed while it publishes, again and again.
operations=0
for kill in 12 18 24 30 36 42 48; do
    forget cut.run cut.out
    rm in/*
    cp -p all/day1.jsonl in
    expect 0 go cut
    cp -p all/day2.jsonl in
    if [ $operations -eq 0 ]; then
        SLUICE_TEST_OPLOG=$TMP/log
        export SLUICE_TEST_OPLOG
        expect 0 go cut against=1
        unset SLUICE_TEST_OPLOG
        operations=$(operations log)
        rm log
        land cut.out
        lines cut.out/kept >two
        json cut.out/index/snapshots/000002.json content >index
    else
        export "SLUICE_TEST_KILL=$((operations - kill + 20))"
        killed=0
        may_be_killed 1:1 go cut against=1
        unset SLUICE_TEST_KILL
        expect 0 go cut against=1
        land cut.out
        lines cut.out/kept | cmp - two >&2 || fail "other rows after a kill at $kill operations before the end"
        is "$(json cut.out/index/snapshots/000002.json content)" "$(cat index)" 'the index after a kill'
    fi
done

# Exact duplicates.
perl -ne 's/ x\d+//; s/"text":"(\w+ \w+)[^"]*"/"text":"$1"/; print' -i all/*
touch -d '1 hour ago' all/*
cp -p all/* in
expect 0 go exact exact=true
land exact.out
lines exact.out/kept >kept
[ "$(wc -l <kept)" -gt 40 ] && [ "$(wc -l <kept)" -lt 300 ] || fail "$(wc -l <kept) of 360 rows are kept"
days edaily exact=true
land edaily.out
lines edaily.out/kept | cmp - kept >&2 || fail 'exact: days that are appended keep other rows than one run over all'
lines edaily.out/index | LC_ALL=C sort >left
lines exact.out/index | LC_ALL=C sort | cmp - left >&2 || fail 'exact: the index that was appended to is another one'
sed 's/keep = a.keep/keep = a.keep, priority = "n"/' p.lua >priority.lua
expect 2 "$SLUICE" check priority.lua out=x exact=true
says "keep = \"fixed\" excludes"
