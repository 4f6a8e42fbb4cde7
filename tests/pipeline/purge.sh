# purge.sh - `remove --purge` takes rows out of old and tagged snapshots too, under their numbers and tags, and removes the files of the
# dataset and of its run that hold an id; a record of it stays, without ids. What is left verifies, a later run makes what it needs again,
# and lineage still tells what was made of what. A kill at any operation loses no row but those, and the next call ends it.
# time limit: 1200
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

mkdir in
perl -e 'for my $f (1 .. 12) { open my $o, ">", sprintf "in/%02d.jsonl", $f or die; print $o "{\"id\":\"user-$f-$_\",\"text\":\"row $_ of file $f\"}\n" for 1 .. 5 }'
cat >p.lua <<'L'
local s = require "sluice"
return s.pipeline { "p", max_bad = "100%", s.files "in/*" | s.read_jsonl {} | s.exact {}
  | s.filter { "f", function(doc) if doc.text == "row 4 of file 4" then error "oh" end end } | s.write_jsonl { "set", shard_size = "300B", compression = "none" } }
L
cat >q.lua <<'L'
local s = require "sluice"
return s.pipeline { "q", s.dataset "set@1" | s.read_jsonl {} | s.write_jsonl { "below" } }
L
expect 0 "$SLUICE" run p.lua --quiet --workers 2
expect 0 "$SLUICE" tag set@1 gold
expect 0 "$SLUICE" run q.lua --quiet
sed -i 's/row 4/row four/' in/09.jsonl
expect 0 "$SLUICE" run p.lua --quiet
expect 0 "$SLUICE" datasets --json
is "$(json stdout datasets.0.path)" below 'the first dataset'
is "$(json stdout datasets.0.snapshots.0.inputs.0.datasets.0.snapshot)" 1 'what it was made of'
printf '%s\n' user-4-4 user-5-2 user-7-1 user-7-2 user-7-3 user-7-4 user-7-5 user-9-4 >ids
expect 1 "$SLUICE" verify set --absent ids
mkdir kept empty
cp -a set .sluice kept
cat set/v000001/* | grep -v '"user-\(5-2\|7-.\|9-4\)"' >one
cat set/v000002/* | grep -v '"user-\(5-2\|7-.\|9-4\)"' >two

expect 0 "$SLUICE" remove set --ids ids --purge --json
is "$(json stdout 'purge.snapshots.*' | tr '\n' ' ')" '1 2 ' 'snapshots that were made again'
is "$(json stdout 'purge.left.*')" '' 'what was left'
[ "$(json stdout purge.run_files)" -gt 1 ] || fail 'no file of the run went'
check() {
    expect 0 "$SLUICE" verify set --absent ids --in empty
    expect 0 "$SLUICE" verify set --all
    expect 0 "$SLUICE" verify set@gold
    cat set/v000001/* >now
    cmp one now >&2 || fail "$1: snapshot 1 has other rows"
    cat set/v000003/* >now
    cmp two now >&2 || fail "$1: snapshot 3 has other rows"
    is "$(ls set/purges)" "$(sha256sum ids | cut -c 1-16).json" "$1: the record"
    is "$(json set/purges/*.json state)" 'done' "$1: the record's state"
    grep -rlF -f ids set .sluice >holders && fail "$1: $(cat holders)"
    is "$(json set/snapshots/000001.json lineage.removals.0.sha256)" "$(sha256sum ids | cut -d ' ' -f 1)" "$1: the manifest's note"
}
check 'purged'
expect 0 "$SLUICE" datasets --json
is "$(json stdout datasets.0.snapshots.0.inputs.0.datasets.0.snapshot)" 1 'what it was made of, after'
cp -a set purged
expect 0 "$SLUICE" remove set --ids ids --purge
says 'no snapshot made again; 0 files of the dataset and 0 files of its run removed'
same purged set 'purged twice'

# The source has them still: what the run makes again it does not publish.
expect 0 "$SLUICE" run p.lua --quiet --workers 5
is "$(newest set)" 3 'snapshots after the run'
mkdir -p empty
expect 1 "$SLUICE" verify set --absent ids --in empty
expect 0 "$SLUICE" verify set --all
for f in in/*; do grep -vF -f ids "$f" >less || true; cp less "$f"; done
rm in/07.jsonl
expect 0 "$SLUICE" remove set --ids ids --purge
expect 0 "$SLUICE" run p.lua --quiet
expect 0 "$SLUICE" verify set --absent ids --in empty
expect 0 "$SLUICE" verify .sluice/p

# A folder of a partition goes with its last row, and nothing else of it.
perl -e 'print "{\"id\":\"u$_\",\"text\":\"row $_\",\"lang\":\"" . (qw(de en fr))[$_ % 3] . "\"}\n" for 1 .. 40' >langs.jsonl
cat >r.lua <<'L'
local s = require "sluice"
return s.pipeline { "r", s.files "langs.jsonl" | s.read_jsonl { columns = { lang = "utf8" } }
  | s.write_jsonl { "parts", compression = "none", partition_by = { "lang" } } }
L
expect 0 "$SLUICE" run r.lua --quiet
printf 'u3\nu4\n' >some
perl -e 'print "u$_\n" for grep { $_ % 3 == 2 } 1 .. 40' >french
expect 0 "$SLUICE" remove parts --ids some --purge --in empty
expect 0 "$SLUICE" remove parts --ids french --purge --in empty
is "$(cat parts/latest/*/* | wc -l)" 25 'rows that are left'
is "$(ls parts/v000001)" "$(printf 'lang=de\nlang=en')" 'folders of the first snapshot'
expect 0 "$SLUICE" verify parts --all
expect 0 "$SLUICE" run r.lua --quiet
is "$(newest parts)" 3 'snapshots of partitions'

kills=${KILLS:-25}
[ -z "${FULL-}" ] || kills=200
killed=0
seed=0
while [ "$killed" -lt "$kills" ]; do
    seed=$((seed + 1))
    [ "$seed" -le $((kills * 6)) ] || fail "only $killed of $seed seeds killed it"
    rm -rf set .sluice
    cp -a kept/set kept/.sluice .
    may_be_killed "$seed:150" "$SLUICE" remove set --ids ids --purge
    expect 0 "$SLUICE" remove set --ids ids --purge
    check "seed $seed"
    same purged/snapshots set/snapshots "seed $seed"
done
