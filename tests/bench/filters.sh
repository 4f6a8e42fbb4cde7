# The filters of FineWeb, from zstd to zstd JSON Lines: on white-space words, and its whole chain on spaCy's.
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
real
file=$TMP/in.jsonl.zst
zstd -q -3 "$REAL" -o "$file"
size=$(megabytes "$REAL")
white='{ words = "whitespace" } |'
pipeline filters "s.gopher_quality $white s.gopher_repetition $white s.fineweb_quality $white"
pipeline chain 's.gopher_repetition {} | s.gopher_quality {} | s.c4_quality {} | s.fineweb_quality {} |'

ours() { sluice_run "$TMP/filters.lua" "$file" taskset -c "$CPU"; }
generated() { sluice_run "$TMP/filters.lua" "$TMP/generated.zst" taskset -c "$CPU"; }
chain() { sluice_run "$TMP/chain.lua" "$file" taskset -c "$CPU"; }
generated_chain() { sluice_run "$TMP/chain.lua" "$TMP/generated.zst" taskset -c "$CPU"; }
peer() { once taskset -c "$CPU" sh -c "zstd -dc '$file' >/dev/null"; }
peer_generated() { once taskset -c "$CPU" sh -c "zstd -dc '$TMP/generated.zst' >/dev/null"; }

echo "$ORIGIN, $size MB of JSON Lines, 1 processor, processor time"
heading 'gopher_quality, gopher_repetition, fineweb_quality' 'zstd -dc'
versus ours peer
row 'real text' "$(rate "$size" "$LEFT_USED")" "$(rate "$size" "$RIGHT_USED")" "$(quotient "$RIGHT_USED" "$LEFT_USED")" '>= 50 MB/s'
"$GENERATE" 100000000 | zstd -q -3 >"$TMP/generated.zst"
versus generated peer_generated
row 'generated prose, nearly all kept and written' "$(rate 100 "$LEFT_USED")" "$(rate 100 "$RIGHT_USED")" "$(quotient "$RIGHT_USED" "$LEFT_USED")" '>= 50 MB/s'
heading 'the chain of FineWeb, words and sentences of spaCy' 'zstd -dc'
versus chain peer
row 'real text' "$(rate "$size" "$LEFT_USED")" "$(rate "$size" "$RIGHT_USED")" "$(quotient "$RIGHT_USED" "$LEFT_USED")" '>= 60 MB/s'
versus generated_chain peer_generated
row 'generated prose' "$(rate 100 "$LEFT_USED")" "$(rate 100 "$RIGHT_USED")" "$(quotient "$RIGHT_USED" "$LEFT_USED")" '>= 60 MB/s'

# The same filters of datatrove, on the first megabytes.
if ! "$PYTHON" -c 'import datatrove, regex, spacy, zstandard, orjson' 2>/dev/null; then
    echo 'datatrove is not installed (pkg/setup --for bench installs it): not compared'
    exit 0
fi
head -c 20000000 "$REAL" | sed '$d' >"$TMP/head.jsonl"
zstd -q -3 "$TMP/head.jsonl" -o "$TMP/head.zst"
size=$(megabytes "$TMP/head.jsonl")

head_ours() { sluice_run "$TMP/filters.lua" "$TMP/head.zst" taskset -c "$CPU"; }

# shellcheck disable=SC2046
set -- $(taskset -c "$CPU" "$PYTHON" "$SRC/tests/bench/peer_filters.py" "$TMP/head.zst" "$TMP/theirs.zst" 1000 split)
versus head_ours head_ours
kept=$(cat "$TMP"/out/latest/* | zstd -qdc | wc -l)
heading 'the same filters, words by str.split' datatrove
row "the first $size MB: $3 of $2 documents kept, by us $kept" "$(rate "$size" "$LEFT_USED")" "$(rate "$size" "$4")" "$(quotient "$4" "$LEFT_USED")"
[ "$kept" = "$3" ] || fail "datatrove keeps $3 documents, we keep $kept"

head_chain() { sluice_run "$TMP/chain.lua" "$TMP/head.zst" taskset -c "$CPU"; }

# shellcheck disable=SC2046
set -- $(taskset -c "$CPU" "$PYTHON" "$SRC/tests/bench/peer_filters.py" "$TMP/head.zst" "$TMP/theirs.zst" 1000 spacy)
versus head_chain head_chain
kept=$(cat "$TMP"/out/latest/* | zstd -qdc | wc -l)
heading 'the chain of FineWeb, words and sentences of spaCy' datatrove
row "the first $size MB: $3 of $2 documents kept, by us $kept" "$(rate "$size" "$LEFT_USED")" "$(rate "$size" "$4")" "$(quotient "$4" "$LEFT_USED")" '>= 100'
[ "$kept" = "$3" ] || fail "datatrove keeps $3 documents, we keep $kept"

# All filters of FineWeb, from the URL to the bad words; the head gets URLs, and the lists are the peer's.
model=$SLUICE_TEST_DATA/lid.176.ftz
if [ ! -f "$model" ] || ! "$PYTHON" -c 'import fasttext, tldextract, nltk' 2>/dev/null; then
    echo 'lid.176.ftz, fasttext or tldextract is not there: the whole chain is not compared'
    exit 0
fi
awk '{ sub(/^{/, "{\"url\":\"https://docs" NR % 997 ".example.org/page/" NR "\","); print }' "$TMP/head.jsonl" | zstd -q -3 >"$TMP/urls.zst"
# shellcheck disable=SC2046
set -- $(taskset -c "$CPU" "$PYTHON" "$SRC/tests/bench/peer_filters.py" "$TMP/urls.zst" "$TMP/theirs.zst" 1000 whole "$model" "$TMP/lists")
cat >"$TMP/whole.lua" <<LUA
local s = require "sluice"
local a = s.args { input = { "glob", "in.jsonl", doc = "what to read" }, out = { "path", "out", doc = "where to write" } }
local l = "$TMP/lists/"
return s.pipeline { "whole", s.files { a.input } | s.read_jsonl { columns = { url = "utf8" } }
  | s.url_filter { domains = l .. "domains", urls = l .. "urls", banned_words = l .. "banned_words", soft_banned_words = l .. "soft_banned_words",
                   banned_subwords = l .. "banned_subwords", suffixes = l .. "suffixes" }
  | s.language { "$model", languages = "en" } | s.gopher_repetition {} | s.gopher_quality {} | s.c4_quality { filter_no_terminal_punct = false }
  | s.fineweb_quality {} | s.c4_badwords { en = l .. "banned_words", fail_on_missing_language = false } | s.write_jsonl { a.out } }
LUA
head_whole() { sluice_run "$TMP/whole.lua" "$TMP/urls.zst" taskset -c "$CPU"; }
zstd -qdc "$TMP/urls.zst" | head -n 1 | zstd -q >"$TMP/one.zst" # loading the lists and the model; the peer's clock starts behind that
one_whole() { sluice_run "$TMP/whole.lua" "$TMP/one.zst" taskset -c "$CPU"; }
one_language() { sluice_run "$TMP/language.lua" "$TMP/one.zst" taskset -c "$CPU"; }
net() { awk -v a="$RIGHT_USED" -v b="$LEFT_USED" 'BEGIN { print a - b }'; }
cat >"$TMP/language.lua" <<LUA
local s = require "sluice"
local a = s.args { input = { "glob", "in.jsonl", doc = "what to read" }, out = { "path", "out", doc = "where to write" } }
return s.pipeline { "language", s.files { a.input } | s.read_jsonl {} | s.language { "$model", languages = "en" } | s.write_jsonl { a.out } }
LUA
versus one_whole head_whole # the documents of the head are there afterwards
kept=$(cat "$TMP"/out/latest/* | zstd -qdc | wc -l)
used=$(net)
heading 'URL, language, the chain of FineWeb, bad words' datatrove
row "the first $size MB: $3 of $2 documents kept, by us $kept" "$(rate "$size" "$used")" "$(rate "$size" "$4")" "$(quotient "$4" "$used")" '>= 100'
[ "$kept" = "$3" ] || fail "datatrove keeps $3 documents, we keep $kept"

# Language identification alone, against fastText itself on the same lines.
head_language() { sluice_run "$TMP/language.lua" "$TMP/head.zst" taskset -c "$CPU"; }
fasttext=$(taskset -c "$CPU" "$PYTHON" "$SRC/tests/bench/peer_language.py" "$TMP/head.jsonl" "$model")
versus one_language head_language
used=$(net)
heading 'language (lid.176.ftz), from JSON Lines to JSON Lines' 'fasttext (C++)'
row "the first $size MB, labels and scores of all languages" "$(rate "$size" "$used")" "$(rate "$size" "$fasttext")" "$(quotient "$fasttext" "$used")" '>= 1'
