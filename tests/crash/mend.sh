# mend.sh - files of published snapshots that were damaged, cut, replaced or removed: in data/, in the
# snapshots' folders, or both at once. The next run finds each (nothing is "unchanged" without its hash), works again
# on what is needed, puts right every snapshot that names the file, and says so; `verify` of the run and of
# the dataset look at both places. What no run can make again is named, with both hashes and the remedy.
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
go() {
    "$SLUICE" run p.lua --run-dir "$TMP/run" "$@"
}
expect 0 go
cp corpus/* in/
expect 0 go
[ -e out/kept/v000002 ] || fail 'a second file made no second snapshot'
# A file that both snapshots name: as it is stored, and by its names in both.
stored=
for file in out/kept/data/*; do
    [ "$(find out/kept/v00000? -samefile "$file" | wc -l)" != 2 ] || stored=$file
done
[ -n "$stored" ] || fail 'no file is in both snapshots'
old=$(find out/kept/v000001 -samefile "$stored")
new=$(find out/kept/v000002 -samefile "$stored")
mv out whole.out
mv run whole.run
restore() {
    rm -rf out run
    cp -a whole.out out
    cp -a whole.run run
}
flip() {
    perl -e 'my ($file) = @ARGV; open my $io, "+<", $file or die "$file: $!\n"; seek $io, 40, 0; read $io, my $byte, 1; seek $io, 40, 0;
        print $io chr(ord($byte) ^ 1)' "$1" || fail "can't damage $1"
}
first() {
    echo "$1"
}
cut() {
    head -c 100 "$1" >"$TMP/short"
    cat "$TMP/short" >"$1"
}
apart() {
    cp -p "$1" "$TMP/copy"
    rm "$1"
    mv "$TMP/copy" "$1"
}
# bad WHAT: verify finds it by the dataset and by the run
bad() {
    expect 4 "$SLUICE" verify "$TMP/run"
    expect 4 "$SLUICE" verify --all "$TMP/out/kept"
    says "$1"
}
# mended WHAT MESSAGE RUN-OPTION...: the next run puts it right and says so
mended() {
    what=$1
    message=$2
    shift 2
    expect 0 go "$@"
    says "$message"
    same whole.out out "datasets after: $what"
    expect 0 "$SLUICE" verify "$TMP/run"
    expect 0 "$SLUICE" verify --all "$TMP/out/kept"
    expect 0 go "$@"
    says '(unchanged)'
}

restore
expect 0 go
says 'Nothing ran' '(unchanged)'

for damage in flip cut; do
    restore
    "$damage" "$stored"
    bad "$(basename "$stored") has"
    mended "$damage of a stored file" '(unchanged, 2 files mended)'
    restore
    "$damage" "$stored"
    mended "$damage of a stored file, --fresh" '(unchanged, 2 files mended)' --fresh

    for link in "$old" "$new"; do
        restore
        "$damage" "$link" # the stored file is the same one
        bad "$(basename "$stored") has"
        mended "$damage through a link" '(unchanged, 2 files mended)'
    done

    restore
    apart "$new"
    "$damage" "$new"
    bad "$(basename "$new") has"
    mended "$damage of a name of its own in the newest snapshot" '(unchanged, 1 file mended)'

    restore
    apart "$stored"
    "$damage" "$stored"
    bad "$(basename "$stored") has"
    mended "$damage of a stored file of its own" 'mended)'
done

restore
rm "$stored"
echo 'something else' >"$stored"
mended 'a stored file that was replaced' 'has 15 bytes, its commit says'
restore
rm "$old" "$new"
ln -s /etc/hostname "$new"
mended 'a symlink in place of a link' '(unchanged, 2 files mended)'
restore
rm "$stored" "$old" "$new"
mended 'a file that is gone everywhere' '(unchanged, 2 files mended)'

# Times and size are as they were: what the file system says of the change itself tells.
restore
touch -r "$stored" "$TMP/times"
flip "$stored"
touch -r "$TMP/times" "$stored"
mended 'a flip that left size and time' '(unchanged, 2 files mended)'

# What a manifest says was added: its hash leaves that out, its parent tells.
restore
perl -0pi -e 's/("added": \[\s*"[^"]*)([^"])"/$1 . chr(ord($2) ^ 1) . q(")/e' out/kept/snapshots/000002.json
bad 'lists other shards as added or removed'
mended 'a byte of what was added' '(unchanged, 1 file mended)'

# The report counts.
restore
flip "$stored"
expect 0 go --quiet
is "$(json run/last.json datasets.0.mended)" 2 'files mended, in the report'

# A damaged edge or table file is made again, too.
restore
spilled=$(find run/spill -type f -size +100c | LC_ALL=C sort | head -n 1)
flip "$spilled"
mended 'a flip in a spill file' "$(basename "$spilled") has hash"

# Files that no snapshot but an older one names, from whichever of their two names is good; what nobody has a good copy of is told at each
# run, and the run ends well. Nothing takes the place of a good copy.
rm -rf out run
mkdir alone
cat >older.lua <<'END'
local s = require "sluice"
return s.pipeline { "older", s.files "alone/*" | s.read_jsonl {} | s.write_jsonl { "older", compression = "none" } }
END
older() {
    "$SLUICE" run older.lua --run-dir "$TMP/older.run" "$@"
}
for n in 1 2 3; do
    echo "{\"id\":\"$n\",\"text\":\"text $n, and so much behind it that something is left of it where it was damaged, cut behind a hundred bytes, or both of these one after the other\"}" >alone/a.jsonl
    expect 0 older --quiet
done
public=$(echo older/v000001/*)
stored=$(find older/data -samefile "$public")
mv older whole.older
fresh() {
    rm -rf older
    cp -a whole.older older
}
# restored WHAT OUTCOME DAMAGED
restored() {
    expect 0 older
    says "$2"
    if [ "$3" = 0 ]; then
        same whole.older older "after $1"
        expect 0 "$SLUICE" verify --all older
    else
        says "there is no good copy" "$(basename "$stored")"
        expect 4 "$SLUICE" verify --all older
        expect 0 older
        says 'there is no good copy'
    fi
}
fresh
restored 'nothing' '(unchanged)' 0
fresh
rm "$public"
restored 'a name that is gone' '(unchanged, 1 file mended)' 0
fresh
rm "$stored"
restored 'a stored file that is gone' '(unchanged, 1 file mended)' 0
for damage in flip cut; do
    fresh
    apart "$public"
    "$damage" "$public"
    restored "$damage of a name of its own" '(unchanged, 1 file mended)' 0
    fresh
    apart "$public"
    "$damage" "$stored"
    restored "$damage of a stored file of its own" '(unchanged, 1 file mended)' 0
    fresh
    "$damage" "$stored"
    restored "$damage of both" '1 file of snapshots' 1
done
fresh
rm "$public" "$stored"
restored 'both are gone' '1 file of snapshots' 1
fresh
echo '{' >older/snapshots/000001.json
expect 0 older
says 'older/snapshots/000001.json'
fresh
rm -rf older/v000001
expect 0 older
[ ! -e older/v000001 ] || fail 'a snapshot that was removed on purpose came back'

# Where the file system refuses links, names are copies: a good one stays, a damaged one is copied again.
rm -rf out run
SLUICE_TEST_FAIL=link:EPERM
export SLUICE_TEST_FAIL
expect 0 go
expect 0 go
says '(unchanged)'
copy=$(first out/kept/v000001/*)
flip "$copy"
expect 4 "$SLUICE" verify "$TMP/run"
says "$(basename "$copy") has hash"
expect 0 go
says '(unchanged, 1 file mended)'
expect 0 "$SLUICE" verify "$TMP/run"
unset SLUICE_TEST_FAIL

# A pipeline that reads the dataset takes no damaged file.
cat >reader.lua <<'END'
local s = require "sluice"
return s.pipeline { "reader", s.dataset "out/kept" | s.read_jsonl {} | s.write_jsonl { "read", compression = "none" } }
END
restore
expect 0 "$SLUICE" run reader.lua --quiet
flip "$new"
expect 4 "$SLUICE" run reader.lua --quiet
says "$(basename "$new") has hash" 'manifest says' 'run the pipeline that made it again'
restore
rm "$new"
expect 4 "$SLUICE" run reader.lua --quiet
says "$(basename "$new") is missing" 'put a copy back'
