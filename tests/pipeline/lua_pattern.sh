# lua_pattern.sh - regular expressions in Lua: what they find, that one which backtracks without end is the same error on any number of
# workers, what is no expression, and that another expression is another stage
. "$SRC/tests/lib.sh"

cat >docs.jsonl <<'L'
{"text":"in 1999 and 2001, été 3000"}
{"text":""}
{"text":"aéb ABC abc"}
L
# values EXPRESSION: what a Lua expression is for each text, one a line
values() {
    rm -rf run out
    cat >p.lua <<L
local s = require "sluice"
local year = s.pattern "\\\\b(19|20)\\\\d\\\\d\\\\b"
local word = s.pattern { "\\\\w+" }
local function show(...)
  local list = table.pack(...)
  for i = 1, list.n do list[i] = tostring(list[i]) end
  return table.concat(list, " ")
end
local docs = s.files "docs.jsonl" | s.read_jsonl {}
local a = s.annotate { "a", function(doc) return { v = show($1), used = year:test("2000") and word:test("x") } end, adds = { v = "utf8", used = "bool" } }
return s.pipeline { "p", max_bad = 100, docs | a | s.write_jsonl { "out", compression = "none" } }
L
    expect 0 "$SLUICE" run p.lua --quiet --run-dir run
    lines out | perl -ne 'print /"v":"((?:[^"\\]|\\.)*)"/, "|"'
}
is "$(values 'year:count(doc.text), year:test(doc.text)')" '2 true|0 false|0 false|' 'count and test'
is "$(values 'year:find(doc.text)')" '4 7 19|nil|nil|' 'find'
is "$(values 'year:find(doc.text, 5)')" '13 16 20|nil|nil|' 'find from a place'
is "$(values 'doc.text:match_first("(x)?(é)")')" '19 20 false é|nil|2 3 false é|' 'a group that takes no part'
is "$(values 'table.concat(year:all(doc.text), ",")')" '19,20|||' 'all, by a group'
is "$(values 'table.concat(word:all(doc.text), ",")')" 'in,1999,and,2001,été,3000||aéb,ABC,abc|' 'all, Unicode'
is "$(values 'word:replace(doc.text, "<$0$$>")')" '<in$> <1999$> <and$> <2001$>, <été$> <3000$> 6| 0|<aéb$> <ABC$> <abc$> 3|' 'replace'
is "$(values 'doc.text:match_count("(?i)abc"), doc.text:match_count("abc")')" '0 0|0 0|2 1|' 'case'
# Empty matches, between characters and never inside of one, as Perl and Python have them.
is "$(values 'doc.text:sub(1, 4):match_count("x*"), (doc.text:sub(1, 4):replace_matches("b*", "-"))')" '5 -i-n- -1-|1 -|4 -a-é--|' 'empty matches'
# Bytes that are no text match nothing.
is "$(values '("é"):sub(1, 1):matches("."), ("é"):sub(1, 1):match_count("")')" 'false 1|false 1|false 1|' 'half a character'

# refused EXPRESSION MESSAGE: is no expression, which check says
refused() {
    printf '%s\n' 'local s = require "sluice"' "local p = s.pattern(\"$1\")" \
        'return s.pipeline { "p", s.files "docs.jsonl" | s.read_jsonl {} | s.filter { "f", function(doc) if p:test(doc.text) then return "r" end end } | s.write_jsonl { "out" } }' >p.lua
    expect 2 "$SLUICE" check p.lua
    says 'p.lua:2: ' "$2"
}
refused '(a' 'missing closing parenthesis at its byte 3'
refused '\\C' 'is none'
refused '[z-a]' 'range out of order'
printf '%s\n' 'local s = require "sluice"' 'local p = s.pattern(7)' 'return s.pipeline { "p", s.files "docs.jsonl" | s.read_jsonl {} | s.write_jsonl { "out" } }' >p.lua
expect 2 "$SLUICE" check p.lua
says 'p.lua:2: ' 's.pattern: found number'

# One that goes back without end: an error of its rows, the same however many work.
perl -e 'for (1 .. 60) { print qq({"id":"$_","text":"), $_ % 3 == 0 ? "a" x 40 . "!" : "b", qq("}\n) }' >many.jsonl
cat >slow.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" } }
local docs = s.files { "many.jsonl", split = "64KiB" } | s.read_jsonl {}
local f = s.filter { "f", function(doc) if doc.text:matches "^(a+)+$" then return "r" end end }
return s.pipeline { "slow", max_bad = "100%", docs | f | s.write_jsonl { a.out, compression = "none" } }
L
for workers in 1 4; do
    expect 0 "$SLUICE" run slow.lua --quiet --run-dir "slow$workers" "out=slow.out$workers" --workers $workers
    is "$(json "slow$workers/last.json" quarantined)" 20 'rows that go back without end'
    is "$(lines "slow.out$workers" | wc -l)" 40 'the other rows'
done
expect 0 "$SLUICE" why slow1 --quarantine
says 'lua_error' 'takes more than 1000000 steps on this text'
same slow1/tasks slow4/tasks 'records of one and of four workers'

# Another expression is another stage.
reused() {
    printf '%s\n' 'local s = require "sluice"' "local p = s.pattern \"$1\"" \
        'return s.pipeline { "p", s.files "docs.jsonl" | s.read_jsonl {} | s.filter { "f", function(doc) if p:test(doc.text) then return "r" end end } | s.write_jsonl { "key.out" } }' >p.lua
    expect 0 "$SLUICE" run p.lua --quiet --run-dir key
    json key/last.json phases.0.reused
}
is "$(reused 'x')" 0 'the first run'
is "$(reused 'x')" 1 'the same expression'
is "$(reused 'x*')" 0 'another expression'
