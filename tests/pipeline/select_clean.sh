# select_clean.sh - the stages that choose and clean documents by lists, patterns, chance and models, in one pipeline: who is dropped
# and why, what texts become, and that workers and splits change nothing but where a stage says so.
. "$SRC/tests/lib.sh"

perl "$SRC/tests/data/fasttext_model.pl" >model.bin
printf 'bad.com\n' | gzip >domains.gz
printf 'naughty\nvery naughty\n' >words
printf 'word,count\nthe,900\nand,100\n' >frequencies.csv
printf 'com\norg\n' >suffixes
{
    printf '%s\n' '{"id":"1","url":"http://www.bad.com/","text":"the and"}' \
        '{"id":"2","url":"http://good.com/live-chat","text":"the and"}' \
        '{"id":"3","url":"http://good.com/","text":"der und die"}' \
        '{"id":"4","url":"http://good.com/a","text":"the Naughty. and"}' \
        '{"id":"5","url":"http://good.com/a","text":"the COPYRIGHT and"}' \
        '{"id":"6","url":"http://good.com/a","text":"of of of"}' \
        '{"id":"7","url":"http://good.com/a","text":"the a@b.com and\n***\nthe 8.8.8.8\n"}'
    # 300 documents of a kilobyte each, so that there are several splits.
    perl -e 'my $pad = "-" x 1000; print qq({"id":"$_","url":"http://good.com/$_","text":"the and u$_\@x.org","pad":"$pad"}\n) for 100 .. 399'
} >docs.jsonl

cat >all.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, split = { "size", "1MiB" } }
local docs = s.files { "docs.jsonl", split = a.split } | s.read_jsonl { columns = { url = "utf8" } }
local kept = docs | s.url_filter { domains = "domains.gz", suffixes = "suffixes", extra_soft_words = { "live", "chat" } }
  | s.language { "model.bin", languages = { "en" } } | s.c4_badwords { en = "words" } | s.regex { "(?i)copyright" }
  | s.unigram_log_prob { "frequencies.csv", threshold = -15, words = "whitespace" } | s.pii { email_replacement = { "<e>", "<f>" }, ip_replacement = { "<i>" } }
  | s.symbol_lines {} | s.sampler { 0.5, seed = 3 }
return s.pipeline { "all", kept | s.write_jsonl { a.out .. "/kept", compression = "none" },
  kept.dropped | s.write_jsonl { a.out .. "/dropped", compression = "none" } }
L
expect 0 "$SLUICE" run all.lua --quiet --run-dir run
lines out/dropped >dropped
lines out/kept >kept
head -n 6 dropped >six
is "$(member id <six | tr '\n' ' ')" '1 2 3 4 5 6 ' 'the first six documents are dropped'
is "$(member drop_reason <six | tr '\n' ' ')" 'domain soft_blacklisted language document_removed_with_badwords regex unigram_log_prob ' 'their reasons'
cat kept dropped | grep '"id":"7"' | member text >text
is "$(cat text)" 'the <f> and\nthe <i>' 'a cleaned text'
n=$(wc -l <kept)
if [ "$n" -le 110 ] || [ "$n" -ge 190 ]; then fail "the sampler kept $n of 301"; fi
if ! grep -q '<e>' kept || ! grep -q '<f>' kept; then fail 'one of the replacements is never chosen'; fi
for how in '1 64KiB' '4 64KiB'; do
    # shellcheck disable=SC2086
    set -- $how
    expect 0 "$SLUICE" run all.lua --quiet --run-dir "run$1$2" "out=out$1$2" "split=$2" --workers "$1"
    lines "out$1$2/kept" >right
    cmp -s kept right || fail "workers $1, splits of $2: other documents"
done

# The peers' ways follow the order of rows: two words in turn.
cat >peer.lua <<'L'
local s = require "sluice"
local docs = s.files { "docs.jsonl" } | s.read_jsonl {} | s.pii_datatrove {} | s.sampler_datatrove { 1.0 }
return s.pipeline { "peer", docs | s.write_jsonl { "peer", compression = "none" } }
L
expect 0 "$SLUICE" run peer.lua --quiet --run-dir run.peer --workers 3
lines peer | sed -n '8,$p' | grep -n 'email@example.com' | cut -d: -f1 | awk '$1 % 2 != 0' >odd
[ ! -s odd ] || fail 'the words are not taken in turn'
is "$(lines peer | grep -c 'firstname.lastname@example.org')" 150 'every second address'

# What is wrong with options and files is said before any data is read.
bad() {
    stage=$1
    shift
    printf 'local s = require "sluice"\nlocal d = s.files { "docs.jsonl" } | s.read_jsonl { columns = { url = "utf8" } } | s.%s\nreturn s.pipeline { "b", d | s.write_jsonl { "b" } }\n' "$stage" >bad.lua
    expect 2 "$SLUICE" check bad.lua
    says "$@"
}
bad 'url_filter {}' 'found no list at all'
bad 'url_filter { extra_domains = { "x" }, suffixes = "model.bin" }' 'found bytes that are no UTF-8'
bad 'language { "words" }' 'no usable fastText model' 'magic number'
bad 'language { "model.bin", languages = { "xx" } }' "no label 'xx'" 'en, de'
bad 'fasttext_filter { "model.bin", keep_labels = { en = 0.5 }, remove_labels = { de = 0.5 } }' 'expected one of them'
bad 'fasttext_filter { "model.bin", keep_labels = { en = "much" } }' 'expected a number'
bad 'fasttext_filter { "model.bin", columns = { fr = "french" } }' "no label 'fr'"
bad 'c4_badwords {}' 'found no list'
bad 'regex { "(" }' 'no regular expression' 'byte 1'
bad 'unigram_log_prob { "words" }' 'line 1' 'columns word and count'
bad 'pii { email_replacement = {} }' 'found no replacement'
bad 'symbol_lines { symbols = { "ab" } }' 'not one character'

# A row that can't be judged is set aside, never passed.
printf '%s\n' '{"id":"1","text":"no url"}' '{"id":"2","url":"http://a.com","text":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}' >docs.jsonl
cat >aside.lua <<'L'
local s = require "sluice"
local docs = s.files { "docs.jsonl" } | s.read_jsonl { columns = { url = "utf8" } }
local d = docs | s.url_filter { extra_urls = { "x" } } | s.regex { "^(a+)+b|^(a|aa)+$c", match_limit = 1000, jit = false }
return s.pipeline { "aside", d | s.write_jsonl { "aside", compression = "none" } }
L
expect 4 "$SLUICE" run aside.lua --quiet --run-dir run.aside
says "2 of 2 records" no_url

# Names that stages had before.
printf '%s\n' 'local s = require "sluice"' 'return s.pipeline { "old", s.files "in/*" | s.read_jsonl {} | s.pii_peer {} | s.sampler_peer { rate = 0.5 } | s.write_jsonl { "old" } }' >old.lua
mkdir -p in && printf '{"id":"a","text":"x"}\n' >in/a.jsonl
expect 0 "$SLUICE" check old.lua
expect 0 "$SLUICE" inspect c4_badwords_peer
says 'c4_badwords_datatrove 1'
