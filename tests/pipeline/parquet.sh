# parquet.sh - read_parquet: the same rows and bytes on any number of workers and in a child process; the columns and types that are asked
# for, and those that are refused, by name; files of one input that differ; texts that are not UTF-8.
# time limit: 600
. "$SRC/tests/lib.sh"
[ -f "$BUILD/plugins/columnar.so" ] || skip "the plugin columnar is not built: $(grep columnar "$BUILD/plugins/skipped.txt")"

DATA=$SRC/tests/data/parquet
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { from = { "string", "in/*" }, out = { "path", "out" }, isolate = { "bool", false }, columns = { "string", "" }, text = { "string", "text" },
  id = { "string", "id" }, missing = { "string", "refuse" } }
local columns
for name, type in a.columns:gmatch "(%w+[_%w]*)=([^;]+)" do
  columns = columns or {}
  columns[name] = type
end
return s.pipeline { "p", max_bad = "100%", s.files { a.from, split = "64KiB" } |
  s.read_parquet { text = a.text, id = a.id, columns = columns, missing = a.missing, isolate = a.isolate or nil } |
  s.write_jsonl { a.out, compression = "none" } }
L
run() { # STATUS ARGUMENT...
    _wanted_status=$1
    shift
    rm -rf out last
    expect "$_wanted_status" "$SLUICE" run p.lua --quiet --trust --run-dir last "$@"
}
all='n_words=int32;score=float64;good=bool;lang=utf8;day=utf8;at=utf8;price=utf8;tags=list<utf8?>;messages=json'

# ---- the same rows and bytes ----
mkdir in
for k in 1 2 3; do cp "$DATA/docs.parquet" "in/$k.parquet"; done
run 0 --workers 1 --run-dir first out=one "columns=$all"
[ "$(lines one | wc -l)" = 900 ] || fail "$(lines one | wc -l) rows, expected 900"
lines one >rows
sed -n 1p rows >row
cat >expected <<'J'
{"text":"tide sand 海 🌊 été","id":"doc-0","at":"1969-12-31T23:59:59.999995Z","day":"1969-12-31","good":true,"messages":[],"n_words":5,"price":"-1.00","tags":[]}
J
cmp -s row expected || { cat row >&2; fail 'the first row is another one'; }
for workers in 2 5; do
    run 0 --workers $workers --batch $((workers * 7))KiB "columns=$all"
    same one/latest out/latest "datasets of 1 and $workers workers"
    same first/tasks last/tasks "records of 1 and $workers workers"
done
run 0 isolate=true "columns=$all"
lines out | cmp - rows || fail 'other rows from a child process'

# ---- columns and types ----
rm in/2.parquet in/3.parquet
run 0 'columns=at=int64;day=int64;n_words=utf8'
lines out | sed -n 2p >row
grep -q '"at":999996,"day":0,"n_words":"' row || { cat row >&2; fail 'dates and numbers as asked for'; }
run 0 text=lang id=n_words 'columns=good=bool'
lines out | sed -n 2p >row
grep -q '^{"text":"fr","id":"[0-9]*","good":false}$' row || { cat row >&2; fail 'other columns as text and id'; }
run 0 id=none missing=allow 'columns=good=bool'
lines out | sed -n 52p >row
grep -q '"id":"1.parquet:1:1"' row || { cat row >&2; fail 'an id that is made of the place'; }
# A number that int64 does not hold is that row's affair.
run 0 'columns=big=int64'
is "$(json last/last.json quarantined)" 3 'rows with a number above int64'
expect 0 "$SLUICE" why last --quarantine
says 'out_of_range' "row group 1, row 0, column 'big'"
# Nested columns are taken as they are, and refused where a format does not hold them.
run 2
says 'messages' 'list<struct<role:utf8?,content:utf8?>?>?'
for wrong in 'n_word=int32:did you mean' 'lang=int64:expected int64' 'score=bool:expected bool' 'tags=utf8:it can be had as list<utf8?>' \
    'good=nonsense:expected nonsense' 'lang=json:expected json'; do
    run 2 "columns=${wrong%%:*}"
    says "${wrong#*:}" 'read_parquet'
done
run 2 text=txt
says 'found the columns id, text, n_words' "no 'txt'; did you mean 'text'?"

# ---- files that differ ----
cp "$DATA/lacks.parquet" in/2.parquet
run 4 'columns=score=float64'
says '2.parquet' "no 'score'" 'missing = "null"'
run 0 'columns=score=float64' missing=null
is "$(lines out | wc -l)" 340 'rows with nulls where a file lacks a column'
run 0 'columns=good=bool'
is "$(lines out | wc -l)" 340 'rows where nobody wants what a file lacks'
run 2 'columns=nobody=int64' missing=null
says "reads 'nobody', which none of 340 records has"
run 0 'columns=nobody=int64' missing=allow
cp "$DATA/other.parquet" in/2.parquet
run 4 'columns=n_words=int32'
says '2.parquet' 'n_words' 'string, expected int32'
mkdir all
cp "$DATA/plain.parquet" "$DATA/late.parquet" all
mv all/late.parquet all/z.parquet
run 4 'from=all/*'
says 'z.parquet' "a column 'late', which the first file lacks"
run 0 'from=all/*' 'columns=n_words=int32'
is "$(lines out | wc -l)" 80 'rows of two files, of the columns that both have'
cp "$DATA/empty.parquet" in/2.parquet
run 0 'columns=good=bool'
is "$(lines out | wc -l)" 300 'rows beside an empty file'

# ---- texts that are not UTF-8 ----
for bad in plain dictionary; do
    rm in/*
    cp "$DATA/bad_$bad.parquet" in/
    for isolate in false true; do
        run 0 isolate=$isolate
        is "$(lines out | wc -l)" 40 "rows of bad_$bad"
        is "$(json last/last.json quarantined)" 20 "quarantined rows of bad_$bad"
    done
    expect 0 "$SLUICE" why last --quarantine
    says 'invalid_utf8' "row group 1, row 2, column 'text'" "bad_$bad.parquet bytes"
done
rm in/*
cp "$DATA/bad_list.parquet" in/
run 0 'columns=parts=list<utf8?>'
is "$(json last/last.json quarantined)" 20 'rows with a bad text in a list'
run 0 'columns=parts=json'
is "$(json last/last.json quarantined)" 20 'rows with a bad text in a list, as JSON'

# ---- large columns, page by page ----
rm in/*
for file in pages pages2; do
    for isolate in false true; do
        run 0 "from=$DATA/$file.parquet" 'columns=url=utf8;n=int64' isolate=$isolate
        is "$(lines out | wc -l)" 800 "rows of $file"
        lines out | perl -ne '$n++; /"n":(\d+)/ && $1 == $n - 1 or die "row $n: $_"; my ($t) = /"text":"(.*?)"/; my ($u) = /"url":"(.*?)"/;
            defined $t == (($n - 1) % 17 != 5) && ($t // "") eq ($u // "") or die "row $n: $_"' || fail "$file, isolate=$isolate: other rows"
    done
    perl -e 'open my $in, "<:raw", shift; my $all = do { local $/; <$in> }; vec($all, 8 * 60000, 8) ^= 0x11; open my $out, ">:raw", "in/flipped.parquet"; print $out $all' \
        "$DATA/$file.parquet"
    run 4
    says 'flipped.parquet' 'damaged'
done
