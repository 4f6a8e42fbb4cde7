# lacking.sh - libraries of Lua that scripts have not: the error names what to use instead, in the script and in a row
. "$SRC/tests/lib.sh"

printf '{"text":"one"}\n' >docs.jsonl
tail='return s.pipeline { "p", max_bad = 0, s.files "docs.jsonl" | s.read_jsonl {} | s.write_jsonl { "out" } }'
while IFS='|' read -r code advice; do
    printf '%s\n' 'local s = require "sluice"' "local x = $code" "$tail" >p.lua
    expect 2 "$SLUICE" check p.lua
    says 'p.lua:2: ' "there is no '${code%%[.( ]*}' here" "$advice"
done <<L
io.open("x")|s.files names what a pipeline reads
os.getenv "HOME"|s.args { day = { "string" } }
os.time()|day=VALUE
dofile "x.lua"|require "name"
load("return 1")|functions can be values
debug.getinfo(1)|its rows alone
coroutine.wrap(print)|once for each row
collectgarbage()|bounded by the host
L
# A value of the script's own that has such a name is its own.
printf '%s\n' 'local s = require "sluice"' 'local io = { a = 1 }' 'local x = io.b.c' "$tail" >p.lua
expect 2 "$SLUICE" check p.lua
if grep -q "there is no 'io' here" "$TMP/stderr"; then fail 'advice about a value of the script'; fi

printf '%s\n' 'local s = require "sluice"' \
    'local f = s.filter { "f", function(doc) if os.time() > 1 then return "r" end end }' \
    'return s.pipeline { "p", max_bad = 0, s.files "docs.jsonl" | s.read_jsonl {} | f | s.write_jsonl { "out" } }' >p.lua
expect 4 "$SLUICE" run p.lua --quiet
says 'p.lua:2: ' "there is no 'os' here"
