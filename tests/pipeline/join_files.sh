# join_files.sh - write_jsonl { join = SIZE }: the small files of many tasks are joined when they are published, without being decoded, into the
# same bytes for any number of workers and after any kill; a changed input makes few joined files anew, and an unchanged run none.
# time limit: 900
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

mkdir in
perl -e 'srand 7; for my $f (1 .. 24) { open my $o, ">", sprintf "in/%02d.jsonl", $f or die;
    print $o "{\"id\":\"$f-$_\",\"text\":\"" . join(" ", map { int rand 1e9 } 1 .. 25) . "\"}\n" for 1 .. 260 }'
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path" }, join = { "string", "600KB" } }
return s.pipeline { "p", s.files { "in/*", split = "64KiB" } | s.read_jsonl {} | s.write_jsonl { a.out, join = a.join } }
L
go() { # NAME [OPTION...]
    _name=$1
    shift
    "$SLUICE" run p.lua --quiet --run-dir "$(place "$_name.run")" "out=$(place "$_name.out")" "$@"
}
newest() {
    find "$1/snapshots" -name '*.json' | LC_ALL=C sort | tail -n 1
}

expect 0 go apart join=0 --workers 2
expect 0 go whole --workers 2
land apart.out whole.out whole.run
lines apart.out >apart
lines whole.out >whole
cmp apart whole >&2 || fail 'other rows, or in another order'
tasks=$(json whole.run/last.json 'phases.0.tasks')
[ "$tasks" -ge 20 ] || fail "only $tasks tasks"
files=$(shards whole.out | wc -l)
[ "$files" -gt 1 ] && [ "$files" -lt $((tasks / 3)) ] || fail "$files files of $tasks tasks"
for size in $(json "$(newest whole.out)" 'shards.*.bytes' | sed '$d'); do
    [ "$size" -ge 450000 ] && [ "$size" -le 750000 ] || fail "a file of $size bytes"
done
is "$(json whole.run/last.json 'datasets.0.shards')" "$files" 'files in the report'
expect 0 "$SLUICE" verify "$(place whole.run)"
expect 0 "$SLUICE" verify "$(place whole.out)"
expect 0 "$SLUICE" trace "$(place whole.out)" 0 700 --run "$(place whole.run)" --json
is "$(json stdout origin.0.id)" "$(sed -n 701p whole | member id)" 'the record of a joined row'

for workers in 1 5; do
    expect 0 go w$workers --workers $workers
    land w$workers.out
    same whole.out w$workers.out "with $workers workers"
done
expect 0 go whole
land whole.out
is "$(find whole.out/snapshots -name '*.json' | wc -l)" 1 'snapshots of an unchanged run'

# A change in the middle.
cp -p in/12.jsonl kept
sed -i '5s/1/2/g' in/12.jsonl
expect 0 go whole
expect 0 "$SLUICE" diff "$(place whole.out)@1" "$(place whole.out)" --json
[ "$(json stdout files.added.files)" -le 2 ] || fail "$(json stdout files.added.files) of $files files were made anew"
expect 0 "$SLUICE" verify "$(place whole.out)" --all
mv kept in/12.jsonl

kills=${KILLS:-8}
[ -z "${FULL-}" ] || kills=100
killed=0
seed=0
while [ "$killed" -lt "$kills" ]; do
    seed=$((seed + 1))
    [ "$seed" -le $((kills * 8)) ] || fail "only $killed of $seed seeds killed the run"
    forget cut.run cut.out
    faults "$seed:8"
    may_be_killed "$seed:400" go cut --workers $((1 + seed % 4))
    faults 0:0
    expect 0 go cut --workers 2
    land cut.out
    same w1.out cut.out "after seed $seed"
done
