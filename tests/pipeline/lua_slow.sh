# lua_slow.sh - how much a row in Lua may take. A stage may ask for more steps than ten million, which decides rows and so is part of what
# it is. A row that lives on what costs more than is counted (long strings compared, chains of __index, removed keys) can't be judged by a
# clock, so it ends the run, named, and never becomes a bad row on one machine and a kept one on another.
. "$SRC/tests/lib.sh"

mkdir in
printf '{"id":"%s","text":"%s"}\n' 1 few 2 many 3 endless >in/1.jsonl
# write STEPS: rows of some thousand, 20 million and too many instructions
write() {
    cat >q.lua <<END_LUA
local s = require "sluice"
local turns = { few = 1000, many = 20000000, endless = math.maxinteger }
return s.pipeline { "q", max_bad = 100, s.files "in/*" | s.read_jsonl {}
  | s.filter { "f", function(doc) local n = 0 for i = 1, turns[doc.text] do n = n + 1 end end,
      $1 }
  | s.write_jsonl { "out", compression = "none" } }
END_LUA
}
# left WORDS: rows that are written
left() {
    "$SLUICE" run q.lua --quiet --run-dir "$TMP/run" >said 2>&1 || { cat said >&2; fail "$1"; }
    is "$(lines out | member text | tr '\n' ' ')" "$1 " "rows with $(sed -n 's/.*\(steps = [^ ]*\).*/\1/p' q.lua)"
}
write ''
left few
write 'steps = 100000000'
left 'few many'
is "$(json run/last.json phases.0.reused)" 0 'tasks reused with other steps'
"$SLUICE" why run --quarantine >said
grep -q 'endless loop: more than 100003584 steps' said || { cat said >&2; fail 'the message of a stage with more steps'; }
write 'steps = 10000000'
left few
is "$(json run/last.json phases.0.reused)" 1 'the default, spelled out, is the same stage'
for steps in 0 999 -5 1.5 '"many"' 1e13 '{}' true; do
    write "steps = $steps"
    expect 2 "$SLUICE" check q.lua
    says 'q.lua:4' "stage 'f': steps: found" 'expected how many a row may take'
done
# Every role has it.
cat >roles.lua <<'END_LUA'
local s = require "sluice"
local steps = 20000000
local r = s.reader { "r", steps = steps, gives = { text = "utf8" }, record = function(line) return { text = line } end }
local a = s.annotate { "a", steps = steps, adds = { k = "int64" }, function(doc) return { k = #doc.text } end }
local h = s.heuristic { "h", steps = steps, options = { max = { "float", 9 } }, measure = function(doc) return 1 end, drop = { above = "max" } }
local t = s.transform { "t", steps = steps, gives = { text = "utf8" }, row = function(doc, o, emit) emit { text = doc.text } end }
local g = s.gate { "g", steps = steps, measure = function(doc) return 1 end, judge = function() end }
local w = s.writer { "w", steps = steps, suffix = ".txt", row = function(doc) return doc.text .. "\n" end }
return s.pipeline { "roles", s.files "in/*" | r {} | a | h {} | t {} | g {} | w { "roles.out", compression = "none" } }
END_LUA
expect 0 "$SLUICE" run roles.lua --quiet
is "$(cat roles.out/latest/* | wc -l)" 3 'rows through all roles'

# ---- what no step counts ---------------------------------------------------------------------------

# SLUICE_TEST_PATIENCE is the time of a step, in ns: a fifth of a second for ten million.
SLUICE_TEST_PATIENCE=20
export SLUICE_TEST_PATIENCE
printf '{"id":"%s","text":"%s"}\n' 1 order 2 keys 3 chain 4 removed >in/1.jsonl
cat >attacks.lua <<'END_LUA'
local a, b = ("x"):rep(1000000), ("x"):rep(1000000)
local attacks = {}

function attacks.order() while true do if a < b then return end end end
function attacks.keys() local t = { [a] = 1 } while true do if t[b] == nil then return end end end
function attacks.chain()
  local t = {}
  for i = 1, 1900 do t = setmetatable({}, { __index = t }) end
  while true do if t.none then return end end
end
function attacks.removed()
  local t = {}
  for i = 1, 100000 do t["k" .. i] = i end
  for i = 1, 100000 do t["k" .. i] = nil end
  while next(t) == nil do end
end
return attacks
END_LUA
for attack in order keys chain removed; do
    cat >slow.lua <<END_LUA
local s = require "sluice"
local attacks = require "attacks"
return s.pipeline { "slow", max_bad = 100, s.files "in/*" | s.read_jsonl {}
  | s.filter { "f", function(doc) if doc.text == "$attack" then attacks[doc.text]() end end }
  | s.write_jsonl { "out", compression = "none" } }
END_LUA
    rm -rf out
    expect 2 "$SLUICE" run slow.lua --quiet --run-dir slow.run
    says "stage 'f'" 'attacks.lua:' 'the row takes more than 0.2 s' ' steps: it does what costs more' 'on_timeout = "quarantine"'
    [ ! -e out/latest ] || fail "$attack: it was published"
done
