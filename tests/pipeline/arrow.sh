# arrow.sh - read_arrow: files, streams and Feather files give the same rows, on any number of workers and in a child process; types that
# Parquet has not; texts that are not UTF-8; files that differ; damaged and foreign files are refused by name, and nothing is silently less.
# DAMAGE_FILES=N: so many damaged files of each kind (default 15). The numbers behind the names make them again.
# time limit: 900
. "$SRC/tests/lib.sh"
[ -f "$BUILD/plugins/columnar.so" ] || skip "the plugin columnar is not built: $(grep columnar "$BUILD/plugins/skipped.txt")"

DATA=$SRC/tests/data/arrow
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { from = { "string", "in/*" }, out = { "path", "out" }, isolate = { "bool", false }, columns = { "string", "" }, missing = { "string", "refuse" } }
local columns
for name, type in a.columns:gmatch "(%w+[_%w]*)=([^;]+)" do
  columns = columns or {}
  columns[name] = type
end
return s.pipeline { "p", max_bad = "100%", s.files { a.from, split = "64KiB" } |
  s.read_arrow { columns = columns, missing = a.missing, isolate = a.isolate or nil } | s.write_jsonl { a.out, compression = "none" } }
L
run() { # STATUS ARGUMENT...
    _wanted_status=$1
    shift
    rm -rf out last
    expect "$_wanted_status" "$SLUICE" run p.lua --quiet --trust --run-dir last "$@"
}
all='n_words=int32;lang=utf8;url=utf8;at=utf8;day=utf8;price=utf8;tags=list<utf8?>;messages=json;none=utf8'

# ---- the same rows and bytes ----
mkdir in
cp "$DATA/docs.arrow" in/
run 0 --workers 1 --run-dir first out=one "columns=$all"
lines one >rows
is "$(wc -l <rows)" 300 'rows of the file'
sed -n 1p rows >row
cat >expected <<'J'
{"text":"tide sand 海 🌊 été","id":"doc-0","at":"1969-12-31T23:59:59.999995Z","day":"1969-12-31","messages":[],"n_words":5,"price":"-1.00","tags":[],"url":"https://example.org/0"}
J
cmp -s row expected || { cat row >&2; fail 'the first row is another one'; }
[ "$(find first/tasks -type f | wc -l)" -gt 0 ] || fail "no task"
for workers in 2 5; do
    run 0 --workers $workers --batch $((workers * 7))KiB "columns=$all"
    same one/latest out/latest "datasets of 1 and $workers workers"
    same first/tasks last/tasks "records of 1 and $workers workers"
done
for other in docs.arrow docs.feather docs.arrows; do
    for isolate in false true; do
        run 0 "from=$DATA/$other" isolate=$isolate "columns=$all"
        lines out | cmp - rows || fail "other rows of $other, isolate=$isolate"
    done
done

# ---- columns and types ----
run 0 'columns=at=int64;day=int64;n_words=utf8'
lines out | sed -n 2p >row
grep -q '"at":999996,"day":0,"n_words":"' row || { cat row >&2; fail 'dates and numbers as asked for'; }
run 2 'columns=n_word=int32'
says 'did you mean' 'read_arrow'
run 2 'columns=lang=int64'
says 'expected int64' 'string'
run 0 "from=$DATA/empty.arrow" "columns=$all"
cp "$DATA/lacks.arrow" in/z.arrow
run 4 'columns=n_words=int32'
says 'z.arrow' "no 'n_words'" 'missing = "null"'
run 0 'columns=n_words=int32' missing=null
is "$(lines out | wc -l)" 340 'rows with nulls where a file lacks a column'
run 2 'columns=nobody=int64' missing=null
says "reads 'nobody', which none of 340 records has"

# ---- texts that are not UTF-8 ----
for isolate in false true; do
    run 0 "from=$DATA/bad_text.arrow" isolate=$isolate
    is "$(lines out | wc -l)" 40 'good rows'
    is "$(json last/last.json quarantined)" 20 'quarantined rows'
done
expect 0 "$SLUICE" why last --quarantine
says 'invalid_utf8' "record batch 1, row 2, column 'text'" 'bad_text.arrow bytes'

# ---- other formats, by their names ----
run 4 "from=$DATA/version1.feather"
says 'version1.feather' 'Feather version 1'
run 4 "from=$SRC/tests/data/parquet/docs.parquet"
says 'docs.parquet' 's.read_parquet'
printf 'text,id\nx,1\n' >x.csv
run 4 from=x.csv
says 'x.csv' 'no Arrow file'
: >none.arrow
run 4 from=none.arrow
says "none.arrow"

# ---- damage ----
cat >damage.pl <<'P'
my ($from, $kind, $seed) = @ARGV;
open my $in, '<:raw', $from or die; my $all = do { local $/; <$in> };
srand $seed;
my $size = length $all;
if ($kind eq 'cut') { $all = substr $all, 0, 1 + int rand $size - 1 }
elsif ($kind eq 'flip') { vec($all, int(rand 8 * $size), 1) ^= 1 for 0 .. rand 3 }
elsif ($kind eq 'end') { substr($all, $size - 1 - int(rand 3000), 1) = chr int rand 256 for 0 .. 4 }
elsif ($kind eq 'noise') { substr($all, int(rand $size), 1) = chr int rand 256 for 0 .. 30 }
elsif ($kind eq 'insert') { substr($all, int(rand $size), 0) = 'x' x (1 + int rand 100) }
open my $out, '>:raw', 'x.arrow'; print $out $all;
P
n=${DAMAGE_FILES:-15}
refused=0
for from in docs.arrow docs.feather docs.arrows; do
    for kind in cut flip end noise insert; do
        seed=0
        while [ $seed -lt $((n / 3)) ]; do
            seed=$((seed + 1))
            perl damage.pl "$DATA/$from" $kind $seed || fail 'no damaged file'
            rm -rf out last
            status=0
            "$SLUICE" run p.lua --quiet --trust --run-dir last from=x.arrow missing=allow "isolate=$([ $((seed % 4)) = 0 ] && echo true || echo false)" \
                "columns=$all" >stdout 2>stderr || status=$?
            case $status in
            0) [ $kind != cut ] || [ $from = docs.arrows ] || fail "$from, $kind $seed: a file that is cut was read" ;;
            2 | 4 | 5)
                refused=$((refused + 1))
                grep -q 'x.arrow' stderr || { cat stderr >&2; fail "$from, $kind $seed: the message does not name the file"; }
                grep -q 'defect' stderr && { cat stderr >&2; fail "$from, $kind $seed: a defect of the plugin"; }
                ;;
            *) tail -n 5 stderr >&2; fail "$from, $kind $seed: exit status $status" ;;
            esac
        done
    done
done
echo "$refused damaged files refused"
[ "$refused" -gt "$n" ] || fail 'most damaged files were read'
