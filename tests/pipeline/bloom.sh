# bloom.sh - paragraphs whose n-grams were seen before are cut out or listed, alike in every run; a filter too large for the memory is
# refused with its size; a saved filter knows what it saw, and a damaged one is no filter.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

perl -e 'my $p = sub { my $n = shift; join " ", map { "w" . (($n * 7919 + $_ * 104729) % 100003) } 1 .. 30 };
    for my $i (0 .. 199) { my @p = map { $p->($i * 5 + $_) } 0 .. 4; $p[2] = $p->(($i - 7) * 5 + 1) if $i % 10 == 9;
        printf qq({"id":"d%d","text":"%s"}\n), $i, join "\\n", @p }' >in.jsonl
cat >bloom.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, mode = { "string", "remove" }, split = { "string", "64MiB" }, use = { "string", "" } }
local docs = s.files { "in.jsonl", split = a.split } | s.read_jsonl {}
if a.mode == "save" then return s.pipeline { "bloom", docs | s.bloom_index { expected = 50000, false_positives = 1e-6 } | s.write_bloom { a.out } } end
local modes = {
  remove = { expected = 50000, false_positives = 1e-6 }, tag = { expected = 50000, false_positives = 1e-6, action = "tag" },
  large = { expected = 100000000000 }, use = { use = a.use, read_only = true },
}
local left = docs | s.bloom_paragraphs(modes[a.mode])
return s.pipeline { "bloom", left | s.write_jsonl { a.out .. "/kept", compression = "none" },
  left.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" } }
L
perl -ne '/"id":"d(\d+)","text":"(.*)"/; my @p = split /\\n/, $2; splice @p, 2, 1 if $1 % 10 == 9; print join("\\n", @p), "\n"' <in.jsonl >expected
expect 0 "$SLUICE" run bloom.lua --quiet
lines out/kept | member text >got
cmp -s expected got || fail 'other paragraphs were cut out'
for workers in 4; do
    expect 0 "$SLUICE" run bloom.lua --quiet split=64KiB out=w$workers --run-dir w$workers.run --workers $workers
    lines w$workers/kept | member text | cmp -s - got || fail "other paragraphs are cut out with $workers workers and small splits"
done
expect 0 "$SLUICE" run bloom.lua --quiet mode=tag out=tag --run-dir tag.run
is "$(lines tag/kept | grep -c '"duplicate_spans":\[\[')" 20 'documents with a span'
is "$(lines tag/kept | grep -c '"duplicate_spans":\[\]')" 180 'documents without'
# The plan says how large the filter is, and its rate.
expect 0 "$SLUICE" plan bloom.lua
says 'notes bloom {"expected":50000,"false_positives":1e-6,"bytes":'
expect 5 "$SLUICE" run bloom.lua --quiet mode=large out=large --run-dir large.run
says 'takes 114263 MiB' 'paragraph_dedup'
expect 0 "$SLUICE" run bloom.lua --quiet mode=save out=filter --run-dir save.run
file=$(echo "$TMP"/filter/latest/*.bloom)
expect 0 "$SLUICE" run bloom.lua --quiet mode=use use="$file" out=use --run-dir use.run
is "$(lines use/kept | wc -l)" 0 'documents that the filter did not see'
is "$(lines use/lost | member drop_reason | sort -u)" paragraphs_empty 'the reason'
perl -e 'local $/; open my $in, "<:raw", shift or die; my $x = <$in>; substr($x, 100, 1) ^= "\1"; print $x' "$file" >damaged
expect 2 "$SLUICE" run bloom.lua --quiet mode=use use=damaged out=damaged.out --run-dir damaged.run
says 'its checksum is another one'
