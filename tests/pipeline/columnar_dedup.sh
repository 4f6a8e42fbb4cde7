# columnar_dedup.sh - Parquet, Arrow and CSV through stages that need all rows before they answer: exact and near duplicates, an order, a file
# of which another column changed; the same rows and bytes for any workers, and as from JSON Lines.
. "$SRC/tests/lib.sh"

[ -f "$BUILD/plugins/columnar.so" ] || skip 'the columnar plugin is not built'
mkdir in
# One file of each kind: which of equal rows is the first does not depend on names of files then.
perl -e 'for my $f (1 .. 3) { for (1 .. 400) { my $n = $_ % 150; print qq({"text":"row number $n of many that say the same thing ), join(" ", map { "w" . ($n * $_ % 97) } 1 .. 30),
    qq(","id":"$f-$_","n":$_,"kind":"k), $_ % 3, qq("}\n) } }' >in/rows.jsonl
cat >make.lua <<'L'
local s = require "sluice"
local docs = s.files "in/*.jsonl" | s.read_jsonl { metadata = false, columns = { n = "int64", kind = "utf8" } }
return s.pipeline { "make", docs | s.write_parquet "parquet", docs | s.write_arrow "arrow", docs | s.write_csv "csv" }
L
expect 0 "$SLUICE" run make.lua --quiet --run-dir make
cat >dedup.lua <<'L'
local s = require "sluice"
local a = s.args { from = { "string", "parquet" }, out = { "path", "out" }, spill = { "string", "auto" } }
local reader = { parquet = s.read_parquet, arrow = s.read_arrow, csv = s.read_csv }
local docs = a.from == "jsonl" and s.files "in/*.jsonl" | s.read_jsonl { metadata = false, columns = { n = "int64", kind = "utf8" } }
  or s.files(a.from .. "/data/*") | reader[a.from] {}
docs = docs | s.keep_columns { "text", "id", "n", "kind" }
local unique = docs | s.exact {}
local near = docs | s.minhash {}
return s.pipeline { "dedup", spill = a.spill,
  s.named("exact_rows", unique | s.write_jsonl { a.out .. "/exact", compression = "none" }),
  s.named("near_rows", near | s.write_jsonl { a.out .. "/near", compression = "none" }),
  s.named("columns", unique | s.write_parquet { a.out .. "/columns" }) }
L
rows() {
    for set in exact near; do lines "$1/$set" | sort >"$1.$set"; done
}
expect 0 "$SLUICE" run dedup.lua --quiet --run-dir run.jsonl from=jsonl out=jsonl
rows jsonl
[ "$(wc -l <jsonl.exact)" = 150 ] || fail "$(wc -l <jsonl.exact) rows from JSON Lines"
for from in parquet arrow csv; do
    for workers in 1 3; do
        expect 0 "$SLUICE" run dedup.lua --quiet --run-dir run.$from$workers from=$from out=out.$from$workers --workers $workers
        rows out.$from$workers
        for set in exact near; do cmp jsonl.$set out.$from$workers.$set || fail "$from, $workers workers: other rows of $set"; done
    done
    same "out.${from}1/columns/data" "out.${from}3/columns/data" "$from: Parquet files of one and of three workers"
    expect 0 "$SLUICE" run dedup.lua --quiet --run-dir run.$from.p from=$from out=out.$from.p spill=positions
    rows out.$from.p
    cmp jsonl.exact out.$from.p.exact || fail "$from: other rows with spill = \"positions\""
done

# Another column than that which finds the duplicates: rows are written anew.
sed -i 's/"kind":"k1"/"kind":"k9"/' in/rows.jsonl
expect 0 "$SLUICE" run make.lua --quiet --run-dir make --fresh
for from in parquet csv; do
    rm -rf "$from.new"
    mkdir -p "$from.new"
    cp -r "$from/$(basename "$(find "$from" -maxdepth 1 -name 'v0*' | sort | tail -n 1)")/." "$from.new/"
    rm -f "$from"/data/*
    cp -L "$from.new"/* "$from/data/"
    expect 0 "$SLUICE" run dedup.lua --quiet --run-dir run.${from}1 from=$from out=out.${from}1
    rows out.${from}1
    expect 0 "$SLUICE" run dedup.lua --quiet --run-dir run.jsonl2 from=jsonl out=jsonl2
    rows jsonl2
    cmp jsonl2.exact out.${from}1.exact || fail "$from: rows of before after a column changed"
done
