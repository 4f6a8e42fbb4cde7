# parquet_pages.sh - read_parquet: texts of pages of all kinds that one column can have: a dictionary larger than a batch, pages that refer
# to it, plain ones behind them, nulls, empty texts, pages of few rows and of one; compressed and not; the same on any number of workers.
. "$SRC/tests/lib.sh"
[ -f "$BUILD/plugins/columnar.so" ] || skip "the plugin columnar is not built: $(grep columnar "$BUILD/plugins/skipped.txt")"

cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { from = { "string", "" }, to = { "string", "jsonl" }, out = { "path", "out" }, page = { "size", "1MiB" }, compression = { "string", "zstd" },
  group = { "size", "64MiB" } }
local docs = a.from:find "jsonl" and s.files { a.from } | s.read_jsonl { columns = { note = "string" }, missing = "allow" } or
  s.dataset(a.from) | s.read_parquet {}
return s.pipeline { "p", docs | (a.to == "jsonl" and s.write_jsonl { a.out, compression = "none" } or
  s.write_parquet { a.out, page = a.page, compression = a.compression, row_group = a.group }) }
L
run() {
    rm -rf last
    expect 0 "$SLUICE" run p.lua --quiet --run-dir last "$@"
}

# Texts that repeat themselves, so that they get a dictionary; then others until it is full (1 MiB); then plain ones, and one of 3 MB.
perl -MDigest::MD5=md5_hex -e '
  my @few = map { sprintf("%04d ", $_) x 11 } 1 .. 300;
  for my $n (1 .. 47000) {
      my $text = $n <= 40000 ? $few[$n * 7 % 300] : $n <= 44000 ? join(" ", map { md5_hex("$n $_") } 1 .. 12) : $n == 45000 ? "x" x 3000000 : $n % 13 == 0 ? "" : "é $n " x ($n % 300);
      my $note = $n % 5 == 0 || $n % 4000 < 1500 ? "" : sprintf(",\"note\":\"%s\"", $n % 11 == 0 ? "" : "note $n " x 5);
      print "{\"text\":\"$text\",\"id\":\"doc-$n\"$note}\n";
  }' >in.jsonl

run from=in.jsonl out=direct
lines direct >rows
[ "$(wc -l <rows)" = 47000 ] || fail "$(wc -l <rows) rows, expected 47000"
for how in 'page=1MiB compression=zstd' 'page=16KiB compression=zstd' 'page=64KiB compression=none group=4MiB'; do
    rm -rf stored
    # shellcheck disable=SC2086
    run from=in.jsonl to=parquet out=stored $how
    for workers in 1 3; do
        rm -rf back
        run --workers $workers from=stored out=back
        lines back | cmp -s - rows || fail "other rows with $how, $workers workers"
    done
done
