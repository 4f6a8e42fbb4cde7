# head_columns.sh - `sluice head` of Parquet, Arrow and CSV: files and datasets, chosen rows, columns and their types; no more is read than
# what the rows need.
. "$SRC/tests/lib.sh"
[ -f "$BUILD/plugins/columnar.so" ] || skip "the plugin columnar is not built: $(grep columnar "$BUILD/plugins/skipped.txt")"

DATA=$SRC/tests/data/parquet
expect 0 "$SLUICE" head "$DATA/docs.parquet" -n 2 --json
cat >expected <<'J'
{"text":"tide sand 海 🌊 été","id":"doc-0","n_words":5,"big":0,"good":true,"day":"1969-12-31","at":"1969-12-31T23:59:59.999995Z","price":"-1.00","tags":[],"messages":[]}
J
sed -n 1p stdout | cmp -s - expected || { cat stdout >&2; fail 'the first row is another one'; }
is "$(wc -l <stdout)" 2 'rows'
expect 0 "$SLUICE" head "$DATA/docs.parquet" --schema
says 'n_words                  int32?' 'messages                 list<struct<role:utf8?,content:utf8?>?>?'
expect 0 "$SLUICE" head "$DATA/docs.parquet" --schema --json
is "$(json stdout columns.2.type)" 'int32?' 'a type'
expect 0 "$SLUICE" head "$DATA/docs.parquet" --where 'n_words > 21' -n 1
is "$(cut -c 1-8 stdout)" '    17  ' 'the number of a row'

# Datasets: numbers go on from file to file, and random rows are the same for a seed.
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path" }, format = { "string" } }
local write = { parquet = s.write_parquet, arrow = s.write_arrow, csv = s.write_csv }
return s.pipeline { "p", s.files { "in/*", split = "64KiB" } | s.read_jsonl { columns = { n = "int64", x = "float64" } }
  | s.keep_columns { "text", "id", "n", "x" } | write[a.format] { a.out } }
L
mkdir in
for file in 1 2; do
    for k in $(seq 0 99); do echo "{\"id\":\"$file-$k\",\"text\":\"$(printf '%1000s' "$k" | tr ' ' x)\",\"n\":$k,\"x\":0.1}"; done >in/$file.jsonl
done
for format in parquet arrow csv; do
    expect 0 "$SLUICE" run p.lua --quiet --run-dir "$format.run" "out=$format" "format=$format"
    expect 0 "$SLUICE" head "$format" --where 'id = "2-3"' --json
    is "$(cut -d, -f 2- stdout)" '"id":"2-3","n":3,"x":0.1}' "$format: a row"
    expect 0 "$SLUICE" head "$format@1" --where 'id = "2-3"'
    is "$(cut -c 1-8 stdout)" '   103  ' "$format: its number"
    expect 0 "$SLUICE" head "$format" --random -n 5 --json
    cp stdout one
    expect 0 "$SLUICE" head "$format" --random -n 5 --json
    cmp -s one stdout || fail "$format: other rows for the same seed"
    is "$(wc -l <one)" 5 "$format: random rows"
    expect 0 "$SLUICE" head "$format" -n 1000 --json
    is "$(wc -l <stdout)" 200 "$format: all rows"
    expect 0 "$SLUICE" head "$format" -n 0
    is "$(wc -c <stdout)" 0 "$format: no rows"
done
expect 2 "$SLUICE" head parquet --random --where 'n = 1'
says 'not beside --where'
expect 2 "$SLUICE" head "$DATA/docs.parquet" --random
says '--random is for datasets'

# What is behind the rows that are shown is not read: a file there may be damaged.
last=$(ls -d parquet/v000001/part-* | tail -n 1)
head -c "$(wc -c <"$last")" /dev/zero >zeros
chmod u+w "$last"
cat zeros >"$last"
expect 0 "$SLUICE" head parquet -n 3 --json
is "$(wc -l <stdout)" 3 'rows before a file that is damaged'
expect 4 "$SLUICE" head parquet -n 1000
says "${last##*/}"
rm "$last"
expect 4 "$SLUICE" head parquet -n 3
says "${last##*/} is missing"
