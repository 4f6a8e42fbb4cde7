# sentence_dedup.sh - runs of three sentences that occur again are cut out of the later text; what is left too short goes, and names the
# document that the first run stands in; paragraphs as well; the same bytes for any workers and splits.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

long=$(perl -e 'print join " ", map { "Sentence $_ says what nobody else ever said about the number $_ before." } "one", "two", "three", "four", "five", "six", "seven"')
cat >in.jsonl <<J
{"id":"a","text":"Alpha is here. Beta is there. Gamma is where. Delta is four."}
{"id":"b","text":"$long Alpha is here. BETA, is there!  Gamma is where. Last words."}
{"id":"c","text":"Zero. Alpha is here. Beta is there. Gamma is where."}
{"id":"d","text":"Nothing of it."}
{"id":"e","text":"Alpha is here. Beta is there. Gamma is where. Delta is four."}
{"id":"f","text":"one\n\ntwo\none\nthree"}
J
cat >dedup.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, mode = { "string", "sentences" }, split = { "string", "64MiB" } }
local docs = s.files { "in*.jsonl", split = a.split } | s.read_jsonl {}
local unique = a.mode == "sentences" and docs | s.sentence_dedup {} or docs | s.paragraph_dedup {}
return s.pipeline { "dedup", unique | s.write_jsonl { a.out .. "/kept", compression = "none" },
  unique.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" } }
L
expect 0 "$SLUICE" run dedup.lua --quiet
lines out/kept >kept
is "$(member id <kept | paste -sd ' ')" 'a b d f' 'documents that stay'
is "$(grep '"id":"b"' kept | member text)" "$long Last words." 'what is left of a text'
lines out/lost >lost
is "$(member id <lost | paste -sd ' ')" 'c e' 'documents that go'
is "$(member dup_of <lost | paste -sd ' ')" 'a a' 'what they duplicate'
is "$(member similarity <lost | paste -sd ' ')" '0.75 1.0' 'the share that was cut out'
is "$(member drop_reason <lost | paste -sd ' ')" 'sentences_too_few_words sentences_empty' 'the reasons'
expect 0 "$SLUICE" run dedup.lua --quiet mode=paragraphs out=paragraphs --run-dir paragraphs.run
is "$(lines paragraphs/kept | grep '"id":"f"' | member text)" 'one\n\ntwo\nthree' 'paragraphs'
is "$(lines paragraphs/lost | member id | paste -sd ' ')" 'e' 'a document whose paragraphs all were there'
perl -e 'my @s = map { "Word$_ stands in sentence number $_ and " . ("goes on " x ($_ % 9)) . "to its end." } 0 .. 400;
    for my $i (0 .. 299) { my $at = $i * 37 % 390; printf qq({"id":"g%d","text":"%s"}\n), $i, join " ", @s[$at .. $at + 8] }' >in2.jsonl
expect 0 "$SLUICE" run dedup.lua --quiet out=one --run-dir one.run --workers 1
[ "$(lines one/lost | wc -l)" -gt 20 ] || fail 'too little is dropped'
for workers in 4; do
    expect 0 "$SLUICE" run dedup.lua --quiet split=64KiB out=w$workers --run-dir w$workers.run --workers $workers
    for dataset in kept lost; do
        lines one/$dataset >left
        lines w$workers/$dataset >right
        cmp -s left right || fail "$dataset differs with $workers workers and small splits"
    done
done
