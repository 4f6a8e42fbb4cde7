# union_by_name.sh - files of one input whose columns differ, united by name: what a file lacks is null, numbers become the type that holds
# all of them, and what has no such type is refused with both files; Parquet, Arrow and CSV; the same bytes on any number of workers.
. "$SRC/tests/lib.sh"
[ -f "$BUILD/plugins/columnar.so" ] || skip "the plugin columnar is not built: $(grep columnar "$BUILD/plugins/skipped.txt")"

cat >make.lua <<'L'
local s = require "sluice"
local a = s.args { from = { "string" }, out = { "path" }, format = { "string" }, n = { "string", "int64" }, more = { "string", "score" }, type = { "string", "float64" } }
local write = { parquet = s.write_parquet, arrow = s.write_arrow, csv = s.write_csv }
local rows = s.files { a.from } | s.read_jsonl { columns = { n = "int64", [a.more] = "float64" } }
  | s.cast_columns { { n = a.n, [a.more] = a.type } } | s.keep_columns { "text", "id", "n", a.more }
return s.pipeline { "make", rows | write[a.format] { a.out } }
L
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { from = { "string", "in/*" }, out = { "path", "out" }, format = { "string" }, union = { "bool", true }, isolate = { "bool", false },
  where = { "string", "" }, columns = { "string", "" } }
local read = { parquet = s.read_parquet, arrow = s.read_arrow, csv = s.read_csv }
local options = { union_by_name = a.union, isolate = a.isolate or nil }
if a.where ~= "" then options.where = a.where end
if a.columns ~= "" then options.columns = { n = a.columns } end
return s.pipeline { "p", s.files { a.from } | read[a.format](options) | s.write_jsonl { a.out, compression = "none" } }
L
run() { # STATUS ARGUMENT...
    _wanted_status=$1
    shift
    rm -rf out last
    expect "$_wanted_status" "$SLUICE" run p.lua --quiet --trust --run-dir last "$@"
}
make() { # NUMBER ARGUMENT... : in/NUMBER.FORMAT
    number=$1
    shift
    rm -rf made made.run
    expect 0 "$SLUICE" run make.lua --quiet --run-dir made.run out=made from=rows.jsonl "format=$format" "$@"
    cp made/latest/part-* "in/$number.$format"
}
cat >rows.jsonl <<'J'
{"id":"a","text":"one","n":1,"score":0.5,"depth":2}
{"id":"b","text":"two","n":7,"score":1.5,"depth":3}
J
cat >expected <<'J'
{"text":"one","id":"a","n":1,"score":0.5}
{"text":"two","id":"b","n":7,"score":1.5}
{"text":"one","id":"a","n":1,"score":0.5}
{"text":"two","id":"b","n":7,"score":1.5}
{"text":"one","id":"a","n":1,"depth":2.0}
{"text":"two","id":"b","n":7,"depth":3.0}
J

for format in parquet arrow csv; do
    [ "$format" != csv ] || [ -f "$BUILD/plugins/read_csv.so" ] || continue
    rm -rf in one
    mkdir in
    make 1 n=int32 type=float32
    make 2 n=int64 type=float64
    make 3 n=uint8 more=depth
    # Not united: refused, by file and column.
    run 4 "format=$format" union=false
    if [ "$format" = csv ]; then says '3.csv' "'score'" 'union_by_name'; else says "2.$format" "'n' is int64, expected int32"; fi
    # United.
    run 0 "format=$format" out=one --workers 1
    lines one >rows
    [ "$format" != csv ] || sed -i 's/"depth":\([0-9]*\)}/"depth":\1.0}/' rows # 2.0 is written as 2
    cmp -s rows expected || { diff rows expected >&2; fail "$format: other rows"; }
    run 0 "format=$format" --workers 5
    same one/latest out/latest "$format: datasets of 1 and 5 workers"
    # A column that is text in one of them is none of both, unless somebody says what it is.
    make 4 n=utf8
    if [ "$format" = csv ]; then
        printf 'text,id,n,score\nx,c,many,1.0\n' >in/4.csv
        run 2 "format=$format"
        says "4.csv: column 'n' seems to be utf8, but int64 in 1.csv"
        printf 'text,id,n,score\nx,c,,2.5\n' >in/4.csv # no value at all: any type will do
        run 0 "format=$format"
        is "$(lines out | tail -n 1)" '{"text":"x","id":"c","score":2.5}' 'a column without values'
    else
        run 2 "format=$format"
        says "4.$format: column 'n' is string, but int64 in 2.$format"
        run 0 "format=$format" columns=utf8
        is "$(lines out | grep -c '"n":"7"')" 4 "$format: numbers as text"
    fi
done


# In a process of its own a reader is told of the first file alone: refused, never less than all.
run 2 format=csv 'from=in/[123].csv' isolate=true
says 'isolate = false'
