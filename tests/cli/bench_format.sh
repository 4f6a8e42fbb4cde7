# bench_format.sh - bench-format: the same rows as three formats, whatever they came from; nothing is left behind.
. "$SRC/tests/lib.sh"
[ -e "$BUILD/plugins/columnar.so" ] || skip 'the plugin columnar is not built'

perl -e 'for (1 .. 5000) { printf "{\"id\":\"d%d\",\"text\":\"text %d %s\",\"n\":%d}\n", $_, $_, "word " x ($_ % 17), $_ * 7 % 100 }' >docs.jsonl
cp docs.jsonl more.jsonl
expect 0 "$SLUICE" bench-format docs.jsonl more.jsonl --json
is "$(json stdout rows)" 10000 rows
is "$(json stdout files)" 2 files
is "$(json stdout 'formats.*.format' | tr '\n' ' ')" 'parquet jsonl arrow ' formats
is "$(json stdout bytes)" $((2 * $(wc -c <docs.jsonl))) 'bytes as JSON Lines'
for bytes in $(json stdout 'formats.*.bytes'); do
    [ "$bytes" -gt 1000 ] && [ "$bytes" -lt 400000 ] || fail "a format of $bytes bytes"
done
[ -z "$(ls -A .sluice)" ] || fail "something is left: $(ls -A .sluice)"

cat >p.lua <<'L'
local s = require "sluice"
return s.pipeline { "p", s.files "docs.jsonl" | s.read_jsonl { columns = { n = "int64" } } | s.write_parquet { "out" } }
L
expect 0 "$SLUICE" run p.lua --quiet
expect 0 "$SLUICE" bench-format out/latest/*.parquet --column n
says '5000 rows of 1 file'
says "the column is 'n'"
grep -Eq '^  parquet +[0-9.]+ [kM]?B +[0-9.]+ % ' stdout || fail 'no line for parquet'

expect 0 "$SLUICE" bench-format docs.jsonl more.jsonl --bytes 1KB --json
is "$(json stdout files)" 1 'files up to --bytes'
expect 2 "$SLUICE" bench-format none.jsonl
says 'found no file none.jsonl'
expect 2 "$SLUICE" bench-format docs.jsonl out/latest/*.parquet
says 'expected files of one format'
expect 0 "$SLUICE" bench-format docs.jsonl --column n --json
is "$(json stdout column)" n 'the column'
[ -z "$(ls -A .sluice | grep tmp)" ] || fail 'something is left after an error'
