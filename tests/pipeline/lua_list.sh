# lua_list.sh - s.list: what it finds, that its file is part of the stage and of a frozen plan, that workers agree, and what is refused
. "$SRC/tests/lib.sh"

printf 'alpha\nbeta gamma\n##no\nÉté\nnew york city\nnew york\n#tag\nc++\n\n  spaced  \r\n' >words.txt
cat >docs.jsonl <<'L'
{"id":"1","text":"Alpha beta gamma, BETA gamma; été ÉTÉ été's alphabet"}
{"id":"2","text":"new york, new york city and new  york #tag #tags c++ c+++ spaced"}
{"id":"3","text":""}
L
cat >p.lua <<'L'
local s = require "sluice"
local words = s.list { "words.txt", fold = true, comments = "##" }
local anywhere = s.list { phrases = { "alpha", "new york" }, words = false }
local function show(doc)
  local from, to, text = words:find(doc.text, 12)
  return { v = table.concat({ table.concat(words:all(doc.text), "|"), words:count(doc.text), tostring(words:any(doc.text)), string.format("%.3f", words:share(doc.text)),
    (words:replace(doc.text, "_")), anywhere:count(doc.text), tostring(words:has("NEW york")), tostring(words:has("new")), #words, tostring(from), tostring(to), tostring(text) }, "; ") }
end
return s.pipeline { "p", s.files "docs.jsonl" | s.read_jsonl {} | s.annotate { "a", adds = { v = "utf8" }, show } | s.write_jsonl { "out", compression = "none" } }
L
expect 0 "$SLUICE" run p.lua --quiet
lines out | perl -ne 'print "$1\n" if /"v":"((?:[^"\\]|\\.)*)"/' >found
cat >expected <<'E2'
Alpha|beta gamma|BETA gamma|été|ÉTÉ|été; 6; true; 0.690; _ _, _; _ _ _'s alphabet; 1; true; false; 8; 19; 28; BETA gamma
new york|new york city|#tag|c++|c++|spaced; 6; true; 0.578; _, _ and new  york _ #tags _ _+ _; 2; true; false; 8; 39; 42; #tag
; 0; false; 0.000; ; 0; true; false; 8; nil; nil; nil
E2
cmp -s found expected || { diff found expected >&2; fail 'other matches'; }

# Its lines are part of what the stage is; a comment that changes is, too, since it is the file that is compared.
expect 0 "$SLUICE" plan p.lua
says '1 task: 1 reused'
echo 'and' >>words.txt
expect 0 "$SLUICE" plan p.lua
says "stage 'a' changed"

# A frozen plan has the list as it was.
expect 0 "$SLUICE" prepare p.lua --run-dir frozen --quiet
rm words.txt
expect 0 "$SLUICE" work frozen --quiet
lines out | grep -q 'city and new' || fail 'the frozen plan did not run'
[ "$(json frozen/last.json state 2>/dev/null || echo finished)" = finished ] || fail 'the frozen plan failed'
seq 1 20000 | sed 's/^/word/' >words.txt

# Many rows, all workers: same bytes.
perl -e 'srand 1; for my $n (1 .. 3000) { print qq({"id":"$n","text":"), join(" ", map { "word" . int rand 60000 } 1 .. 40), qq("}\n) }' >docs.jsonl
cat >many.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" } }
local words = s.list "words.txt"
return s.pipeline { "many", s.files { "docs.jsonl", split = "64KiB" } | s.read_jsonl {} | s.annotate { "n", adds = { n = "int64" }, function(doc) return { n = words:count(doc.text) } end }
  | s.filter { "f", function(doc) if words:share(doc.text) > 0.45 then return "listed" end end } | s.write_jsonl { a.out, compression = "none" } }
L
for workers in 1 2 5; do expect 0 "$SLUICE" run many.lua --quiet --run-dir "m$workers.run" "out=m$workers" --workers $workers; done
same m1 m2 'datasets of two workers'
same m1 m5 'datasets of five workers'
[ "$(lines m1 | wc -l)" -gt 1000 ] || fail 'too few rows'
perl -MJSON::PP -e 'my %w = map { ("word$_", 1) } 1 .. 20000; while (<STDIN>) { my $d = decode_json $_; my $n = grep { $w{$_} } split / /, $d->{text}; die "$d->{id}: $n" if $n != $d->{n} }' <<E2 || fail 'other counts'
$(lines m1)
E2

# refused DEFINITION MESSAGE
refused() {
    printf '%s\n' 'local s = require "sluice"' "local l = s.list $1" \
        'return s.pipeline { "p", s.files "docs.jsonl" | s.read_jsonl {} | s.filter { "f", function(doc) if l:any(doc.text) then return "r" end end } | s.write_jsonl { "o" } }' >x.lua
    expect 2 "$SLUICE" check x.lua
    says 'x.lua:2: ' "$2"
}
refused '"none.txt"' 'none.txt'
refused '{ "words.txt", word = true }' "unknown option 'word'; Valid: comments, fold, phrases, words"
refused '{ phrases = { "a", " b" } }' 'found string " b" at 2'
refused '{ phrases = {} }' 'the list has no phrase in it'
refused '{ "words.txt", phrases = { "a" } }' 'expected one of them'
refused '{ "words.txt", fold = 1 }' 'fold: found'
refused '{ 7 }' 's.list: found'
