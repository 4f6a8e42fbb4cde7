# parquet_where.sh - read_parquet { where = … }: the rows are those of reading all and choosing then; what is ruled out by folders, statistics
# and Bloom filters is not read, and is accounted for; statistics that lie are found; values of the path are columns.
# time limit: 600
. "$SRC/tests/lib.sh"
[ -f "$BUILD/plugins/columnar.so" ] || skip "the plugin columnar is not built: $(grep columnar "$BUILD/plugins/skipped.txt")"

DATA=$SRC/tests/data/parquet
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { from = { "string", "in/*" }, out = { "path", "out" }, where = { "string", "" }, statistics = { "string", "trust" },
  missing = { "string", "refuse" }, id = { "string", "id" }, columns = { "string", "" }, partitions = { "bool", true }, isolate = { "bool", false } }
local columns
for name, type in a.columns:gmatch "(%w+[_%w]*)=([^;]+)" do
  columns = columns or {}
  columns[name] = type
end
return s.pipeline { "p", max_bad = "100%", s.files { a.from, split = "64KiB" } |
  s.read_parquet { id = a.id, where = a.where ~= "" and a.where or nil, statistics = a.statistics, missing = a.missing, columns = columns,
    partitions = a.partitions, isolate = a.isolate or nil } |
  s.write_jsonl { a.out, compression = "none" } }
L
run() { # STATUS ARGUMENT...
    _wanted_status=$1
    shift
    rm -rf out last
    expect "$_wanted_status" "$SLUICE" run p.lua --quiet --trust --run-dir last "$@"
}
ids() { lines out 2>/dev/null | sed 's/.*"id":"\([^"]*\)".*/\1/'; }
mkdir in
cp "$DATA/where.parquet" in/
touch -d '1 hour ago' in/where.parquet
sleep 2.1

# ---- the rows that hold, by whatever is known of them ----
numbers() { perl -e 'for my $k (0 .. 399) { $_ = $k; print "row-$k\n" if eval $ARGV[0] }' "$1"; }
same_rows() { # WHERE PERL
    for statistics in trust check ignore; do
        run 0 "where=$1" "statistics=$statistics" columns=number=int32
        ids >got
        numbers "$2" >wanted
        cmp -s got wanted || fail "$1 ($statistics): $(wc -l <got) rows, expected $(wc -l <wanted): $(diff got wanted | sed -n 2p)"
    done
}
same_rows 'number < 100' '$k % 40 != 7 && $k < 100'
same_rows 'not number < 100' '$k % 40 != 7 && $k >= 100'
same_rows 'number is null' '$k % 40 == 7'
same_rows 'number = 5 or number in (205, 399)' '$k == 5 || $k == 205 || $k == 399'
same_rows "meta.lang = 'fr' and number < 220" '$k >= 200 && $k % 9 && $k % 40 != 7 && $k < 220'
same_rows "tags[0] = 't3'" '$k >= 120 && $k < 160 && $k % 3'
same_rows 'score > 10' '$k % 50 != 3 && $k % 50 != 4 && $k / 16 - 10 > 10'
same_rows 'score != 2.0' '$k != 192'
same_rows 'score = 0' '$k % 50 == 4 || $k == 160'
same_rows "day >= '2024-03-30' and day < '2024-04-01'" '$k >= 356 && $k < 364'
same_rows "id like 'row-1__' or id = 'row-7'" '($k >= 100 && $k < 200) || $k == 7'
same_rows 'code = 7919' '$k == 1'
same_rows "host = 'eee.example'" 'substr("abcdefghij", (int($k / 40) * 7 + $k % 4 * 3) % 10, 1) eq "e"'

# ---- what is not read, and by which means ----
run 0 'where=number >= 40 and number < 80' columns=number=int32
is "$(json last/last.json funnel.0.skipped.min_max.units)" 9 'row groups that statistics rule out'
is "$(json last/last.json funnel.0.skipped.min_max.rows)" 360 'rows in them'
is "$(json last/last.json funnel.0.skipped.where.rows)" 1 'rows that are skipped one by one'
expect 0 "$SLUICE" report last
says '9 units, 360 rows' 'skipped by min_max' '1 row skipped by where'
expect 0 "$SLUICE" plan p.lua --trust --run-dir last 'where=number >= 40 and number < 80' columns=number=int32
says '9 skipped'
run 0 "where=host = 'eee.example'" columns=number=int32
is "$(json last/last.json funnel.0.skipped.bloom.units)" "$(json last/last.json funnel.0.skipped.bloom.units | grep -x '[1-9]')" \
    'row groups that Bloom filters rule out'
# A column that only the expression names is read, and not given; where none of its rows hold, no other is read.
run 0 "where=tags[0] = 't3'" columns=code=uint32
lines out | sed -n 1p >row
grep -q '^{"text":"[^"]*","id":"row-121","code":958199}$' row || { cat row >&2; fail 'other columns'; }
[ "$(json last/last.json funnel.0.skipped.where.bytes)" -gt 1000 ] || fail 'columns were read of rows that do not hold'

# ---- the same for any number of workers ----
run 0 --workers 1 'where=score > 1 and number > 50' columns=number=int32
mv out one
for workers in 2 5; do
    run 0 --workers $workers --batch $((workers * 7))KiB 'where=score > 1 and number > 50' columns=number=int32
    same one/latest out/latest "datasets of 1 and $workers workers"
done
run 0 isolate=true 'where=score > 1 and number > 50' columns=number=int32
same one/latest out/latest 'the dataset of a child process'

# ---- rows here and there: each keeps its number, and is bad only where it is given ----
run 0 'where=number in (1, 3, 5, 9, 11, 13, 15, 390)' id=none missing=allow columns=number=int32
lines out | sed -n 's/.*"id":"\([^"]*\)","number":\([0-9]*\).*/\1 \2/p' | tr '\n' ' ' >row
is "$(cat row)" 'where.parquet:0:1 1 where.parquet:0:3 3 where.parquet:0:5 5 where.parquet:0:9 9 where.parquet:0:11 11 where.parquet:0:13 13 where.parquet:0:15 15 where.parquet:9:30 390 ' \
    'ids that are made of the place'
mkdir bad
cp "$DATA/bad_plain.parquet" bad/
run 0 'from=bad/*' 'where=id in (0, 1, 4, 6, 7, 9, 10, 12, 14, 16)'
is "$(ids | tr '\n' ' ')" '0 4 6 10 12 14 16 ' 'rows that could be read'
is "$(json last/last.json quarantined)" 3 'rows in quarantine of those that hold'
expect 0 "$SLUICE" why last --quarantine
says "row group 0, row 9, column 'text'"

# ---- mistakes are named ----
run 2 'where=number < ' columns=number=int32
says 'where, character 10: found the end, expected a value'
run 2 'where=numbr < 5' columns=number=int32
says 'where, character 1: found numbr' "did you mean 'number'?"
run 2 "where=number = 'x'" columns=number=int32
says 'number, which is int32, is compared with a text, expected a number'
run 2 'where=numbr < 5' missing=null columns=number=int32
says "did you mean 'number'?"
run 0 'where=numbr < 5' missing=allow columns=number=int32
is "$(ids | wc -l)" 0 'rows of a column that is nowhere'

# ---- statistics that lie ----
mkdir lies
cp "$DATA/lies.parquet" lies/
run 0 'from=lies/*' 'where=number < 5'
is "$(ids | wc -l)" 0 'rows where wrong statistics are believed'
run 0 'from=lies/*' 'where=number < 5' statistics=ignore
is "$(ids | wc -l)" 5 'rows where they are ignored'
run 4 'from=lies/*' 'where=number < 5' statistics=check
says 'lies.parquet' 'the statistics of row group 0 rule out 5 of its rows, the first of which is row 0' 'statistics = "ignore"'

# ---- values of the path ----
for lang in en fr; do
    for year in 2023 2024; do
        mkdir -p "hive/lang=$lang/year=$year"
        cp "$DATA/where.parquet" "hive/lang=$lang/year=$year/a.parquet"
    done
done
mkdir -p 'hive/lang=__HIVE_DEFAULT_PARTITION__/year=2024'
cp "$DATA/where.parquet" 'hive/lang=__HIVE_DEFAULT_PARTITION__/year=2024/a.parquet'
run 0 from=hive "where=lang = 'fr' and year >= 2024 and number = 5" 'columns=lang=utf8;year=int64'
lines out | sed 's/"text":"[^"]*",//' >row
is "$(cat row)" '{"id":"row-5","lang":"fr","year":2024}' 'the row of one folder'
is "$(json last/last.json funnel.0.skipped.partition.units)" 40 'row groups of other folders'
run 0 from=hive 'where=number = 5 and lang is null' 'columns=year=utf8;number=int32'
lines out | sed 's/"text":"[^"]*",//' >row
is "$(cat row)" '{"id":"row-5","number":5,"year":"2024"}' 'the row of the folder without a value'
run 0 from=hive 'where=number = 5' 'columns=year=int64'
is "$(lines out | grep -c '"year":202[34]}')" 5 'rows with the value of their folder'
run 4 from=hive 'where=year = 2024 and lang > 5' columns=number=int32
says "found the folder 'lang=en', expected a value that is double"
run 2 from=hive 'where=year = 2024' partitions=false columns=number=int32
says "found year, expected a column"
mkdir hive/lang=en/year=x
cp "$DATA/where.parquet" hive/lang=en/year=x/a.parquet
run 4 from=hive 'columns=year=int64'
says "found the folder 'year=x', expected a value that is int64"
# A folder with another name, whose files are the same ones.
rm -r hive/lang=en/year=x
run 0 from=hive "where=number = 5 and year = 2023" 'columns=lang=utf8'
is "$(lines out | grep -o '"lang":"[a-z]*"' | tr '\n' ' ')" '"lang":"en" "lang":"fr" ' 'values of the folders'
mv hive/lang=en hive/lang=de
rm -rf out
expect 0 "$SLUICE" run p.lua --quiet --trust --run-dir last from=hive "where=number = 5 and year = 2023" 'columns=lang=utf8'
is "$(lines out | grep -o '"lang":"[a-z]*"' | tr '\n' ' ')" '"lang":"de" "lang":"fr" ' 'values of folders that were renamed'
# The same files by another pattern, whose names have other folders: nothing of what was found out is taken over.
touch -d '1 hour ago' hive/*/*/a.parquet
sleep 2.1
run 0 from=hive "where=lang = 'fr' and number = 5" columns=number=int32
is "$(ids | wc -l)" 2 'rows of a folder'
run 2 'from=hive/lang=fr/year=2024/*' "where=lang = 'fr' and number = 5" columns=number=int32
says 'found lang, expected a column'
run 0 'from=hive/lang=fr/year=2024/*' "where=lang is null and number = 5" columns=number=int32 missing=allow
is "$(ids | wc -l)" 1 'rows where the folder is not part of the name'
