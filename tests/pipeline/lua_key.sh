# lua_key.sh - what changes the key of a stage in Lua: its tokens and what it reaches; comments, spaces and line breaks do not
. "$SRC/tests/lib.sh"

printf '{"text":"one -- two"}\n{"text":"a  b"}\n' >docs.jsonl
head='local s = require "sluice"
local docs = s.files "docs.jsonl" | s.read_jsonl {}
'
tail='
return s.pipeline { "p", max_bad = 100, docs | f | s.write_jsonl { "out", compression = "none" } }'
# same NAME BEFORE AFTER, other NAME BEFORE AFTER: whether the task is reused when the script changes
reused() {
    rm -rf run out
    printf '%s%s%s\n' "$head" "$2" "$tail" >p.lua
    expect 0 "$SLUICE" run p.lua --quiet --run-dir run
    printf '%s%s%s\n' "$head" "$3" "$tail" >p.lua
    expect 0 "$SLUICE" run p.lua --quiet --run-dir run
    is "$(json run/last.json phases.0.reused)" "$4" "$1: tasks that were reused"
}
same() { reused "$1" "$2" "$3" 1; }
other() { reused "$1" "$2" "$3" 0; }
row() { printf 'local f = s.filter { "f", function(doc)\n  %s\nend }' "$1"; }

base=$(row 'if doc.text == "x" or #doc.text > 100 then return "r" end')
same 'nothing' "$base" "$base"
same 'a comment behind' "$base" "$(row 'if doc.text == "x" or #doc.text > 100 then return "r" end -- why "not')"
same 'a long comment inside' "$base" "$(row 'if doc.text == "x" --[==[ or ]] "
 ]==] or #doc.text > 100 then return "r" end')"
same 'spaces' "$base" "$(row 'if   doc . text=="x"or#doc.text>100 then
    return "r" end')"
same 'lines above' "$base" "

-- above
$base"
other 'a number' "$base" "$(row 'if doc.text == "x" or #doc.text > 101 then return "r" end')"
other 'an operator' "$base" "$(row 'if doc.text == "x" or #doc.text >= 100 then return "r" end')"
other 'a space in a string' "$(row 'if doc.text == "a b" then return "r" end')" "$(row 'if doc.text == "a  b" then return "r" end')"
other 'dashes in a string' "$(row "if doc.text == 'one -- two' then return 'r' end")" "$(row "if doc.text == 'one -- too' then return 'r' end")"
other 'a long string' "$(row 'if doc.text == [[a b]] then return "r" end')" "$(row 'if doc.text == [[a  b]] then return "r" end')"
other 'a string behind an escaped quote' "$(row 'if doc.text == "\"" or doc.text == "a b" then return "r" end')" \
    "$(row 'if doc.text == "\"" or doc.text == "a  b" then return "r" end')"
other 'what an upvalue holds' "local most = 100 $(row 'if #doc.text > most then return "r" end')" "local most = 101 $(row 'if #doc.text > most then return "r" end')"
# A function that begins on a line of which the start lies in a string or a comment: quotes there count for nothing.
other 'behind the end of a long string' 'local q = [[
" ]] local f = s.filter { "f", function(doc) if doc.text == "a b" or #q == 0 then return "r" end end }' 'local q = [[
" ]] local f = s.filter { "f", function(doc) if doc.text == "a  b" or #q == 0 then return "r" end end }'
other 'behind the end of a comment' '--[[
" ]] local f = s.filter { "f", function(doc) if doc.text == "a b" then return "r" end end }' '--[[
" ]] local f = s.filter { "f", function(doc) if doc.text == "a  b" then return "r" end end }'
other 'two minus signs apart' "$(row 'local n = - -#doc.text
  if n > 3 then return "r" end')" "$(row 'local n = --#doc.text
  3 if n > 3 then return "r" end')"
