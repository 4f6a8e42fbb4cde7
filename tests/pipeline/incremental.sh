# incremental.sh - one file added, changed or removed among many: at most two tasks of the first
# phase run again, and behind the deduplication exactly the splits whose rows or drop list changed.
# Files that were only touched, and a second run, cost nothing and publish nothing. `sluice plan`
# foretells it. FULL=1: 1,000 files of 1 MiB instead of 90 small ones.
# time limit: 3000
. "$SRC/tests/lib.sh"

files=90
docs=24
split=128KiB
if [ -n "${FULL-}" ]; then
    files=1000
    docs=1150
    split=64MiB
fi
perl "$CORPUS" corpus "files=$files" "docs=$docs" codec=none >made || fail 'no corpus'

go() {
    "$SLUICE" "$@" "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$(place run)" "input=$TMP/corpus/*" "out=$(place out)" partitions=8 "split=$split"
}

# pairs RUN: what each task of the last phase wrote: key, then the hashes of kept and dropped rows
pairs() {
    for record in "$1"/tasks/*-lost/*.json; do
        json "$record" key 'outputs.*.port' 'outputs.*.hash' | perl -e 'chomp(my @l = <STDIN>); my $key = shift @l;
            my $n = @l / 2; my %h; $h{$l[$_]} = $l[$n + $_] for 0 .. $n - 1;
            print "$key ", $h{"shard kept"} // "-", " ", $h{"shard lost"} // "-", "\n"'
    done | sort
}

# step NAME MOST: runs after a change; at most MOST first tasks ran, and in the last phase none whose
# rows are as they were
step() {
    pairs run >before
    snapshots=$(find out/kept/snapshots -name '*.json' | wc -l)
    expect 0 "$SLUICE" plan "$SRC/tests/pipeline/web.lua" --json --run-dir "$(place run)" "input=$TMP/corpus/*" "out=$(place out)" partitions=8 "split=$split"
    cp stdout foretold
    expect 0 go run
    land run out
    reran run >counts
    first=$(sed -n 1p counts)
    last=$(sed -n '$p' counts)
    echo "$1: $(tr '\n' ' ' <counts)of $(json run/last.json 'phases.*.tasks' | tr '\n' ' ')tasks ran"
    [ "$first" -ge 1 ] && [ "$first" -le "$2" ] || fail "$1: $first first tasks ran, expected 1 to $2"
    is "$(json foretold phases.0.run)" "$first" "$1: first tasks that plan foretold"
    pairs run >after
    comm -13 before after >new
    is "$(wc -l <new)" "$last" "$1: new records of the last phase"
    cut -d ' ' -f 2- before | sort >known
    cut -d ' ' -f 2- new | sort >made
    is "$(comm -12 known made)" '' "$1: last tasks that ran though their rows did not change"
    [ "$last" -lt "$(json run/last.json 'phases.*.tasks' | tail -n 1)" ] || fail "$1: every task of the last phase ran"
    is "$(find out/kept/snapshots -name '*.json' | wc -l)" $((snapshots + 1)) "$1: snapshots"
    # What an undisturbed run of the inputs as they are now makes.
    forget fresh.run fresh.out
    expect 0 "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$(place fresh.run)" "input=$TMP/corpus/*" "out=$(place fresh.out)" \
        partitions=8 "split=$split"
    land fresh.out
    for dataset in kept dropped; do
        lines "out/$dataset" >one
        lines "fresh.out/$dataset" >two
        cmp -s one two || fail "$1: $dataset differs from that of a run from nothing"
        [ "$STORE" != disk ] || same "out/$dataset/latest/" "fresh.out/$dataset/latest/" "$1: files of $dataset"
    done
}

# Nothing may have changed.
idle() {
    snapshots=$(find out -name '*.json' | wc -l)
    expect 0 "$SLUICE" plan "$SRC/tests/pipeline/web.lua" --run-dir "$(place run)" "input=$TMP/corpus/*" "out=$(place out)" partitions=8 "split=$split"
    says ' 0 to run'
    expect 0 go run
    land run out
    is "$(reran run | sum)" 0 "$1: tasks that ran"
    is "$(find out -name '*.json' | wc -l)" "$snapshots" "$1: snapshots"
}

expect 0 go run
land run out
faults 3:11
splits=$(json run/last.json phases.0.tasks)
[ "$splits" -ge 12 ] || fail "only $splits splits"
idle 'a second run'
touch corpus/*
idle 'touched files'

middle=$(printf 'corpus/part-%05d' $((files / 2)))
perl "$CORPUS" other files=1 "docs=$docs" seed=77 codec=none >/dev/null
cp other/part-00000.jsonl "${middle}b.jsonl"
step 'a file added' 2
idle 'a second run with the file'

sed -i '3s/"text":"/"text":"Suddenly /' "$middle.jsonl"
step 'a file changed' 2
# The same size and the same time of change, in place: still noticed.
stamp=$(stat -c %y "$middle.jsonl")
perl -e 'open my $io, "+<", $ARGV[0] or die; my $text = <$io>; my $at = index($text, "\"text\":\"") + 8; seek $io, $at, 0; print $io "J"' \
    "$middle.jsonl"
touch -d "$stamp" "$middle.jsonl"
step 'a byte changed behind the clock' 2
sed -i '1d' "$(printf 'corpus/part-%05d' 3).jsonl"
step 'a row removed' 2

rm "${middle}b.jsonl"
step 'a file removed' 2

# A file that comes first in order and repeats a document of one other file: that file's split runs
# again behind the deduplication, besides the new one's.
source=$(printf 'corpus/part-%05d' $((files * 3 / 4))).jsonl
grep '"kind":"plain"' "$source" | head -n 1 >corpus/a.jsonl
cat other/part-00000.jsonl >>corpus/a.jsonl
step 'a file of copies added' 2
[ "$(wc -l <new)" -ge 2 ] || fail 'the split of the copied document did not run again'
