# stats.sh - statistics of a corpus: the numbers are those that a few lines of perl find, and neither splits, partitions nor workers show in them.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=4 docs=120 dup=10 near=0 short=10 lorem=0 >made || fail 'no corpus'
# No text, no value to group by, text beyond ASCII.
printf '%s\n' '{"id":"x1","text":""}' '{"id":"x2","text":"caf\u00e9 \ud83d\ude00","kind":"a|b\n\u0001\"c\\"}' '{"id":"x3","text":"one\n\ntwo.","kind":"odd","worth":0.5}' >corpus/x.jsonl

cat >stats.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, split = { "string", "64KiB" }, partitions = { "int", 32 } }
local docs = s.files { "corpus/*", split = a.split } | s.read_jsonl { columns = { kind = "utf8", worth = "float64" } }
local kept = docs | s.filter { "short", function(doc) if doc.kind == "short" then return "short" end end, needs = { "kind" } }
return s.pipeline { "stats",
  kept | s.statistics { words = "whitespace", sentences = "marks", groups = { "summary", "histogram", "kind" }, contamination = { "the", "of" },
    partitions = a.partitions, round = 1 } | s.write_stats { a.out .. "/stats", rows = 2 },
  kept | s.write_jsonl { a.out .. "/docs", compression = "none" } }
L
expect 0 "$SLUICE" run stats.lua --quiet --run-dir run
lines out/docs >docs
documents=$(wc -l <docs)
[ "$documents" -gt 300 ] || fail "too few documents: $documents"
cat out/stats/latest/*.stats.json >stats.json
cat out/stats/latest/*.report.md >report.md

# What perl counts: "name value" a line.
perl -ne 'my ($t) = /"text":"((?:[^"\\]|\\.)*)"/ or die; my %e = (n => "\n", t => "\t", r => "\r", b => "\b", f => "\f");
    $t =~ s/\\(?:u(....)|(.))/defined $1 ? chr hex $1 : $e{$2} || $2/ge; utf8::decode($t); my @w = split " ", $t; my @l = split /\n/, $t, -1;
    @l = ("") unless @l; my @p = grep { /\S/ } split /\n\n/, $t; my %seen;
    $n{documents}++; $n{length} += length $t; $n{n_words} += @w; $n{n_lines} += @l; $n{n_paragraphs} += @p;
    $n{short_words} += @w ? (grep { length($_) <= 3 } @w) / @w : 0; $n{types} += @w ? (grep { !$seen{$_}++ } @w) / @w : 0;
    $n{longest} = length $t if length $t > ($n{longest} || 0);
    END { printf "%s %.9g\n", $_, $n{$_} for sort keys %n }' docs >expected
cat >names <<'N'
documents summary.length.summary.n
length summary.length.summary.total
longest summary.length.summary.max
n_lines summary.n_lines.summary.total
n_paragraphs summary.n_paragraphs.summary.total
n_words summary.n_words.summary.total
short_words summary.short_word_ratio_3.summary.total
types summary.type_token_ratio.summary.total
N
# shellcheck disable=SC2046
json stats.json $(cut -d ' ' -f 2 names) >values || fail 'a statistic is missing'
cut -d ' ' -f 1 names | paste -d ' ' - values | perl -ne 'printf "%s %.9g\n", split' >found
cmp -s expected found || { diff expected found >&2; fail 'the statistics are not those of the documents'; }
# Every group adds up to all documents; what a row lacks is no document of that statistic.
json stats.json 'kind.length.*.n' >kinds
is "$(sum <kinds)" "$documents" 'documents of all kinds'
is "$(json stats.json 'histogram.n_words.*.n' 'summary.n_words.summary.n' | sum)" $((2 * documents)) 'documents of all bins, twice'
json stats.json 'histogram.n_words__chars.*.total' >chars
is "$(sum <chars)" "$(grep -w ^length expected | cut -d ' ' -f 2)" 'characters of all bins'
is "$(json stats.json summary.worth.summary.n kind.worth.odd.mean | tr '\n' ' ')" '1 0.5 ' 'what one document has'
grep -q "^$documents documents\\.\$" report.md || fail 'the page does not say how many documents there are'
grep -q '^## By kind$' report.md || fail 'the page has no kinds'
is "$(sed -n '/^## By kind/,$p' report.md | grep -c '^| .*%')" 2 'rows of the table of kinds'

expect 0 "$SLUICE" run stats.lua --quiet --run-dir large out=large split=64MiB partitions=3 --workers 4
cmp -s stats.json large/stats/latest/*.stats.json || fail 'the statistics differ with other splits, partitions and workers'
cmp -s report.md large/stats/latest/*.report.md || fail 'the page differs with other splits, partitions and workers'

# The groups with the most documents stay.
sed 's/rows = 2/rows = 9, top_k = 2/' stats.lua >top.lua
expect 0 "$SLUICE" run top.lua --quiet --run-dir top out=top
is "$(json top/stats/latest/*.stats.json 'kind.length.*.n' | tr '\n' ' ')" "$(head -n 2 kinds | tr '\n' ' ')" 'kinds that stay'

# Wrong options are told before anything is read.
wrong() {
    sed "s/s.statistics {.*\"of\" },/s.statistics { $1,/" stats.lua >wrong.lua
    expect 2 "$SLUICE" check wrong.lua
    shift
    says "$@"
}
wrong 'blocks = { "docs" }, words = "whitespace"' "there is no block 'docs'" 'paragraph, sentence'
wrong 'groups = { "kinds" }, words = "whitespace"' "'kinds'" "'kind'"
wrong 'words = "spacy"' spacy-en
