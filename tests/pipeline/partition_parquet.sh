# partition_parquet.sh - write_parquet { partition_by = … }: folders as Hive calls them, whose columns are not in the files unless they are
# kept, and are there again when the dataset is read; the same bytes for any number of workers.
# time limit: 600
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"
[ -f "$BUILD/plugins/columnar.so" ] || skip "the plugin columnar is not built: $(grep columnar "$BUILD/plugins/skipped.txt")"

mkdir in
perl -e 'srand 9; my @lang = ("en") x 6; push @lang, "de", "a/b=c", undef;
    for my $f (1 .. 4) { open my $o, ">", sprintf "in/%02d.jsonl", $f or die;
    for (1 .. 300) { my $lang = $lang[rand @lang]; $lang = !defined $lang ? "null" : "\"$lang\"";
    print $o "{\"id\":\"$f-$_\",\"text\":\"" . join(" ", map { int rand 1e9 } 1 .. 20) . "\",\"lang\":$lang,\"n\":" . int(rand 3) . "}\n" } }'
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path" }, keep = { "bool", false }, layout = { "string", "flat" }, rows = { "string", "64MiB" } }
return s.pipeline { "p", s.files { "in/*", split = "64KiB" } | s.read_jsonl { columns = { lang = "utf8", n = "int64" } } |
  s.write_parquet { a.out, partition_by = { "lang", "n" }, keep_partitions = a.keep, layout = a.layout, row_group = a.rows, shard_size = "1KiB" } }
L
cat >back.lua <<'L'
local s = require "sluice"
local a = s.args { from = { "string" }, out = { "path" }, where = { "string", "" } }
return s.pipeline { "back", s.dataset(a.from) | s.read_parquet { where = a.where ~= "" and a.where or nil, columns = { lang = "utf8", n = "int64" } } |
  s.write_jsonl { a.out, compression = "none" } }
L
go() { # NAME [OPTION...]
    _name=$1
    shift
    "$SLUICE" run p.lua --quiet --run-dir "$_name.run" "out=$_name.out" "$@"
}
key() { # rows as id, lang and number, sorted
    perl -ne '/"id":"([^"]*)"/; my $id = $1; my $l = /"lang":"([^"]*)"/ ? $1 : "-"; my $n = /"n":(\d+)/ ? $1 : "-"; print "$id $l $n\n"' |
        LC_ALL=C sort
}
cat in/* | key >expected

expect 0 go one --workers 1
is "$(find one.out/latest/ -type d -name 'n=*' | wc -l)" 12 'folders'
[ -d one.out/latest/lang=a%2Fb%3Dc/n=2 ] && [ -d one.out/latest/lang=__HIVE_DEFAULT_PARTITION__/n=0 ] || fail 'folders of other names'
for workers in 2 5; do
    expect 0 go w$workers --workers $workers --batch $((workers * 9))KiB
    same one.out w$workers.out "with $workers workers"
    same one.run/tasks w$workers.run/tasks "records with $workers workers"
done
expect 0 "$SLUICE" verify one.out
expect 0 "$SLUICE" verify one.run
file=$(find one.out/latest/lang=en/n=1/ -name '*.parquet' | head -n 1)
grep -q 'lang' "$file" && fail 'the column is in the files'
expect 0 "$SLUICE" run back.lua --quiet --run-dir back.run from=one.out out=back.out
lines back.out | key | cmp - expected || fail 'other rows are read back'
expect 0 "$SLUICE" run back.lua --quiet --run-dir where.run from=one.out out=where.out "where=lang == 'de' and n == 1"
lines where.out | key >found
grep ' de 1$' expected | cmp - found || fail 'other rows of a partition'

# Kept, and several row groups and files in a partition.
expect 0 go kept keep=true rows=4KiB
file=$(find kept.out/latest/lang=en/n=1/ -name '*.parquet' | head -n 1)
grep -q 'lang' "$file" || fail 'the column is not kept'
[ "$(find kept.out/latest/lang=en/n=1/ -name '*.parquet' | wc -l)" -gt 8 ] || fail 'too few files'
expect 0 "$SLUICE" run back.lua --quiet --run-dir kept2.run from=kept.out out=kept2.out
lines kept2.out | key | cmp - expected || fail 'other rows of columns that are kept'

expect 2 go no layout=hf
says '`partition_by` and the layout hf'
