# dolma.sh - Dolma's taggers give what the package gave; attribute files stand line by line beside the documents, however the input is cut;
# mixing filters, replaces, and refuses rules that could never fire.
. "$SRC/tests/lib.sh"

data=$SRC/tests/data/dolma
taggers='"gopher_v1", "gopher_v2", "c4_v1", "c4_v2", "repetitions_v1", "paragraph_repetitions_v1", "pii_regex_v1", "pii_regex_v2",
  "pii_regex_with_counts_v2", "pii_regex_with_counts_fast_v2", "bytes_length_v1", "doc_count_v1", "char_length_v1", "char_length_strip_ws_v1",
  "char_length_with_paragraphs_v1", "whitespace_tokenizer_v1", "whitespace_tokenizer_with_paragraphs_v1", "uniseg_length_v1",
  "uniseg_length_paragraphs_v1", "uniseg_length_paragraphs_with_empty_v1", "uniseg_length_paragraphs_with_doc_length_v1",
  "code_redpajama_taggers_v1", "code_copyright_comments_v1", "not_alphanum_paragraph_v1"'

# Three files, the second in the order of names a large one that is cut.
mkdir docs
# parts FILE: its lines, those in the middle forty times.
parts() {
    head -n 10 "$1" >"$TMP/part.a"
    sed -n '11,31p' "$1" >"$TMP/part"
    for _ in 1 2 3 4 5 6 7 8; do cat "$TMP/part" "$TMP/part" "$TMP/part" "$TMP/part" "$TMP/part"; done >"$TMP/part.b"
    tail -n 1 "$1" >"$TMP/part.c"
}
parts "$data/attributes.jsonl"
cat part.a part.b part.c >expected
parts "$data/texts.jsonl"
for name in a b c; do cp part.$name docs/$name.jsonl; done
cat >tag.lua <<L
local s = require "sluice"
local a = s.args { out = { "path", "out" }, split = { "string", "64KiB" } }
local docs = s.files { "docs/*.jsonl", split = a.split } | s.read_jsonl {}
return s.pipeline { "tag", docs | s.dolma_tag { { $taggers }, experiment = "e", bad_words = "$data/words.txt" }
  | s.write_attributes { a.out } }
L
expect 0 "$SLUICE" run tag.lua --quiet
gzip -dc out/latest/*.gz >all
cmp all expected || { diff all expected | head -n 4 | cut -c 1-300 >&2; fail 'the attributes are not those of the package'; }
# Each file of the dataset belongs to one file of documents; those of one, put together, have its lines.
for part in out/latest/*.gz; do
    file=$("$SLUICE" trace out "$(basename "$part")" 0 | sed 's/ .*//')
    cat "$part" >>"joined.$(basename "$file").gz"
done
[ "$(ls out/latest/*.gz | wc -l)" -gt 3 ] || fail 'the large file was not cut'
for name in a b c; do
    gzip -dc "joined.$name.jsonl.gz" | sed 's/^{"id":"\([^"]*\)".*/\1/' >left
    sed 's/^{"id": "\([^"]*\)".*/\1/' "docs/$name.jsonl" >right
    cmp left right || fail "the lines of $name.jsonl and of its attributes are not the same documents"
done
expect 0 "$SLUICE" run tag.lua --quiet --workers 4 --run-dir run4 out=out4
for part in out/latest/*.gz; do cmp "$part" "out4/latest/$(basename "$part")" || fail 'another number of workers, other bytes'; done

# Taggers of models and of tokenizers.
perl "$SRC/tests/data/fasttext_model.pl" >model.bin
cp "$SRC/tests/data/tokenize/tiny_qwen.json" tokenizer.json
cat >models.lua <<L
local s = require "sluice"
local docs = s.files { "$data/more.jsonl" } | s.read_jsonl {}
local tagged = docs
for _, name in ipairs { "ft_lang_id_doc_v1", "ft_lang_id_1e2", "ft_lang_id_paragraph_v1", "ft_lang_id_en_doc_v2", "ft_lang_id_en_only_v2", "ft_lang_id_en_paragraph_v2",
    "ft_lang_id_en_paragraph_with_doc_score_v2", "jigsaw_hatespeech_document_v2", "dclm-oh-eli5", "dolma17-quality", "code_composition" } do
  tagged = tagged | s.dolma_fasttext { "model.bin", tagger = name, experiment = "e" }
end
local tokens = docs | s.dolma_tag { { "tokenizer_repetitions_v1", "paragraph_tokenizer_repetitions_v1", "tokenizer_repetitions_v2r2", "dolma_v1_tokenizer",
  "tokenizers_AI2_OLMo_v1" }, tokenizer = "tokenizer.json", experiment = "e" }
return s.pipeline { "models", tagged | s.write_attributes { "models", compression = "none" }, tokens | s.write_attributes { "tokens", compression = "none" } }
L
expect 0 "$SLUICE" run models.lua --quiet
for name in models tokens; do
    cat "$name"/latest/* >made
    cmp made "$data/$name.jsonl" || { diff made "$data/$name.jsonl" | head -n 4 | cut -c 1-400 >&2; fail "the attributes of $name are not those of the package"; }
done
# refused MESSAGE STAGE
refused() {
    printf 'local s = require "sluice"\nreturn s.pipeline { "x", s.files { "docs/a.jsonl" } | s.read_jsonl {} | %s | s.write_attributes { "x" } }\n' "$2" >refused.lua
    expect 2 "$SLUICE" run refused.lua --quiet --run-dir refused
    says "$1"
}
refused 'these taggers count tokens' 's.dolma_tag { { "tokenizer_repetitions_v1" } }'
refused "no tagger of Dolma's that asks a fastText model" 's.dolma_fasttext { "model.bin", tagger = "ft_lang" }'
refused 'another `experiment`' 's.dolma_fasttext { "model.bin", tagger = "labels" } | s.dolma_fasttext { "model.bin", tagger = "labels" }'

# A line for each document, or an error.
cat >hole.lua <<'L'
local s = require "sluice"
return s.pipeline { "hole", s.files "docs/*.jsonl" | s.read_jsonl {} | s.filter { "none_of_it", function(doc) if doc.id == "t3" then return "gone" end end }
  | s.dolma_tag { { "doc_count_v1" } } | s.write_attributes { "hole" } }
L
expect 2 "$SLUICE" run hole.lua --quiet
says 'row 3 of the input is missing before row 4'

# Mixing, by attributes of the same pipeline.
cat >mix.lua <<'L'
local s = require "sluice"
local cc = require "policies.dolma_cc"
local tagged = s.files "mix.jsonl" | s.read_jsonl {} | s.dolma_tag { cc.taggers } | s.dolma_tag { { "char_length_v1" }, experiment = "x" }
             | s.annotate { "half", function() return { half = 0.5 } end, adds = { half = "float64" } } | s.dolma_attribute { "web__model__half", score = "half" }
local named = tagged | s.dolma_mix { replace = cc.replace(), exclude = { "$.attributes[?(@.x__char_length_v1__length[0][2] > 200)]" },
  include = { "$.attributes[?(@.web__model__half[0][2] == 0.5)]" }, min_text_length = 5 }
local rules = tagged | s.dolma_mix { exclude = cc.exclude { as_published = false } }
return s.pipeline { "mix", named | s.write_jsonl { "named", columns = { "id", "text" }, compression = "none" },
  named.dropped | s.write_jsonl { "gone", columns = { "id", "drop_reason", "drop_value", "drop_limit" }, compression = "none" },
  rules.dropped | s.write_jsonl { "ruled", columns = { "id", "drop_reason", "drop_value" }, compression = "none" } }
L
perl -e 'print qq({"id":"mail","text":"Caf\xc3\xa9: write to jo\@ex.org now"}\n{"id":"short","text":" ab \xe3\x80\x80"}\n{"id":"long","text":"), "word " x 60, qq("}\n)' >mix.jsonl
expect 0 "$SLUICE" run mix.lua --quiet
is "$(cat named/latest/*)" '{"id":"mail","text":"Café: write to |||EMAIL_ADDRESS||| now"}' 'the text whose e-mail address was replaced'
cat gone/latest/* >gone.txt
is "$(cat gone.txt)" '{"id":"short","drop_reason":"too_short","drop_value":2.0,"drop_limit":5.0}
{"id":"long","drop_reason":"excluded","drop_value":300.0,"drop_limit":200.0}' 'what was dropped'
is "$(cat ruled/latest/* | wc -l)" 3 'documents that the rules of Dolma drop'

# Rules that never fire, typing errors, what is beyond the subset.
refuse() {
    cat >bad.lua <<L
local s = require "sluice"
return s.pipeline { "bad", s.files "mix.jsonl" | s.read_jsonl {} | s.dolma_tag { { "gopher_v1" } } | s.dolma_mix { $1 } | s.write_jsonl { "bad" } }
L
    expect 2 "$SLUICE" check bad.lua
    says "$2"
}
refuse 'exclude = { "$.attributes[?(@.gopher_v1__gopher_v1__fraction_of_characters_in_most_common_2gram[0][2] > 0.2)]" }' \
    "did you mean 'gopher_v1__gopher_v1__fraction_of_characters_in_most_common_2grams'?"
refuse 'include = { "$.attributes.pii.email" }' "no document has the attribute 'pii'"
refuse 'exclude = { "$.attributes[?(@.x > 1]" }' "found ']' at character 23, expected ')' or an operator"
refuse 'exclude = { "$..x" }' "expected a name behind '.'"
refuse 'exclude = { "$.attributes[?(!@.x && @.y)]" }' "expected '(' behind '!'"
refuse "replace = { '{\"span\": \"\$.attributes.x\", \"min\": 1}' }" 'expected the members span'
refuse '' 'found no rule'
refuse 'syntax = "jq", include = { ".attributes | length" }' 'of jq, paths alone are known'
