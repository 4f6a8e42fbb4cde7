# since.sh - s.files { since = DATASET } leaves out the files whose rows a dataset has: by name and content, not by time or place; days that are
# appended one by one give the rows of one run over all; a file that changed under its name is named; what is left out and would be lost is
# refused; a run without new files publishes nothing; a kill anywhere, also between two datasets, and the next run takes in each file once.
# time limit: 1200
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

mkdir in
day() { # N: two files, of which one is small
    perl -e 'my $d = shift; for my $f ("a", "b") { open my $o, ">", "in/$d$f.jsonl" or die;
        print $o "{\"text\":\"row $_ of day $d $f " . "word " x ($_ % 7) . "\",\"id\":\"$d$f-$_\"}\n" for 1 .. ($f eq "a" ? 40 : 2) }' "$1"
    touch -d '2 hours ago' in/"$1"?.jsonl
}
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "string" }, input = { "string", "in/*" }, mode = { "string", "append" }, since = { "list", "" }, changed = { "string", "fail" },
  second = { "string", "" } }
local docs = s.files { a.input, since = a.since, changed = a.changed, split = "64KiB" } | s.read_jsonl {}
local sinks = { docs | s.exact { partitions = 2 } | s.named("kept", s.write_jsonl { a.out, compression = "none", mode = a.mode }) }
if a.second ~= "" then sinks[2] = docs | s.named("second", s.write_jsonl { a.second, compression = "none", mode = "append" }) end
return s.pipeline { "p", table.unpack(sinks) }
L
go() { # NAME [OPTION...]
    _name=$1
    shift
    "$SLUICE" run p.lua --quiet --run-dir "$(place "$_name.run")" "out=$(place "$_name.out")" "$@"
}
snapshots() {
    find "$1/snapshots" -name '0*.json' | wc -l
}
ids() {
    lines "$1" | member id
}
a=$(place a.out)

for d in 1 2 3; do
    day $d
    expect 0 "$SLUICE" plan p.lua "out=$a" "since=$a" --run-dir "$(place a.run)"
    [ $d -eq 1 ] || says "$((2 * d - 2)) files left out"
    expect 0 go a "since=$a"
done
expect 0 go all
land a.out a.run all.out
is "$(snapshots a.out)" 3 snapshots
is "$(ids a.out | cksum)" "$(ids all.out | cksum)" 'rows appended day by day'
# Nothing new: nothing is published, whatever the files' times and folder, and the reader's name.
expect 0 go a "since=$a"
touch in/*
expect 0 go a "since=$a"
mv in moved
expect 0 go a "since=$a" 'input=moved/*'
mv moved in
sed 's/s.read_jsonl {}/s.named("reads", s.read_jsonl {})/' p.lua >renamed.lua
expect 0 "$SLUICE" run renamed.lua --quiet --run-dir "$(place n.run)" "out=$a" "since=$a"
land a.out
is "$(snapshots a.out)" 3 'snapshots without new files'
expect 0 "$SLUICE" plan p.lua "out=$a" "since=$a@1" --run-dir "$(place a.run)"
says '2 files left out'
expect 0 "$SLUICE" tag "$a@2" second
expect 0 "$SLUICE" plan p.lua "out=$a" "since=$a@second" --run-dir "$(place a.run)"
says '4 files left out'
# The first new one, not the first one.
day 4
expect 0 "$SLUICE" plan p.lua "out=$a" "since=$a" --limit 1 --files --run-dir "$(place a.run)"
says 'in/4a.jsonl'

# An old name with other bytes, of another or the same size.
cp -p in/1b.jsonl kept
echo '{"text":"more","id":"m"}' >>in/1b.jsonl
expect 4 go a "since=$a"
says 'in/1b.jsonl changed since' "a.out@3 took it in" 'changed = "new"'
sed 's/row 1/row X/' kept >in/1b.jsonl
expect 4 go a "since=$a"
says 'in/1b.jsonl changed since'
expect 0 go a "since=$a" changed=new
land a.out
is "$(snapshots a.out)" 4 'snapshots with a changed file'
is "$(ids a.out | grep -c '^1b-')" 4 'rows of a file that came twice'
expect 0 go a "since=$a" changed=new
cp -p kept in/1b.jsonl
expect 0 go a "since=$a"
land a.out
is "$(snapshots a.out)" 4 'both are known'

# What would be lost, and what is not there.
expect 2 go a "since=$a" mode=rebuild
says "'kept' builds" 'would lose the rows'
expect 2 go b "since=$a,$(place none.out)"
says 'there is no dataset at' 'none.out'
expect 2 "$SLUICE" run p.lua --quiet --run-dir "$(place a.run)" "out=$a" "since=$a" "second=$(place a.second)"
says "'second' appends to" 'which has not: leave out what both have'
sed 's/, mode = a.mode//' p.lua >plain.lua
expect 0 "$SLUICE" run plain.lua --quiet --run-dir "$(place c.run)" "out=$(place c.out)"
expect 2 go c "since=$(place c.out)"
says 'does not tell of which files it was made' 'mode = "rebuild"'
expect 0 go c mode=rebuild
expect 0 go c "since=$(place c.out)"
land c.out
is "$(snapshots c.out)" 2 'a dataset that tells its files from now on'

# Two datasets of one run: what only one of them has when it is killed is in both after the next run, once.
rm in/4?.jsonl
both() { go "$1" "since=$(place "$1.out"),$(place "$1.second")" "second=$(place "$1.second")" --workers 2; }
expect 0 both whole
day 4
SLUICE_TEST_OPLOG=$TMP/log
export SLUICE_TEST_OPLOG
expect 0 both whole
unset SLUICE_TEST_OPLOG
operations=$(operations log)
rm log
land whole.out whole.second
killed=0
seed=0
apart=0
rm in/4?.jsonl
while [ "$killed" -lt "${KILLS:-10}" ]; do
    seed=$((seed + 1))
    [ "$seed" -le 80 ] || fail "only $killed of $seed seeds killed it"
    forget cut.run cut.out cut.second
    rm -f in/4?.jsonl
    expect 0 both cut
    day 4
    export "SLUICE_TEST_KILL=$((operations + 20 - seed * 7 % 80))"
    may_be_killed 1:1 both cut
    unset SLUICE_TEST_KILL
    land cut.out cut.second
    [ "$(snapshots cut.out)" -eq "$(snapshots cut.second)" ] || apart=$((apart + 1))
    expect 0 both cut
    land cut.out cut.second
    same whole.out/snapshots cut.out/snapshots "manifests after seed $seed"
    same whole.second/snapshots cut.second/snapshots "manifests of the other after seed $seed"
done
[ "$apart" -gt 0 ] || fail 'no kill came between the two datasets'
