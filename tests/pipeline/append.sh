# append.sh - mode = "append": the rows of a run come behind those of the newest snapshot, whose files stay as they are; the same append
# again publishes nothing, a file that is there already is refused, other facts (a tokenizer) too; a kill anywhere leaves the rows once or
# not at all, also where two runs append side by side and behind a compaction. The plan tells an append from a rebuild.
# time limit: 1200
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

day() { # N: rows of a day
    perl -e 'my $d = shift; print "{\"text\":\"row $_ of day $d " . "word " x ($_ % 7) . "\",\"id\":\"$d-$_\"}\n" for 1 .. 60' "$1" >"day$1.jsonl"
}
for d in 1 2 3 4 5 6; do day $d; done
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path" }, input = { "list", "" }, mode = { "string", "append" }, codec = { "string", "none" }, least = { "string", "" } }
local least = a.least
local docs = s.files { a.input, split = "64KiB" } | s.read_jsonl {}
  | s.filter { "least", function(doc) if doc.id < least then return "small" end end }
return s.pipeline { "p", docs | s.named("kept", s.write_jsonl { a.out, shard_size = "1KB", compression = a.codec, mode = a.mode }) }
L
go() { # NAME DAYS [OPTION...]
    _name=$1
    _days=$2
    shift 2
    "$SLUICE" run p.lua --quiet --run-dir "$(place "$_name.run")" "out=$(place "$_name.out")" "input=$_days" "$@"
}
snapshots() {
    find "$1/snapshots" -name '0*.json' | wc -l
}

expect 0 "$SLUICE" plan p.lua "out=$(place a.out)" input=day1.jsonl --run-dir "$(place a.run)"
says "> $(place a.out), the first of its snapshots"
expect 0 go a day1.jsonl
land a.out
shards a.out | while read -r file; do echo "$(basename "$file") $(cksum <"$file")"; done >first
expect 0 "$SLUICE" plan p.lua "out=$(place a.out)" input=day2.jsonl --run-dir "$(place a.run)"
says "appends to $(place a.out)@1"
expect 0 "$SLUICE" plan p.lua "out=$(place a.out)" input=day2.jsonl mode=rebuild --run-dir "$(place a.run)"
says "> $(place a.out), in place of @1"
expect 0 go a day2.jsonl
land a.out a.run
is "$(json a.run/last.json datasets.0.appended)" true 'the report says that rows were appended'
is "$(json a.out/snapshots/000002.json removed)" '' 'files that the append took away'
shards a.out | while read -r file; do echo "$(basename "$file") $(cksum <"$file")"; done | head -n "$(wc -l <first)" >second
[ "$STORE" != disk ] || cmp first second >&2 || fail 'the files of the first snapshot have other names or bytes'
lines a.out >found
cat day1.jsonl day2.jsonl >wanted
cmp wanted found >&2 || fail 'other rows, or in another order'
is "$(json a.out/snapshots/000002.json ledger.kept.written)" 120 'rows in the ledger'
is "$(json a.out/snapshots/000002.json 'lineage.appends.*.files.0.1' | tr '\n' ' ')" 'day1.jsonl day2.jsonl ' 'files in the lineage'

expect 0 "$SLUICE" datasets "$(place a.out)"
says 'from 2 files by read_jsonl, by 2 runs'

# The same once more, also from another run directory and with other workers: nothing.
expect 0 go a day2.jsonl
expect 0 "$SLUICE" run p.lua --quiet --run-dir "$(place b.run)" "out=$(place a.out)" input=day1.jsonl --workers 3
land a.out
is "$(snapshots a.out)" 2 'snapshots after the same appends'
# A file that is there, of tasks that are not: refused, and named.
expect 2 go a day2.jsonl least=2-3
says "its snapshot 2 has the rows of day2.jsonl (of 'read_jsonl') already" 'they would be there twice' 'since = '
expect 2 go a day2.jsonl,day3.jsonl --run-dir "$(place early.run)"
says 'has the rows of day2.jsonl'
land early.run
[ -z "$(find early.run/tasks -name '*.json' 2>/dev/null)" ] || fail 'it worked before it was refused'
expect 2 go a day3.jsonl mode=add
says "found string \"add\", expected \"rebuild\""
land a.out
is "$(snapshots a.out)" 2 'snapshots after refusals'

# Behind a compaction; and that append again.
expect 0 "$SLUICE" compact "$(place a.out)" --least 2 --target 4KB
expect 0 go a day2.jsonl
expect 0 go a day3.jsonl
expect 0 go a day3.jsonl
expect 0 "$SLUICE" compact "$(place a.out)" --least 2 --target 8KB
expect 0 go a day3.jsonl
land a.out
is "$(snapshots a.out)" 5 'snapshots with compactions'
lines a.out >found
cat day1.jsonl day2.jsonl day3.jsonl >wanted
cmp wanted found >&2 || fail 'other rows behind compactions'
expect 0 "$SLUICE" verify "$(place a.out)" --all

# Behind a removal: what is gone stays gone, and the appends are still known.
echo 2-7 >ids
expect 0 "$SLUICE" remove "$(place a.out)" --ids ids
expect 0 go a day3.jsonl
expect 0 go a day6.jsonl
expect 0 go a day2.jsonl
land a.out
is "$(snapshots a.out)" 7 'snapshots with a removal'
lines a.out >found
cat day1.jsonl day2.jsonl day3.jsonl day6.jsonl | grep -v '"2-7"' >wanted
cmp wanted found >&2 || fail 'other rows behind a removal'
expect 0 "$SLUICE" verify "$(place a.out)" --all

# A rebuild takes the place of all; what is appended then comes behind that.
expect 0 go a day4.jsonl mode=rebuild
expect 0 go a day5.jsonl
land a.out
lines a.out >found
cat day4.jsonl day5.jsonl >wanted
cmp wanted found >&2 || fail 'other rows behind a rebuild'

# A dataset that does not tell its files: what is there might be appended again.
sed 's/, mode = a.mode//' p.lua >plain.lua
expect 0 "$SLUICE" run plain.lua --quiet --run-dir "$(place c.run)" "out=$(place c.out)" input=day1.jsonl
expect 2 go c day2.jsonl
says 'does not tell of which files it was made' 'mode = "rebuild"'
expect 0 go c day1.jsonl mode=rebuild
expect 0 go c day2.jsonl
land c.out
is "$(lines c.out | wc -l)" 120 'rows behind a snapshot that tells its files from now on'

# Two at once, again and again: each row once.
expect 0 go side day1.jsonl
for pair in 2:3 4:5; do
    for d in ${pair%:*} ${pair#*:}; do
        "$SLUICE" run p.lua --quiet --run-dir "$(place "side$d.run")" "out=$(place side.out)" "input=day$d.jsonl" >"side$d" 2>&1 &
        eval "pid$d=$!"
    done
    for d in ${pair%:*} ${pair#*:}; do
        eval "wait \$pid$d" || { cat "side$d" >&2; fail "day $d beside another"; }
    done
done
land side.out
is "$(lines side.out | LC_ALL=C sort | cksum)" "$(cat day[1-5].jsonl | LC_ALL=C sort | cksum)" 'rows that were appended side by side'

expect 0 go whole day1.jsonl
expect 0 go whole day2.jsonl,day3.jsonl
land whole.out
expect 0 go cut day1.jsonl
keep cut.out
# How many operations the append is: a kill at a later one kills nothing.
low=1
high=2000
while [ $((high - low)) -gt 1 ]; do
    middle=$(((low + high) / 2))
    back cut.out
    forget cut.run
    killed=0
    export "SLUICE_TEST_KILL=$middle"
    may_be_killed 1:1 go cut day2.jsonl,day3.jsonl
    unset SLUICE_TEST_KILL
    if [ "$killed" -eq 1 ]; then low=$middle; else high=$middle; fi
done
operations=$low
kills=${KILLS:-10}
[ -z "${FULL-}" ] || kills=200
killed=0
seed=0
new=0
while [ "$killed" -lt "$kills" ]; do
    seed=$((seed + 1))
    [ "$seed" -le $((kills * 6)) ] || fail "only $killed of $seed seeds killed it"
    back cut.out
    forget cut.run
    faults "$seed:8"
    if [ $((seed % 2)) -eq 0 ]; then
        may_be_killed "$seed:$operations" go cut day2.jsonl,day3.jsonl --workers $((1 + seed % 3))
    else # while it publishes, which is the end
        export "SLUICE_TEST_KILL=$((operations - seed * 3 % 40))"
        may_be_killed "0:1000000" go cut day2.jsonl,day3.jsonl --workers $((1 + seed % 3))
        unset SLUICE_TEST_KILL
    fi
    faults 0:0
    land cut.out
    case $(snapshots cut.out) in
    1) is "$(lines cut.out | cksum)" "$(cksum <day1.jsonl)" "the old snapshot after seed $seed" ;;
    2) new=$((new + 1)) ;;
    *) fail "seed $seed: $(snapshots cut.out) snapshots" ;;
    esac
    expect 0 go cut day2.jsonl,day3.jsonl
    land cut.out
    same whole.out/data cut.out/data "files after seed $seed"
    same whole.out/snapshots cut.out/snapshots "manifests after seed $seed"
    expect 0 "$SLUICE" verify "$(place cut.out)" --all
done
[ "$new" -gt 0 ] && [ "$new" -lt "$seed" ] || fail "$new of $seed kills left the new snapshot"
echo "$operations operations, $killed kills, $new of them behind the new snapshot"

# Rows of several folders, appended: each folder gets its own; the same file again adds nothing.
cat >parts.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "string" }, out = { "string" } }
return s.pipeline { "parts", s.files { a.input } | s.read_jsonl {} | s.write_jsonl { a.out, mode = "append", compression = "none", partition_by = { { hash = "id", n = 3 } } } }
L
for day in 1 2 2 3; do expect 0 "$SLUICE" run parts.lua --quiet --run-dir "$(place parts.run)" "out=$(place parts.out)" "input=day$day.jsonl"; done
land parts.out
is "$(snapshots parts.out)" 3 'snapshots of three appends'
is "$(lines parts.out | LC_ALL=C sort | cksum)" "$(cat day1.jsonl day2.jsonl day3.jsonl | LC_ALL=C sort | cksum)" 'rows of three appends by folders'
expect 0 "$SLUICE" verify "$(place parts.out)" --all
