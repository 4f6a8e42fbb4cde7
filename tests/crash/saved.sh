# saved.sh - tasks that are given back in the middle of their work, or die there, go on from their saved
# state: the same bytes as of a run that nobody disturbed, with few rows seen twice by a stage.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=2 docs=300 bad=4 >made || fail 'no corpus'

go() {
    "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$(place "$1.run")" "input=$TMP/corpus/*" \
        "out=$(place "$1.out")" partitions=2 split=1MiB max_bad=2% --workers "$2" --batch 16KiB
}

expect 0 go whole 2
land whole.run whole.out
SLUICE_SAVE=0
export SLUICE_SAVE

# attempts RUN PATTERN counts lines of the log of attempts.
attempts() {
    cat "$1"/attempts/*.jsonl | grep -c "$2" || true
}

# alike NAME WHAT: it made what `whole` made.
alike() {
    land "$1.run" "$1.out"
    same whole.out "$1.out" "datasets $2"
    same whole.run/tasks "$1.run/tasks" "task records $2"
    same whole.run/spill "$1.run/spill" "spill files $2"
}

# none NAME WHAT: no saved state is left. (In a place a request that comes late may bring one back.)
none() {
    [ "$STORE" = disk ] || return 0
    is "$(find "$1.run/saved" -type f 2>/dev/null | wc -l)" 0 "saved states that are left $2"
}

# Saved at each place and gone on: nothing changes.
SLUICE_TEST_SAVE=1
export SLUICE_TEST_SAVE
expect 0 go each 2
alike each 'where each place was saved'
none each 'where each place was saved'
[ "$(attempts each.run '"saved_row"')" -gt 4 ] || fail 'nothing was saved'

# Given back at every Nth place, until it is done.
for n in 4 9; do
    SLUICE_TEST_SAVE="$n!"
    rounds=0
    status=130
    while [ "$status" = 130 ]; do
        rounds=$((rounds + 1))
        [ "$rounds" -lt 400 ] || fail "every $n: no end"
        status=0
        go "drain$n" 1 >out 2>&1 || status=$?
    done
    [ "$status" = 0 ] || { cat out >&2; fail "every $n: status $status"; }
    alike "drain$n" "given back at every ${n}th place"
    none "drain$n" "given back at every ${n}th place"
    [ "$(attempts "drain$n.run" '"from_row"')" -gt 5 ] || fail "every $n: nothing went on from a saved state"
    echo "every $n: $rounds processes, $(attempts "drain$n.run" '"from_row"') tasks went on"
done

# Killed at any operation on the disk while every second place is saved, and again, until it is done.
SLUICE_TEST_SAVE=2
SLUICE_TEST_OPLOG=$TMP/log
export SLUICE_TEST_OPLOG
expect 0 go logged 1
unset SLUICE_TEST_OPLOG
operations=$(operations log)
rm log
killed=0
for seed in 1 2 3 4 5 6; do
    forget cut.run cut.out
    faults "$seed:8"
    rounds=0
    while [ "$rounds" -lt 4 ]; do
        rounds=$((rounds + 1))
        may_be_killed "$seed$rounds:$((operations / 3))" go cut 1
    done
    expect 0 go cut 1
    alike cut "killed by seed $seed"
    expect 0 "$SLUICE" gc "$(place cut.run)" # a kill between a commit and what follows leaves one
    none cut "killed by seed $seed, behind gc"
    went_on=$((${went_on-0} + $(attempts cut.run '"from_row"')))
done
[ "$killed" -gt 5 ] || fail "only $killed kills"
[ "$went_on" -gt 3 ] || fail "after $killed kills only $went_on tasks went on from a saved state"
echo "$killed kills, $went_on tasks went on"

# What is damaged or of something else is said, goes, and the task starts over.
for damage in cut flip other; do
    forget hurt.run hurt.out
    SLUICE_TEST_SAVE=9!
    expect 130 go hurt 1
    land hurt.run
    saved=$(find hurt.run/saved -name '*.sls')
    is "$(echo "$saved" | wc -w)" 1 'saved states'
    case $damage in
    cut) truncate -s -5 "$saved" ;;
    flip) perl -e 'open my $f, "+<", $ARGV[0]; seek $f, -s($ARGV[0]) / 2, 0; read $f, my $c, 1; seek $f, -1, 1; print $f chr(ord($c) ^ 4)' "$saved" ;;
    other) perl -e 'open my $f, "+<", $ARGV[0]; seek $f, 9, 0; print $f "other"' "$saved" ;;
    esac
    lift hurt.run
    unset SLUICE_TEST_SAVE
    expect 0 go hurt 1
    says 'is of no use' 'starts over'
    export SLUICE_TEST_SAVE
    alike hurt "after a saved state was damaged ($damage)"
    none hurt "after a saved state was damaged ($damage)"
done

# What another plan saved is not taken; gc removes it, and nothing that may still be of use.
forget old.run old.out
SLUICE_TEST_SAVE=9!
expect 130 go old 1
unset SLUICE_TEST_SAVE
expect 0 "$SLUICE" gc "$(place old.run)"
land old.run
is "$(find old.run/saved -name '*.sls' | wc -l)" 1 'saved states that gc leaves'
expect 0 "$SLUICE" run "$SRC/tests/pipeline/web.lua" --run-dir "$(place old.run)" "input=$TMP/corpus/*" \
    "out=$(place old.out)" partitions=2 split=1MiB max_bad=2% min_words=31 --batch 16KiB
grep -q 'goes on from' stderr && fail 'another plan went on from a saved state'
expect 0 "$SLUICE" gc "$(place old.run)"
land old.run
none old 'of another plan, behind gc'

# Stages in processes of their own, one whose verdicts depend on all rows before, a compressed file in the making: no stage sees a
# row twice.
cat >apart.lua <<'END'
local s = require "sluice"
local a = s.args { input = { "glob", "corpus/*" }, out = { "path", "out" } }
local docs = s.files { a.input } | s.read_jsonl { columns = { kind = "utf8", score = "float64" } }
  | s.gopher_quality { min_doc_words = 10, isolate = true } | s.sampler_datatrove { rate = 0.7, isolate = true }
return s.pipeline { "apart", max_bad = "5%",
  s.named("kept", docs | s.write_jsonl { a.out .. "/kept", compression = "gzip", shard_size = "100KiB", isolate = true }),
  s.named("lost", docs.dropped | s.write_jsonl { a.out .. "/lost" }) }
END
apart() {
    "$SLUICE" run "$TMP/apart.lua" --quiet --run-dir "$(place "$1.run")" "input=$TMP/corpus/*" "out=$(place "$1.out")" --workers 1 --batch 16KiB
}
# seen RUN prints how many rows stages were given, over all attempts.
seen() {
    cat "$1"/attempts/*.jsonl | perl -ne 'if (/"ops":\[([^\]]*)\]/) { my @o = split /,/, $1; for (my $i = 6; $i < @o; $i += 6) { $n += $o[$i] } } END { print $n + 0, "\n" }'
}
expect 0 apart one
land one.run one.out
[ "$(shards one.out/kept | wc -l)" -gt 1 ] || fail 'one file alone'
export SLUICE_TEST_SAVE
for n in 2 5; do
    SLUICE_TEST_SAVE="$n!"
    status=130
    rounds=0
    while [ "$status" = 130 ]; do
        rounds=$((rounds + 1))
        [ "$rounds" -lt 200 ] || fail "apart, every $n: no end"
        status=0
        apart "two$n" >out 2>&1 || status=$?
    done
    [ "$status" = 0 ] || { cat out >&2; fail "apart, every $n: status $status"; }
    land "two$n.run" "two$n.out"
    same one.out "two$n.out" "datasets of stages apart, given back at every ${n}th place"
    same one.run/tasks "two$n.run/tasks" "records of stages apart, given back at every ${n}th place"
    is "$(seen "two$n.run")" "$(seen one.run)" 'rows that stages were given'
    expect 0 "$SLUICE" report "$(place "two$n.run")"
    says 'went on from a saved state'
done
