# upkeep_columnar.sh - `compact`, `remove` and `verify --absent` on datasets of Parquet and of Arrow: the same rows in the same order, in files of the
# same kind as the pipeline's own; a kill at any operation leaves the old snapshot or the new one, and the next call makes the same bytes.
# time limit: 1200
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"
[ -e "$BUILD/plugins/columnar.so" ] || skip 'the plugin columnar is not built'

mkdir in
perl -e 'for my $f (1 .. 24) { open my $o, ">", sprintf "in/%02d.jsonl", $f or die; printf $o "{\"id\":\"%s-%s\",\"text\":\"row %s of file %s %s\",\"lang\":\"%s\",\"n\":%s,\"meta\":{\"a\":%s,\"b\":[\"x\",null]},\"score\":%s}\n", $f, $_, $_, $f, "word " x 90, ($_ % 3 ? "en" : "de"), ($_ % 5 ? $_ : "null"), $_, $_ / 7 for 1 .. 150 }'
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path" }, workers = { "int", 0 } }
local docs = s.files { "in/*", split = "64KiB" } | s.read_jsonl { columns = { lang = "utf8", n = "int64", meta = "json", score = "float64" } }
return s.pipeline { "p",
  s.named("parquet", docs | s.write_parquet { a.out .. "/parquet", compression = "gzip", level = 6, bloom = { "id" }, row_group = "128KiB" }),
  s.named("arrow", docs | s.write_arrow { a.out .. "/arrow", columns = { "id", "n", "text", "score" } }),
  s.named("stream", docs | s.write_arrow { a.out .. "/stream", layout = "stream", compression = "lz4" }),
  s.named("folders", docs | s.write_parquet { a.out .. "/folders", partition_by = { "lang" } }),
}
L
# rows KIND DATASET[@N] NAME: as JSON Lines, by the reader.
rows() {
    case $1 in parquet | folders) _reader=read_parquet ;; *) _reader=read_arrow ;; esac
    cat >export.lua <<L
local s = require "sluice"
local a = s.args { data = { "string" }, out = { "path" } }
return s.pipeline { "export", s.dataset(a.data) | s.$_reader {} | s.write_jsonl { a.out, compression = "none", shard_size = "1TB" } }
L
    rm -rf export.run "$3.rows"
    expect 0 "$SLUICE" run export.lua --quiet --run-dir export.run "data=$2" "out=$3.rows"
    lines "$3.rows" >"$3"
}
run() { # NAME [OPTION...]
    _name=$1
    shift
    expect 0 "$SLUICE" run p.lua --quiet --run-dir "$(place "$_name.run")" "out=$(place "$_name.out")" "$@"
}
files() { json "$1" 'shards.*.file' | wc -l; }

run one --workers 2
for kind in parquet arrow stream folders; do
    data=$(place one.out)/$kind
    rows $kind "$data@1" before
    is "$(wc -l <before)" 3600 "$kind: rows"
    expect 0 "$SLUICE" compact "$data"
    rows $kind "$data@2" after
    cmp before after >&2 || fail "$kind: other rows, or in another order"
    expect 0 "$SLUICE" verify "$data" --all
    expect 0 "$SLUICE" compact "$data"
    says 'nothing to join'
done
expect 0 "$SLUICE" diff "$(place one.out)/parquet@1" "$(place one.out)/stream" --key id --json
is "$(json stdout rows.same) $(json stdout rows.changed) $(json stdout rows.removed)" '3600 0 0' 'rows of two formats'
land one.out
for kind in parquet arrow stream; do
    [ "$(files one.out/$kind/snapshots/000001.json)" -gt 5 ] || fail "$kind: few files before"
    is "$(files one.out/$kind/snapshots/000002.json)" 1 "$kind: files after"
    is "$(json one.out/$kind/snapshots/000002.json 'shards.0.name' | sed 's/.*\.//')" "$(json one.out/$kind/snapshots/000001.json 'shards.0.name' | sed 's/.*\.//')" "$kind: its suffix"
done
is "$(files one.out/folders/snapshots/000002.json)" 2 'files after, one a folder'
[ -z "$(find one.out -name '.tmp-*')" ] || fail 'something is left in the making'

# A file that was written again says of its columns what the first ones said, and is compressed in the same way.
if "$PYTHON" -c 'import pyarrow.parquet' 2>/dev/null; then
    "$PYTHON" - <<'P' || fail 'another schema, or other settings'
import glob, pyarrow.parquet as pq, pyarrow.ipc as ipc
files = [pq.ParquetFile(sorted(glob.glob(f"one.out/parquet/v00000{n}/*"))[0]) for n in (1, 2)]
assert files[0].metadata.metadata == files[1].metadata.metadata
assert files[0].schema.equals(files[1].schema)
assert {f.metadata.row_group(0).column(0).compression for f in files} == {"GZIP"}
assert files[1].metadata.num_row_groups > 5
schemas = [ipc.open_file(sorted(glob.glob(f"one.out/arrow/v00000{n}/*"))[0]).schema for n in (1, 2)]
assert schemas[0].equals(schemas[1], check_metadata=True)
P
fi

# The pipeline's own run publishes nothing, and knows the columns of a compacted one.
run one
land one.out
is "$(newest one.out/parquet)" 2 'snapshots after an unchanged run'

# Rows by their ids: only these go, and only their files are written again.
run two
printf '3-7\n24-150\n11-1\nnobody\n' >ids
for kind in parquet arrow stream folders; do
    data=$(place two.out)/$kind
    rows $kind "$data@1" before
    grep -v -e '"id":"3-7"' -e '"id":"24-150"' -e '"id":"11-1"' before >expected
    expect 1 "$SLUICE" verify "$data" --absent ids
    expect 0 "$SLUICE" remove "$data" --ids ids
    says '3 rows of 3600 removed'
    rows $kind "$data@2" after
    cmp expected after >&2 || fail "$kind: other rows than the three are gone"
    expect 0 "$SLUICE" verify "$data" --all
    expect 0 "$SLUICE" remove "$data" --ids ids --purge --run "$(place two.run)"
    rows $kind "$data@1" after
    cmp expected after >&2 || fail "$kind: the first snapshot has other rows"
    expect 0 "$SLUICE" verify "$data" --all
done
expect 0 "$SLUICE" verify "$(place two.out)/parquet" --absent ids --run "$(place two.run)"
expect 2 "$SLUICE" remove "$(place two.out)/arrow" --ids ids --column nobody
says "no row of"
# What is nested is found by its path.
printf '77\n' >numbers
expect 0 "$SLUICE" remove "$(place one.out)/parquet" --ids numbers --column meta.a --dry-run
says '24 rows of 3600 would be removed'
# The run does not bring them back.
run two
land two.out
rows parquet "$PWD/two.out/parquet" after
grep -q -e '"id":"3-7"' after && fail 'the row is back'

# The same bytes again, whatever is killed on the way.
for workers in 1 5; do
    run w$workers --workers $workers
    expect 0 "$SLUICE" compact "$(place w$workers.out)/parquet"
    land w$workers.out
    same one.out/parquet/data w$workers.out/parquet/data "with $workers workers"
done
run cut
keep cut.out
mend() {
    "$SLUICE" compact "$(place cut.out)/parquet" && "$SLUICE" remove "$(place cut.out)/parquet" --ids ids --in "$(place cut.out)/none"
}
expect 0 "$SLUICE" remove "$(place w1.out)/parquet" --ids ids --in "$(place w1.out)/none"
land w1.out
kills=${KILLS:-12}
[ -z "${FULL-}" ] || kills=200
killed=0
seed=0
old=0
while [ "$killed" -lt "$kills" ]; do
    seed=$((seed + 1))
    [ "$seed" -le $((kills * 6)) ] || fail "only $killed of $seed seeds killed it"
    back cut.out
    may_be_killed "$seed:${WITHIN:-400}" mend
    land cut.out
    case $(newest cut.out/parquet) in
    1) old=$((old + 1)) ;;
    2 | 3) ;;
    *) fail "seed $seed: snapshot $(newest cut.out/parquet)" ;;
    esac
    expect 0 "$SLUICE" verify "$(place cut.out)/parquet@1"
    expect 0 mend
    land cut.out
    same w1.out/parquet cut.out/parquet "after seed $seed"
done
[ "$old" -gt 0 ] && [ "$old" -lt "$seed" ] || fail "$old of $seed kills left the old snapshot"
echo "$old of $seed kills left the old snapshot"
