# absent.sh - `verify --absent` finds what is left of ids: in files of old snapshots and in files that no manifest names, in copies of the
# snapshots' folders, in spilled rows, and in quarantine, saved states, answers and reports of the run, compressed or not; it says so with
# status 1, and names what can't be searched. Ids that are nowhere it does not find.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

mkdir in
perl -e 'for my $f (1 .. 4) { open my $o, ">", "in/$f.jsonl" or die; print $o "{\"id\":\"user-$f-$_\",\"text\":\"row $_ of file $f\",\"n\":" . ($f * 10 + $_) . "}\n" for 1 .. 5 }'
cat >p.lua <<'L'
local s = require "sluice"
return s.pipeline { "p", max_bad = "100%", s.files "in/*" | s.read_jsonl {} | s.exact {}
  | s.filter { "f", function(doc) if doc.id == "user-4-4" then error "oh" end end } | s.write_jsonl { "out", compression = "none" } }
L
expect 0 "$SLUICE" run p.lua --quiet --workers 2
run=.sluice/p
absent() { # STATUS ID
    echo "$2" >list
    expect "$1" "$SLUICE" verify out --absent list
}

absent 0 user-9-9
says 'none is there'
absent 1 user-1
is "$(grep -c '^found' stdout)" 0 'places of a part of an id'
says 'may hold one' # spilled rows tell no more
absent 1 user-1-2
says 'found:' '1 row' 'NOT ABSENT'
expect 0 "$SLUICE" remove out --ids list
absent 1 user-1-2
says "$(grep -l user-1-2 "$PWD"/out/data/*)"
# A number, as it is written.
echo 23 >list
expect 1 "$SLUICE" verify out --absent list --column n
expect 2 "$SLUICE" verify out --absent list --column m
says "has a field 'm'"
expect 2 "$SLUICE" verify out --absent list --run nothing
says '--run'

# A row in quarantine is not in the dataset.
absent 1 user-4-4
says "$run/quarantine/"

# plant PATH: an id that is nowhere else
plant() {
    absent 1 survivor-1
    says "$1"
    is "$(grep -c '^found: ' stdout)" 1 "places of what was planted in $1"
    rm -f "$1"
    absent 0 survivor-1
}
echo '{"text":"x","id":"survivor-1"}' >out/data/left.jsonl
plant out/data/left.jsonl
echo '{"text":"x","id":"survivor-\u0031"}' | zstd -q >out/data/left.jsonl.zst
plant out/data/left.jsonl.zst
echo '{"id":"survivor-1","text":"x"}' >out/v000001/copy.jsonl
plant out/v000001/copy.jsonl
mkdir -p $run/saved $run/answers
head -c 1048570 /dev/zero >$run/saved/x.sls
printf 'survivor-1\0' >>$run/saved/x.sls
plant $run/saved/x.sls
printf '{"prompt":"who is survivor-1?"}' >$run/answers/x.answers
plant $run/answers/x.answers
echo '{"why":"survivor-1"}' | gzip >$run/history/0.json
plant $run/history/0.json
head -c 1048576 /dev/zero | tr '\0' ' ' >$run/saved/y.sls
printf 'survivor-12 xsurvivor-1 survivor-1_' >>$run/saved/y.sls
absent 0 survivor-1

# Spilled rows: bytes that may be a part of another text.
[ -n "$(ls $run/spill)" ] || fail 'nothing was spilled'
mv $run/spill spill
absent 1 user-3-3
is "$(grep -c 'may hold' stdout)" 0 'spilled rows that are not there'
mv spill $run/spill
absent 1 user-3-3
says 'may hold one' "$run/spill/"

# What can't be searched is no proof.
echo x >out/data/left.bin
absent 1 survivor-1
says "can't be searched: " 'left.bin'
rm out/data/left.bin
printf 'no rows\n' >out/data/left.jsonl
absent 1 survivor-1
says "can't be searched: " 'left.jsonl'
