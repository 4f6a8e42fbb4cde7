# same_bytes.sh - the output is a function of inputs, script and options alone: datasets, manifests
# and task records are equal for any number of workers, batch size, memory, order of tasks, working
# directory, run directory and output path, and when every task runs in a process of its own.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=8 docs=640 >made || fail 'no corpus'
gold=
"$SLUICE" inspect pack >/dev/null 2>&1 && "$SLUICE" inspect write_megatron >/dev/null 2>&1 &&
    gold="gold=true tokenizer=$SRC/tests/data/tokenize/tiny_qwen.json"

# go NAME OPTION... : a run in a run directory and output folder of its own
go() {
    name=$1
    shift
    # shellcheck disable=SC2086
    expect 0 "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$(place "$name.run")" \
        "input=$TMP/corpus/*" "out=$(place "$name.out")" $gold "$@"
}

# equal NAME: it made what `first` made
equal() {
    land "$1.out" "$1.run"
    same first.out "$1.out" "datasets of $1"
    same first.run/tasks "$1.run/tasks" "task records of $1"
}

go first --workers 1
land first.out first.run
faults 2:11
is "$(json first.run/last.json 'phases.*.tasks' | sort -n | tail -n 1)" "$(json first.run/last.json 'phases.0.tasks')" 'most tasks'
[ "$(json first.run/last.json phases.0.tasks)" -ge 16 ] || fail 'too few tasks to mix up'
rows=$(($(lines first.out/kept | wc -l) + $(lines first.out/dropped | wc -l)))
is "$rows" "$(sed -n 's/^documents //p' made)" 'kept + dropped'

go batch --workers 2 --batch 64KiB --memory 4GiB
equal batch
# shellcheck disable=SC2086
memory=$(least run "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$(place memory.run)" "input=$TMP/corpus/*" "out=$(place memory.out)" $gold \
    --workers 4 --batch 8MiB) || exit 1
go memory --workers 4 --batch 8MiB --memory "$memory"
equal memory
# Far below what a run asks for: sorters then work in many runs.
SLUICE_TEST_FLOOR=off
export SLUICE_TEST_FLOOR
go spills --workers 4 --memory 2MiB
equal spills
unset SLUICE_TEST_FLOOR
SLUICE_TEST_DELAY=1
export SLUICE_TEST_DELAY
go delay --workers 7 --batch 1MiB
equal delay
SLUICE_TEST_DELAY=2
go delay2 --workers 4 --batch 64KiB --memory "$memory"
equal delay2
unset SLUICE_TEST_DELAY

# Another working directory, relative paths, another place of script and corpus: same bytes.
mkdir -p elsewhere/deep
mv corpus elsewhere/corpus
cp "$SRC/tests/pipeline/web.lua" elsewhere/web.lua
# shellcheck disable=SC2086
if [ "$STORE" = disk ]; then
    (cd elsewhere/deep && expect 0 "$SLUICE" run ../web.lua --quiet --run-dir state input='../corpus/*' out=made $gold) || exit 1
    same first.out elsewhere/deep/made 'datasets of another working directory'
    same first.run/tasks elsewhere/deep/state/tasks 'task records of another working directory'
fi
mv elsewhere/corpus corpus

# Every task by a process of its own, in random order within what a phase needs, four at a time.
go apart --workers 2
tasks_apart apart
go apart --workers 2
land apart.run apart.out
is "$(reran apart.run | sum)" 0 'tasks that the run that publishes works on'
same first.out apart.out 'datasets of apart'
same first.run/tasks apart.run/tasks 'task records of apart'
