# compact.sh - `compact` joins small files in a new snapshot of the same rows in the same order; readers of the old one, runs that change
# nothing, verify and trace go on as before; a kill at any operation leaves the old snapshot or the new one, and the next call makes the
# same bytes. `retain` forgets what is old and has no tag, and a kill of it loses nothing that is kept.
# time limit: 1200
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

mkdir in
perl -e 'for my $f (1 .. 40) { open my $o, ">", sprintf "in/%02d.jsonl", $f or die; print $o "{\"id\":\"$f-$_\",\"text\":\"row $_ of file $f " . "word " x ($f * 7 % 11) . "\"}\n" for 1 .. 5 }'
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path" }, codec = { "string", "zstd" } }
return s.pipeline { "p", s.files "in/*" | s.read_jsonl {} | s.filter { "f", function(doc) if doc.id == "3-3" then return "small" end end }
  | s.write_jsonl { a.out, shard_size = "300B", compression = a.codec } }
L
go() { # NAME [OPTION...]
    _name=$1
    shift
    expect 0 "$SLUICE" run p.lua --quiet --run-dir "$(place "$_name.run")" "out=$(place "$_name.out")" "$@"
}
compact() {
    "$SLUICE" compact "$(place "$1.out")" --target 2KB
}

for codec in none gzip zstd; do
    go $codec codec=$codec --workers 2
    land $codec.out
    lines $codec.out >before
    is "$(wc -l <before)" 199 rows
    files=$(shards $codec.out | wc -l)
    [ "$files" -gt 30 ] || fail "only $files files"
    expect 0 compact $codec
    land $codec.out
    lines $codec.out >after
    cmp before after >&2 || fail "$codec: other rows, or in another order"
    now=$(shards $codec.out | wc -l)
    [ "$now" -lt 12 ] || fail "$codec: $now files after"
    for size in $(json "$codec.out/snapshots/000002.json" 'shards.*.bytes' | sed '$d'); do
        [ "$size" -ge 1536 ] && [ "$size" -le 2500 ] || fail "$codec: a file of $size bytes"
    done
    expect 0 compact $codec
    says 'nothing to join'
    expect 0 "$SLUICE" verify "$(place $codec.out)" --all
    # What the pipeline made is there, so it publishes nothing.
    go $codec codec=$codec
    land $codec.out
    is "$(find $codec.out/snapshots -name '*.json' | wc -l)" 2 "snapshots after an unchanged run"
    is "$(json $codec.out/snapshots/000002.json owner.pipeline)" p owner
done

# A row of a joined file, back to its source.
expect 0 "$SLUICE" trace "$(place none.out)" 1 7 --run "$(place none.run)" --json
is "$(json stdout row)" 7 'the row that was asked for'
is "$(json stdout origin.0.id)" "$(sed -n 8p "$(shards none.out | sed -n 2p)" | member id)" 'the record of a joined row'

# A changed input changes the joined file that it is in, and few others.
cp -p in/20.jsonl kept
sed -i 's/row 4/row four/' in/20.jsonl
go none codec=none
expect 0 compact none
expect 0 "$SLUICE" diff "$(place none.out)@2" "$(place none.out)" --json --key id
is "$(json stdout rows.changed)" 1 'changed rows'
[ "$(json stdout files.added.files)" -le 3 ] || fail "$(json stdout files.added.files) joined files changed"
mv kept in/20.jsonl
go none codec=none

# From the beginning on the same again, by any number of workers.
for workers in 1 5; do
    go w$workers --workers $workers
    expect 0 compact w$workers
    land w$workers.out
    same zstd.out w$workers.out "with $workers workers"
done

# Not beside another snapshot that came meanwhile, and not of files that can't be joined.
expect 2 "$SLUICE" compact "$(place zstd.out)@1"
says 'found snapshot 1, expected the newest, which is 2'

go cut
keep cut.out
kills=${KILLS:-25}
[ -z "${FULL-}" ] || kills=200
killed=0
seed=0
old=0
while [ "$killed" -lt "$kills" ]; do
    seed=$((seed + 1))
    [ "$seed" -le $((kills * 6)) ] || fail "only $killed of $seed seeds killed it"
    back cut.out
    faults "$seed:8"
    may_be_killed "$seed:60" compact cut
    faults 0:0
    land cut.out
    case $(newest cut.out) in
    1) old=$((old + 1)) ;;
    2) ;;
    *) fail "seed $seed: snapshot $(newest cut.out)" ;;
    esac
    expect 0 "$SLUICE" verify "$(place cut.out)@1"
    expect 0 compact cut
    land cut.out
    same zstd.out cut.out "after seed $seed"
done
[ "$old" -gt 0 ] && [ "$old" -lt "$seed" ] || fail "$old of $seed kills left the old snapshot"

# retain: what has a tag and what is newest stays.
expect 0 "$SLUICE" tag "$(place none.out)@2" gold
keep none.out
killed=0
seed=0
while [ "$killed" -lt $((kills / 2)) ]; do
    seed=$((seed + 1))
    [ "$seed" -le $((kills * 6)) ] || fail "only $killed of $seed seeds killed retain"
    back none.out
    faults "$seed:8"
    may_be_killed "$seed:120" "$SLUICE" retain "$(place none.out)" --keep 1 --older 0s
    faults 0:0
    expect 0 "$SLUICE" verify "$(place none.out)" --all
    expect 0 "$SLUICE" retain "$(place none.out)" --keep 1 --older 0s
    expect 0 "$SLUICE" verify "$(place none.out)@gold"
    expect 0 "$SLUICE" verify "$(place none.out)" --all
    land none.out
    is "$(find none.out/snapshots -name '*.json' | wc -l)" 2 "snapshots after retain, seed $seed"
done
# Snapshots go on behind what was forgotten.
sed -i 's/row 4/row four/' in/20.jsonl
go none codec=none
land none.out
newest=$(newest none.out)
[ "$newest" -ge 5 ] || fail "the next snapshot is $newest"
expect 0 "$SLUICE" verify "$(place none.out)" --all
expect 0 "$SLUICE" verify "$(place none.out)@gold"
echo "$old of $seed kills left the old snapshot"
