# identity.sh - planning lists files and reads none; what a split holds is found by the task that reads
# it, and is remembered by path, size and times, not by inode or device. Touched files, a lost memory
# and other names cost reading, never doing work again; changed bytes always run again. Names only
# guess what is compressed: rows are the same whatever they say.
. "$SRC/tests/lib.sh"

cat >p.lua <<'END'
local s = require "sluice"
local a = s.args { input = { "glob", "in/*" }, out = { "path", "out" }, split = { "string", "64KiB" }, partitions = { "int", 2 } }
return s.pipeline { "p", s.files { a.input, split = a.split } | s.read_jsonl {} | s.exact { partitions = a.partitions }
                       | s.write_jsonl { a.out, compression = "none" } }
END
mkdir in
perl -e 'for my $n (1 .. 12) { open my $f, ">", sprintf("in/f%02d.jsonl", $n) or die;
    print $f "{\"id\":\"$n-$_\",\"text\":\"document $_ of the file $n has some words of its own\"}\n" for 1 .. 500; close $f; }'
go() {
    "$SLUICE" run p.lua --quiet --workers 2 "$@"
}
# first NUMBER WHAT: so many tasks of the first phase ran in the last run
first() {
    is "$(reran .sluice/p | sed -n 1p)" "$1" "$2"
}
touch -d '1 hour ago' in/*
expect 0 go
tasks=$(json .sluice/p/last.json phases.0.tasks)
[ "$tasks" -gt 5 ] || fail "only $tasks tasks"
lines out >rows
expect 0 go
first 0 'nothing changed'

# Touched: read once more, and done before.
touch in/*
expect 0 go
first 0 'files that were touched'

# What was remembered is lost, or damaged.
: >.sluice/p/cache/inputs
expect 0 go
first 0 'without a memory'
head -c 300 /dev/urandom >>.sluice/p/cache/inputs
expect 0 go
first 0 'with damage behind what is remembered'

# The same bytes under another inode, as a restored backup has them.
touch -d '1 hour ago' in/*
expect 0 go
cp -p in/f03.jsonl other && mv other in/f03.jsonl
expect 0 go
first 0 'a file that was put back'

# Other bytes of the same size: its task runs, however its times are.
perl -pi -e 's/of the file 3 has/of the file 3 HAS/' in/f03.jsonl
touch -d '1 hour ago' in/f03.jsonl
expect 0 go
[ "$(reran .sluice/p | sed -n 1p)" -ge 1 ] || fail 'a file that changed was taken for the old one'
[ "$(reran .sluice/p | sed -n 1p)" -le 2 ] || fail 'files that did not change were done again'
lines out | grep -c 'HAS' >n
is "$(cat n)" 500 'rows of the changed file'

# A process of its own for each task, beside what others remember.
expect 0 "$SLUICE" run p.lua --quiet --run-dir "$TMP/alone.run" "out=$TMP/alone.out"
tasks_apart alone
expect 0 "$SLUICE" run p.lua --quiet --run-dir "$TMP/alone.run" "out=$TMP/alone.out"
is "$(reran alone.run | sum)" 0 'tasks after those done alone'
lines alone.out >apart
lines out >together
cmp -s apart together || fail 'tasks done one by one give other rows'

# Names that promise something else than there is: in the open, and cut into ranges.
mkdir lies
cat in/* >whole
cp whole lies/a.jsonl.gz          # not compressed
gzip -c whole >lies/b.jsonl       # compressed
zstd -q -c whole >lies/c.jsonl    # compressed
zstd -q -c whole >lies/d.jsonl.gz # by another codec
zstd -q -c whole >lies/e.jsonl.zst
for file in lies/*; do
    for workers in 1 3; do
        rm -rf lies.run lies.out
        expect 0 go "input=$PWD/$file" --run-dir "$TMP/lies.run" "out=$TMP/lies.out" --workers "$workers"
        lines lies.out >got
        cmp -s got together || fail "$file with $workers workers gives other rows"
    done
done

# Two thousand files of 10 GB: they could not be read here, and planning does not try to.
mkdir -p "$TMP/sparse"
perl -e 'for my $n (1 .. 2000) { open my $f, ">", "sparse/$n.jsonl" or die; truncate $f, 10e9 or exit 1; }' || skip 'no sparse files here'
expect 0 "$SLUICE" plan p.lua "input=$TMP/sparse/*" split=1GiB --run-dir "$TMP/sparse.run"
says '2000 files'
