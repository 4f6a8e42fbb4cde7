# mend_hostile.sh - files of published snapshots in a place without links that were damaged, cut or removed there: a dataset has each file
# once, so the next run makes again what a run can make again, and what none can make `verify` names; it finds all of it, and no pipeline
# takes damaged rows. (mend.sh has datasets on a disk, of which each file has two names.)
STORE=hostile
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=2 docs=200 >made || fail 'no corpus'
mkdir in
first=$(find corpus -type f | LC_ALL=C sort | head -n 1)
cp "$first" in/
cat >p.lua <<'END'
local s = require "sluice"
local a = s.args { out = { "path", "out" } }
return s.pipeline { "p", s.files { "in/*", split = "64KiB" } | s.read_jsonl {} | s.write_jsonl { a.out .. "/kept", compression = "none" } }
END
cat >reader.lua <<'END'
local s = require "sluice"
local a = s.args { from = { "string" }, out = { "path" } }
return s.pipeline { "reader", s.dataset(a.from) | s.read_jsonl {} | s.write_jsonl { a.out, compression = "none" } }
END
go() {
    "$SLUICE" run p.lua --run-dir "$(place run)" "out=$(place out)" "$@"
}
reads() {
    "$SLUICE" run reader.lua --quiet --run-dir "$(place "read$1.run")" "from=$(place out/kept)" "out=$(place "read$1")"
}
expect 0 go
land out
cp -r out/kept/data old.data
cp corpus/* in/
expect 0 go
land out run
[ -e out/kept/snapshots/000002.json ] || fail 'a second file made no second snapshot'
mv out whole.out
mv run whole.run
# A file that both snapshots name.
name=$(cd old.data && for file in *; do [ ! -e "../whole.out/kept/data/$file" ] || echo "$file"; done | head -n 1)
json whole.out/kept/snapshots/000002.json 'shards.*.file' | grep -qF "$name" || fail 'no file is in both snapshots'
stored=out/kept/data/$name
restore() {
    rm -rf out run
    cp -r whole.out out
    cp -r whole.run run
    lift out run
}
flip() {
    perl -e 'my ($file) = @ARGV; open my $io, "+<", $file or die "$file: $!\n"; seek $io, 40, 0; read $io, my $byte, 1; seek $io, 40, 0;
        print $io chr(ord($byte) ^ 1)' "$1" || fail "can't damage $1"
}
cut() {
    head -c 100 "$1" >"$TMP/short"
    cat "$TMP/short" >"$1"
}
# mended WHAT: verify finds it, by the dataset and by the run; the next run puts it right
mended() {
    lift out run
    expect 4 "$SLUICE" verify "$(place run)"
    expect 4 "$SLUICE" verify --all "$(place out/kept)"
    says "$2"
    expect 0 go
    land out
    same whole.out out "datasets after: $1"
    expect 0 "$SLUICE" verify "$(place run)"
    expect 0 "$SLUICE" verify --all "$(place out/kept)"
    expect 0 go
    says '(unchanged)'
}
seed=0
for damage in flip cut rm; do
    seed=$((seed + 1))
    faults $seed:9
    restore
    "$damage" "$stored"
    mended "$damage of a stored file" "$name"
done
restore
perl -0pi -e 's/("added": \[\s*"[^"]*)([^"])"/$1 . chr(ord($2) ^ 1) . q(")/e' out/kept/snapshots/000002.json
mended 'a byte of what was added' 'lists other shards as added or removed'
restore
spilled=$(find run/spill -type f -size +100c | LC_ALL=C sort | head -n 1)
flip "$spilled"
lift run
expect 4 "$SLUICE" verify "$(place run)"
says "$(basename "$spilled") has hash"
expect 0 go
expect 0 "$SLUICE" verify "$(place run)"

# Readers.
restore
expect 0 reads 1
restore
flip "$stored"
lift out
expect 4 reads 2
says "$name has hash" 'manifest says' 'run the pipeline that made it again'
restore
rm "$stored"
lift out
expect 4 reads 3
says "$name is missing" 'put a copy back'

# What only an older snapshot names no run makes again; `verify --all` tells it. A manifest that is no manifest is told at each run.
rm -rf out run objects
mkdir alone
sed 's|in/\*|alone/*|' p.lua >older.lua
older() {
    "$SLUICE" run older.lua --run-dir "$(place older.run)" "out=$(place older)"
}
for n in 1 2; do
    perl -e 'my $n = shift; print qq({"id":"$_","text":"text $n $_ and more behind it"}\n) for 1 .. 9' $n >alone/a.jsonl
    expect 0 older
done
land older
name=$(json older/kept/snapshots/000001.json 'shards.*.file' | head -n 1)
flip "older/kept/data/$name"
lift older
expect 0 older
expect 4 "$SLUICE" verify --all "$(place older/kept)"
says "$name has hash"
echo '{' >older/kept/snapshots/000001.json
lift older
for _ in 1 2; do
    expect 0 older
    says 'older/kept/snapshots/000001.json'
done
