# datasets.sh - folders of datasets: a pattern never takes in a dataset's own copies nor what the pipeline itself writes; one writer for each
# folder however it is spelled; none inside another's folders.
# shellcheck shell=sh
. "$SRC/tests/lib.sh"

mkdir in
printf '{"id":"a","text":"one"}\n{"id":"b","text":"two"}\n' >in/a.jsonl

# script INPUT OUT [OUT]
script() {
    _more=
    [ -z "${3-}" ] || _more=", docs | s.write_jsonl { [[$3]], compression = 'none' }"
    cat >p.lua <<L
local s = require "sluice"
local docs = s.files [[$1]] | s.read_jsonl {}
return s.pipeline { "p", docs | s.write_jsonl { [[$2]], compression = "none" }$_more }
L
}

# ---- what a run wrote is not its input -------------------------------------------------------------

for input in in 'in/**' 'in/**/*.jsonl' 'in/*/*/*' '**' '**/*.jsonl' "$PWD/in" './in/../in/**' 'in/out/data/*' 'in/out/latest/*.jsonl' 'in/{name**}/*.jsonl'; do
    script "$input" in/out
    echo "input $input"
    expect 2 "$SLUICE" check p.lua
    says 'p.lua:2' 'takes in what'
    expect 2 "$SLUICE" run p.lua --quiet
done
# Patterns that cannot match what is written are fine, also when the output lies below their folder.
for input in 'in/*.jsonl' in/a.jsonl 'in/**/a.jsonl' '@list'; do
    echo in/a.jsonl >list
    rm -rf in/out .sluice
    script "$input" in/out
    for _ in 1 2 3; do expect 0 "$SLUICE" run p.lua --quiet; done
    is "$(lines in/out | wc -l)" 2 "rows after three runs over $input"
done

# A list that names what was written, or a link to it, and the newest snapshot of the dataset itself; one with a number stays what it is.
ls in/out/data/* >written
{ echo in/a.jsonl && cat written; } >list
ln -s ../in/out/v000001 in/linked
for input in @list @written 'in/linked/*'; do
    script "$input" in/out
    expect 2 "$SLUICE" run p.lua --quiet
    says 'p.lua:2' 'takes in what' 'in/out'
done
rm in/linked
for input in in/out ./in/../in/out/ "$PWD/in/out" in/out@1; do
    sed "s|s.files \[\[.*\]\] .|s.dataset [[$input]] \||" p.lua >own.lua
    case $input in
    *@1) expect 0 "$SLUICE" run own.lua --quiet ;;
    *)
        expect 2 "$SLUICE" check own.lua
        says 'own.lua:2' 'takes in what' "the input '$input'"
        ;;
    esac
done
rm -rf in/out
script in/a.jsonl in/out
expect 0 "$SLUICE" run p.lua --quiet

# ---- other datasets and runs -----------------------------------------------------------------------

# in/out is a dataset now, and in/state gets a run: another pipeline over the folder takes neither.
script 'in/*.jsonl' in/out
expect 0 "$SLUICE" run p.lua --quiet --run-dir in/state
for input in in 'in/**' 'in/**/*.jsonl' 'in/*/*/*' "in/*/v*/*"; do
    rm -rf kept .sluice
    script "$input" kept
    status=0
    "$SLUICE" run p.lua --run-dir "$TMP/run" --fresh >report 2>said || status=$?
    case $input in
    'in/*/'*)
        is "$status" 2 "exit status of $input"
        grep -q 'belongs to a dataset' said || fail "$input: $(cat said)"
        ;;
    *)
        is "$status" 0 "exit status of $input: $(cat said)"
        is "$(lines kept | wc -l)" 2 "rows of $input"
        grep -q 'left out of the input' said || fail "$input: nothing is said: $(cat said)"
        ;;
    esac
done
# Named on purpose, they are read.
for input in 'in/out/latest/*' in/out/latest in/out/v000001 'in/*/latest/*.jsonl' 'in/{set}/latest/*'; do
    rm -rf kept run
    script "$input" kept
    expect 0 "$SLUICE" run p.lua --quiet --run-dir run
    is "$(lines kept | wc -l)" 2 "rows of $input"
done

# ---- one writer, one folder ------------------------------------------------------------------------

ln -s in link
rm -rf run out
for pair in 'out ./out' 'out out/' 'out out/./x/../' "out $PWD/out" 'out x/../out' 'in/new link/new' 'out//deep out/deep'; do
    # shellcheck disable=SC2086
    set -- $pair
    script in/a.jsonl "$1" "$2"
    expect 2 "$SLUICE" check p.lua
    says 'write the same dataset'
done
for pair in 'out out/data' 'out out/data/x' 'out/v000001 out' 'out ./out/latest/x' 'out/snapshots/y out' 'in/new link/new/data/sub'; do
    # shellcheck disable=SC2086
    set -- $pair
    script in/a.jsonl "$1" "$2"
    expect 2 "$SLUICE" check p.lua
    says 'keeps for itself'
done
# Beside each other they may lie, also one below the other.
script in/a.jsonl out out/dropped
expect 0 "$SLUICE" run p.lua --quiet --run-dir run
is "$(lines out | wc -l) $(lines out/dropped | wc -l)" '2 2' 'rows of both'
# Inside a dataset of an earlier run.
for inside in out/data out/data/x out/v000001/y out/latest/z out/dropped/data/q; do
    script in/a.jsonl "$inside"
    expect 2 "$SLUICE" check p.lua
    says 'lies in a folder of the dataset'
done
