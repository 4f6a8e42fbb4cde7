# damage.sh - files of a finished run that were damaged, cut, edited or removed behind its back: the
# next run notices, works again on what is needed and on nothing else, and gives the same bytes; it
# never passes damaged rows on.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=2 docs=250 >made || fail 'no corpus'

go() {
    "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$(place "$1.run")" "input=$TMP/corpus/*" "out=$(place "$1.out")" \
        partitions=3 split=64KiB --workers 2
}
flip() {
    perl -e 'my ($file, $at) = @ARGV; open my $io, "+<", $file or die "$file: $!\n"; $at = int(-s $io) / 2 if !defined $at; seek $io, $at, 0;
        read $io, my $byte, 1; seek $io, $at, 0; print $io chr(ord($byte) ^ 0x20)' "$@" || fail "can't damage $1"
}
restore() {
    rm -rf bad.run bad.out
    cp -a whole.run bad.run
    cp -a whole.out bad.out
    # The hard links between data/ and the snapshots' folders are copied as such; nothing else is shared.
}
first() {
    find "$@" | LC_ALL=C sort | head -n 1
}

expect 0 go whole
land whole.run whole.out
total=$(json whole.run/last.json 'phases.*.tasks' | sum)

# How often a task was worked on: several may have one key and one record, of which one is.
worked() {
    cat "$1"/attempts/*.jsonl | grep -c '"wall":'
}
before=$(worked whole.run)

# mend NAME TASKS: the next run works on so many tasks (N+: or more) and gives the same bytes
mend() {
    lift bad.run bad.out
    expect 0 go bad
    land bad.run bad.out
    ran=$(($(worked bad.run) - before))
    case $2 in
    *+) [ "$ran" -ge "${2%+}" ] || fail "tasks that ran after: $1: found $ran, expected $2" ;;
    *) is "$ran" "$2" "tasks that ran after: $1" ;;
    esac
    same whole.out bad.out "datasets after: $1"
    same whole.run/tasks bad.run/tasks "task records after: $1"
}

restore
mend 'nothing' 0

restore
flip "$(first bad.run/tasks/1-* -name '*.json')"
mend 'a record with a flipped bit' 1
says 'damaged'

restore
file=$(first bad.run/tasks/6-* -name '*.json')
sed 's/"rows":/"rows": /' "$file" >edited
cp edited "$file"
mend 'a record that was edited' 1

restore
: >"$(first bad.run/tasks/3-* -name '*.json')"
mend 'an empty record' 1

restore
rm "$(first bad.run/tasks/2-* -name '*.json')"
mend 'a record that is gone' 1

restore
rm "$(first bad.run/spill -name '*-e[0-9]*.slf')"
mend 'an edge file that is gone' 1
says 'is missing'

restore
file=$(first bad.run/spill -name '*-e[0-9]*.slf' -size +0)
head -c "$(($(wc -c <"$file") / 2))" "$file" >half
cp half "$file"
mend 'an edge file that was cut' 1

restore
rm -rf bad.run/spill
# Tasks of no rows have none; of those that do the same work one record speaks.
mend 'no edge files at all' "$(grep -l '\.slf"' whole.run/tasks/*/*.json | wc -l)+"

restore
rm "$(first bad.out/kept/data -type f)"
mend 'a shard that is gone' 1

if [ "$STORE" = disk ]; then
    restore
    rm -rf bad.out/kept/v000001 bad.out/dropped/latest
    mend 'a folder of a snapshot and a link that are gone' 0
fi

restore
rm -rf bad.out
mend 'no output at all' "$(grep -lE '[0-9a-f]{24}-[0-9]{4}-' whole.run/tasks/*/*.json | wc -l)+"

# An edge file whose bytes changed (its size did not) is found when it is read; the last phase has to
# run again here, and must not pass wrong rows on.
restore
for file in bad.run/spill/*-e[0-9]*.slf; do
    [ "$(wc -c <"$file")" -lt 100 ] || flip "$file"
done
rm -rf bad.run/tasks/6-*
lift bad.run bad.out
status=0
go bad >stdout 2>stderr || status=$?
case $status in
4) grep -q 'spill\|edge' stderr || { cat stderr >&2; fail 'the message does not say which file is damaged'; } ;;
0) land bad.out && same whole.out bad.out 'datasets after flipped bits in edge files' ;;
*) cat stderr >&2; fail "flipped bits in edge files: status $status" ;;
esac
[ "$status" = 4 ] || [ "$status" = 0 ]
expect 0 "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet --fresh --run-dir "$(place bad.run)" "input=$TMP/corpus/*" "out=$(place bad.out)" \
    partitions=3 split=64KiB
land bad.out
same whole.out bad.out 'datasets after --fresh'
