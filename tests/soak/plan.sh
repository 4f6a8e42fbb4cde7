# Planning many files and a million tasks: time and memory of `prepare`, and memory of a queued task in a worker.
# FILES (100000), SEED. time limit: 1800
set -eu
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"
FILES=${FILES:-100000}
SEED=${SEED:-1}
MEASURE=$BUILD/tests/bench/measure
[ -x "$MEASURE" ] || skip 'no build/tests/bench/measure; make soak builds it'

echo "$FILES sparse files of 10 MB, seed $SEED"
perl -e '
    my ($n, $seed) = @ARGV;
    srand($seed);
    mkdir "in";
    for my $k (0 .. $n - 1) {
        my $d = sprintf "in/shard-%03d", int($k / 1000);
        mkdir $d if $k % 1000 == 0;
        open my $f, ">", sprintf("%s/part-%05d-%08x.jsonl", $d, $k, int(rand(2**32))) or die;
        truncate $f, 10_000_000 or die;
    }' "$FILES" "$SEED"
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { split = { "size", "64MB" } }
return s.pipeline { "p", s.files { "in/**", split = a.split } | s.read_jsonl {} | s.gopher_quality {} | s.write_jsonl { "out" } }
L
peak() { # COMMAND...: PEAK in KiB, WALL in seconds
    "$MEASURE" -p cost "$@" >stdout 2>stderr || { cat stderr >&2; fail "exit status: $*"; }
    read -r WALL _ _ PEAK <cost
}
bound() { # FOUND LIMIT WHAT
    perl -e 'exit($ARGV[0] <= $ARGV[1] ? 0 : 1)' "$1" "$2" || fail "$3: found $1, expected at most $2"
    echo "$3: $1 (at most $2)"
}
peak "$SLUICE" prepare p.lua
bound "$WALL" "$(perl -e 'print 2 + $ARGV[0] / 12500' "$FILES")" 'seconds to plan'
bound "$PEAK" $((40960 + FILES * 16 / 10)) 'KiB to plan'
peak "$SLUICE" prepare p.lua split=1MB
tasks=$(sed 's/.*files, \([0-9]*\) tasks.*/\1/' stdout)
echo "$tasks tasks in $WALL s, $PEAK KiB"
bound "$PEAK" $((40960 + FILES + tasks / 5)) 'KiB to plan as many tasks'

# A worker that has the plan and has begun: what it holds more than with few tasks, a task. Files are the same.
held() {
    "$SLUICE" prepare p.lua "split=$1" >prepared
    "$SLUICE" work p --workers 1 --quiet 2>said &
    pid=$!
    n=0
    while [ "$(find .sluice/p/tasks -name '*.json' 2>/dev/null | wc -l)" -lt 20 ]; do
        n=$((n + 1))
        [ $n -lt 600 ] || fail 'a worker does no tasks'
        sleep 0.5
    done
    HELD=$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")
    kill -INT "$pid"
    wait "$pid" || :
    rm -rf .sluice/p/tasks out
}
held 100MB
few=$HELD
held 1MB
if [ "$tasks" -lt 200000 ]; then
    echo "$HELD KiB with $tasks tasks, $few KiB with few: too few to divide"
else
    bound $(((HELD - few) * 1024 / tasks)) 200 'bytes a queued task'
fi
