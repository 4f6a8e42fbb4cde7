# same_bytes_hostile.sh - where runs, datasets and inputs are makes no difference to what is in them:
# a place without folders, links and renaming, that refuses, loses, repeats and lists late, holds the
# bytes of a disk, for any number of workers and processes; and a dataset there is read by its
# manifest. A store that can't create a file only where there is none takes one process.
# time limit: 1200
STORE=hostile
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=3 docs=300 >made || fail 'no corpus'

# go NAME OPTION...
go() {
    name=$1
    shift
    "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$(place "$name.run")" "out=$(place "$name.out")" \
        partitions=4 split=64KiB "$@"
}

# equal NAME: what NAME made is what the disk's run made.
equal() {
    land "$1.run" "$1.out"
    same disk.run/tasks "$1.run/tasks" "task records of $1"
    for dataset in kept dropped; do
        same "disk.out/$dataset/data" "$1.out/$dataset/data" "files of $dataset of $1"
        same "disk.out/$dataset/snapshots" "$1.out/$dataset/snapshots" "manifests of $dataset of $1"
    done
    [ ! -e "$1.out/kept/latest" ] || fail "$1 has a link"
}

STORE=disk
expect 0 go disk "input=$TMP/corpus/*" --workers 2
expect 0 "$SLUICE" head "$TMP/disk.out/kept" -n 1000
mv stdout rows
STORE=hostile

seed=0
for workers in 1 3 4; do
    seed=$((seed + 1))
    export SLUICE_TEST_HOSTILE="$seed:$((3 + seed))"
    expect 0 go "w$workers" "input=$TMP/corpus/*" --workers "$workers"
    equal "w$workers"
    expect 0 "$SLUICE" head "$(place "w$workers.out")/kept" -n 1000
    cmp -s stdout rows || fail "sluice head of $workers workers shows other rows"
    expect 0 "$SLUICE" verify "$(place "w$workers.run")"
done
# Nothing is done again.
expect 0 go w3 "input=$TMP/corpus/*" --workers 2
land w3.run
is "$(reran w3.run | sum)" 0 'tasks that ran again'

# Processes of their own, of which one is killed.
export SLUICE_TEST_HOSTILE=9:5
expect 0 go many "input=$TMP/corpus/*" --workers 1
for name in tasks spill; do forget "many.run/$name"; done
forget many.out
for number in 1 2 3; do
    SLUICE_TEST_HOSTILE=$number:5 "$SLUICE" work "$(place many.run)" --workers 1 --quiet >"work$number.out" 2>&1 &
    eval "pid$number=$!"
done
# shellcheck disable=SC2154
kill -9 "$pid1" || true
# shellcheck disable=SC2154
wait "$pid2" || { cat work2.out >&2; fail 'the second worker'; }
# shellcheck disable=SC2154
wait "$pid3" || { cat work3.out >&2; fail 'the third worker'; }
wait "$pid1" 2>/dev/null || true
equal many

# Inputs and a dataset in such a place.
cat >copy.lua <<'END'
local s = require "sluice"
local a = s.args { from = { "string", "", doc = "what to read" }, out = { "path", "out", doc = "where to" } }
return s.pipeline { "copy", s.named("copy", s.dataset(a.from) | s.read_jsonl {} | s.write_jsonl { a.out, compression = "none" }) }
END
STORE=disk
expect 0 "$SLUICE" run copy.lua --quiet --run-dir "$TMP/c1.run" "from=$TMP/disk.out/kept" "out=$TMP/c1.out"
STORE=hostile
expect 0 "$SLUICE" run copy.lua --quiet --run-dir "$(place c2.run)" "from=$(place w1.out)/kept@1" "out=$(place c2.out)"
land c2.out
same c1.out/data c2.out/data 'a copy of a dataset'
sed "s/s.dataset(a.from)/s.files { a.from }/" copy.lua >files.lua
expect 2 "$SLUICE" run files.lua --quiet --run-dir "$(place c3.run)" "from=$(place w1.out)/kept/data/*" "out=$(place c3.out)"
says 's.dataset'

# One writer where nobody can be sure to be the first.
expect 0 "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet --run-dir alone://a.run out=alone://a.out "input=$TMP/corpus/*"
expect 2 "$SLUICE" work alone://a.run
says 'one process alone'
expect 2 "$SLUICE" run "$SRC/tests/pipeline/web.lua" --run-dir nosuch://a.run "input=$TMP/corpus/*" "out=$TMP/x"
says 'nosuch://'
