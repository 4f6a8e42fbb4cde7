# lua_state.sh - ways of a function in Lua to keep what a row leaves behind for the next one: through its options, upvalues, modules, the
# libraries' tables, metatables, iterators, other roles. Each ends the run, with one worker as with four, or gives the same bytes.
. "$SRC/tests/lib.sh"

mkdir in
perl -e 'for my $f (1 .. 8) { open my $out, ">", "in/$f.jsonl" or die; print $out qq({"id":"$f.$_","text":"row $_ of $f) . " and so on" x 30 . qq("}\n) for 1 .. 97 }'
cat >mod.lua <<'END'
local M = { n = 0, deep = { list = { 1, 2, 3 } } }
local count = 0
function M.up() M.n = M.n + 1 return M.n end
function M.count() count = count + 1 return count end
M.Class = {}
M.Class.__index = M.Class
function M.Class:odd() return self.n % 2 == 1 end
function M.Class.new(n) return setmetatable({ n = n }, M.Class) end
M.object = M.Class.new(3)
return M
END

# write SCRIPT: q.lua
write() {
    printf 'local s = require "sluice"\nlocal docs = s.files { "in/*", split = "64KiB" }\n%s\n' "$1" >q.lua
}

number=0
# go NAME OPTIONS... : a run in folders of its own; its status
go() {
    name=$1
    shift
    rm -rf "out" "$name.out" "$name.run"
    status=0
    "$SLUICE" run q.lua --quiet --run-dir "$TMP/$name.run" "$@" >"$name.said" 2>&1 || status=$?
    if [ -d out ]; then mv out "$name.out"; fi
    echo "$status"
}

# refused MESSAGE SCRIPT: with any number of workers, and named
refused() {
    number=$((number + 1))
    write "$2"
    for workers in 1 4; do
        is "$(go "w$workers" --workers "$workers")" 2 "$2: exit status with $workers workers"
        grep -qF -e "$1" "w$workers.said" || { cat "w$workers.said" >&2; fail "$2: the message has no '$1'"; }
        grep -qE -e '[a-z]+\.lua:[0-9]+' "w$workers.said" || fail "$2: the message names no place"
    done
}

# equal SCRIPT: it may do what it likes, the bytes are the same
equal() {
    number=$((number + 1))
    write "$1"
    is "$(go w1 --workers 1 --batch 8MiB)" 0 "$1: exit status with 1 worker ($(cat w1.said))"
    is "$(go w4 --workers 4 --batch 1KiB)" 0 "$1: exit status with 4 workers ($(cat w4.said))"
    same w1.out w4.out "$1: output"
    same w1.run/tasks w4.run/tasks "$1: records"
}

sink='| s.write_jsonl { "out", compression = "none" }'
# A filter whose function is $2 behind the declarations $1.
filter() { echo "$1 return s.pipeline { 'q', max_bad = 100000, docs | s.read_jsonl {} | s.filter { 'f', function(doc, o) $2 end, options = { n = { 'int', 3 }, list = { 'list', { 'a', 'b' } } }, reasons = { 'x' } } $sink }"; }
state() { refused "$1" "$(filter "$2" "$3")"; }
harmless() { equal "$(filter "$1" "$2")"; }

# ---- options ----
state "its 'options.seen'" '' "o.seen = (o.seen or 0) + 1 if o.seen % 2 == 0 then return 'x' end"
state "its 'options.n'" '' "o.n = o.n + 1 if o.n % 2 == 0 then return 'x' end"
state "its 'options.seen'" '' "rawset(o, 'seen', (rawget(o, 'seen') or 0) + 1) if o.seen % 2 == 0 then return 'x' end"
state "its 'options'" '' "setmetatable(o, { __index = function() return 1 end })"
state "its 'options.list.3'" '' "o.list[#o.list + 1] = doc.text if #o.list % 2 == 0 then return 'x' end"
state "its 'options.list" '' "table.insert(o.list, 1, 'c')"
state "its 'options.list.3'" '' "table.insert(o.list, 'c')"
state "its 'options.list" '' "table.remove(o.list)"
state "its 'options.list" '' "table.sort(o.list, function(a, b) return a > b end)"
state "its 'options.list" '' "table.move({ 1, 2, 3 }, 1, 3, 1, o.list)"
state "its 'options.list.1'" '' "for k in ipairs(o.list) do o.list[k] = nil end"
state "its 'options.n'" '' "o.n = o.n"
# pcall does not hide it.
state "its 'options.seen'" '' "pcall(function() o.seen = 1 end) return nil"
state "its 'options.seen'" '' "xpcall(function() o.seen = 1 end, function() return 'fine' end)"
state "its 'options.seen'" '' "pcall(pcall, rawset, o, 'seen', 1)"

# ---- upvalues ----
state "its upvalue 'n'" 'local n = 0' "n = n + 1 if n % 2 == 0 then return 'x' end"
# Back at its first value at the end of a batch, and values that compare as equal.
state "its upvalue 'on'" 'local on = false' "on = not on if on then return 'x' end"
state "its upvalue 'n'" 'local n = 1' "local was = math.type(n) n = was == 'integer' and 1.0 or 1 if was == 'float' then return 'x' end"
state "its upvalue 'z'" 'local z = 0.0' "z = -z if 1 / z > 0 then return 'x' end"
state "its upvalue 'n'" 'local n' "n = n == nil and 1 or nil if n then return 'x' end"
state "its upvalue 'n'" 'local n = 0 local function up() n = n + 1 return n end' "if up() % 2 == 0 then return 'x' end"
state "its upvalue 'n'" 'local t = { } do local n = 0 t.f = function() local function g() n = n + 1 return n end return g() end end' "if t.f() % 2 == 0 then return 'x' end"
state "its upvalue 'n'" 'local function make() local n = 0 return function() n = n + 1 return n end end local count = make()' "if count() % 2 == 0 then return 'x' end"
state "its upvalue 'f'" 'local f f = function() return 1 end' "f = function() return 2 end"
state "its upvalue '_ENV'" '' "_ENV = { x = 1 }"
state "its upvalue 't'" 'local t = {}' "t = { n = (t.n or 0) + 1 } if t.n % 2 == 0 then return 'x' end"
state "its upvalue 't.n'" 'local t = { n = 0 }' "t.n = t.n + 1 if t.n % 2 == 0 then return 'x' end"
state "its upvalue 't.on'" 'local t = { on = false }' "t.on = not t.on if t.on then return 'x' end"
state "its upvalue 't.a.b.c.1'" 'local t = { a = { b = { c = {} } } }' "local c = t.a.b.c c[1] = not c[1] if c[1] then return 'x' end"
state "its upvalue 't" 'local t = {} t[1] = { t }' "t[1][1][1][1].n = 1"
state "its upvalue 't" 'local t = {} t.k = { { } }' "next(t.k[1]) next(t) for _, v in pairs(t.k) do v.n = 1 end"
state "its upvalue 't" 'local t = setmetatable({}, { __index = { n = 0 } })' "local m = getmetatable(t) m.__index.n = m.__index.n + 1"
state "its upvalue 't" 'local t = setmetatable({}, { __index = function(self, k) rawset(self, k, #k) return rawget(self, k) end })' "return t[doc.text] % 2 == 0 and 'x' or nil"
state "its upvalue 't" 'local t = setmetatable({}, { __call = function(self) self.n = (self.n or 0) + 1 return self.n end })' "if t() % 2 == 0 then return 'x' end"
state "its upvalue 't" 'local m = { n = 0 } local t = setmetatable({}, { __newindex = m })' "t.n = m.n + 1"
state "its upvalue 't" 'local t = {} ' "setmetatable(t, { __index = { doc.text } })"
state "its upvalue 'big" 'local big = {} for i = 1, 5000 do big[i] = i end' "if big[7] == 7 then big[7] = 8 else big[7] = 7 return 'x' end"
state "its upvalue" 'local memo = {} local function once(k) if memo[k] == nil then memo[k] = #k end return memo[k] end' "once(doc.text)"

state "its upvalue 'a.k'" "local a = s.args { k = { 'int', 1 } }" "a.k = a.k + 1 if a.k % 2 == 0 then return 'x' end"
state "its upvalue 'a.z'" "local a = s.args { k = { 'int', 1 } }" "rawset(a, 'z', (rawget(a, 'z') or 0) + 1) if a.z % 2 == 0 then return 'x' end"
state "its upvalue 'c'" 'local function make() local c = 0 return { up = function(self) c = c + 1 return c end } end local one = make()' "if one:up() % 2 == 0 then return 'x' end"
state "its upvalue 'self.n'" 'local self = {} function self.f() self.n = (self.n or 0) + 1 return self.n % 2 == 0 end' "if self.f() then return 'x' end"
state "its upvalue 't.n'" 'local t = table.pack(1, 2, 3)' "t.n = t.n + 1 if t.n % 2 == 0 then return 'x' end"
state "its upvalue 't.n'" 'local t = setmetatable({}, { __close = function() end })' "local c <close> = t c.n = (c.n or 0) + 1"
state "its upvalue 't.2'" 'local t = { {}, {} }' "t[1], t[2] = t[2], t[1]"
state "its upvalue 't.a'" 'local t = { a = 1 }' "for k in pairs(t) do t[k] = nil end if t.a == nil then return 'x' end"
state "its upvalue 'm.__lt'" 'local m = { __lt = function() return true end } local t = setmetatable({}, m)' "m.__lt = function() return false end if t < t then return 'x' end"
state "its upvalue 'p.k'" 'local p = {}' "local t = setmetatable({}, { __index = function(t, k) rawset(p, k, true) return 1 end }) return t.k == 2 and 'x' or nil"
plain=$sink
sink="| h $sink"
state "its upvalue 'h.n'" "local h = s.heuristic { 'h', options = { max = { 'float', 9 } }, measure = function() return 1 end, drop = { above = 'max' }, examples = {} }" "rawset(h, 'n', 1)"
sink=$plain
state "its 'options.k'" '' "goto a ::b:: if o.k then return 'x' end goto c ::a:: o.k = true goto b ::c::"
refused "global 'coroutine'" "$(filter 'local w = coroutine.wrap(function() local n = 0 while true do n = n + 1 coroutine.yield(n) end end)' "if w() % 2 == 0 then return 'x' end")"
refused "global 'load'" "$(filter 'local f = load "local n = 0 return function() n = n + 1 return n end" ()' "if f() % 2 == 0 then return 'x' end")"

# ---- modules ----
state "requires 'mod'" '' "local m = require 'mod' if m.up() % 2 == 0 then return 'x' end"
state "requires 'mod'" "local m = require 'mod'" "if require 'mod'.up() % 2 == 0 then return 'x' end"
state "requires 'sluice'" '' "require 'sluice'.seen = 1"
state "not written in Lua" "local get = require" "get 'mod'"
state "its upvalue 'm.n'" "local m = require 'mod'" "if m.up() % 2 == 0 then return 'x' end"
state "its upvalue 'count'" "local m = require 'mod'" "if m.count() % 2 == 0 then return 'x' end"
state "'m.seen'" "local m = require 'mod'" "m.seen = (m.seen or 0) + 1 if m.seen % 2 == 0 then return 'x' end"
state ".deep.list" "local m = require 'mod'" "m.deep.list[2] = m.deep.list[2] + 1 if m.deep.list[2] % 2 == 0 then return 'x' end"
state ".Class.seen'" "local m = require 'mod'" "m.Class.seen = 1"
state ".object.n'" "local m = require 'mod'" "m.object.n = m.object.n + 1 if m.object:odd() then return 'x' end"
state ".Class.seen'" "local m = require 'mod'" "getmetatable(m.Class.new(1)).seen = 1"
state "'m.Class" "local m = require 'mod'" "rawset(getmetatable(m.Class.new(1)), '__index', { odd = function() return true end })"

# ---- globals and the library's tables ----
state "the global 'shared" 'shared = { n = 0 }' "shared.n = shared.n + 1 if shared.n % 2 == 0 then return 'x' end"
state "the global 'shared" 'shared = { n = 0 }' "_G.shared.n = 1"
state "'s.seen'" '' "rawset(s, 'seen', (rawget(s, 'seen') or 0) + 1) if s.seen % 2 == 0 then return 'x' end"
state "'s.files'" '' "if s.files then s.files = nil return 'x' end"
state "its upvalue 'docs" '' "docs.n = 1"
harmless '' "shared = (shared or 0) + 1"
harmless '' "rawset(_G, 'shared', 1)"
harmless '' "string.seen = (string.seen or 0) + 1"
harmless '' "math.pi = 3"
harmless '' "rawset(table, 'seen', 1)"
harmless '' "getmetatable('').__index = { find = 1 }"
harmless '' "setmetatable(_G, {})"
harmless '' "doc.text = 'x'"
harmless '' "rawset(doc, 'seen', 1)"
harmless '' "getmetatable(doc).__index = { text = 1 }"
harmless '' "getmetatable(doc.text:pieces 'whitespace').seen = 1"
harmless '' "if s.files('in/*').id % 2 == 0 then return 'x' end"
harmless '' "if tostring(docs | s.read_jsonl {}):find '2' then return 'x' end"
harmless '' "local x = {} for i = 1, 9 do x[i] = math.random(4) end if x[1] == 2 then return 'x' end"
# What differs from process to process, or from row to row, does not show: addresses, collected memory, orders, clocks, errors.
harmless '' "if tostring({}):find '[02468ace]$' then return 'x' end"
harmless '' "string.format('%p', {})"
harmless '' "error({})"
harmless '' "local t = {} for i = 1, 20 do t[{}] = i end local _, v = next(t) if v % 2 == 0 then return 'x' end"
harmless '' "local w = setmetatable({}, { __mode = 'k' }) w[{}] = 1 for i = 1, 200 do local t = { i } end if next(w) then return 'x' end"
harmless '' "local n = 0 setmetatable({}, { __gc = function() n = 1 end }) for i = 1, 300 do local t = { i } end if n == 1 then return 'x' end"
harmless '' "local t = {} for i = 1, 50 do t['k' .. i] = i end for i = 1, 40 do t['k' .. i] = nil end local o = '' for k in pairs(t) do o = o .. k end error(o)"
harmless '' "local t = {} for i = 1, 3000 do t[i] = { k = i % 3, i = i } end table.sort(t, function(a, b) return a.k < b.k end) if t[1].i % 2 == 0 then return 'x' end"
harmless '' "local k = tonumber(doc.text:match('%d+')) if k % 24 == 0 then local t = {} for i = 1, 200000 + k * 300 do t[i] = {} end end"
harmless '' "local k = tonumber(doc.text:match('%d+')) if k % 24 == 0 then local n = 0 for i = 1, 3000000 + k * 30000 do n = n + 1 end end"
harmless '' "if (collectgarbage or os or debug or io or warn) ~= nil then return 'x' end"
harmless '' "local w = coroutine.wrap(function() coroutine.yield(1) end) w()"

# ---- what keeps a state of its own, and what a row may well do ----
refused "not written in Lua" "$(filter "local it = ('a b c'):gmatch '%a'" "if it() == nil then return 'x' end")"
refused "not written in Lua" "$(filter "local it, t, k = pairs { a = 1, b = 2 }" "if it(t, k) == nil then return 'x' end")"
refused "userdata" "$(filter "local p = ('a b'):pieces 'whitespace'" "if #p == 2 then return 'x' end")"
harmless "local words = { a = 1, row = 2, list = { 'x', 'y' } }" "local n = 0
  for k, v in pairs(words) do n = n + #k end for i, v in ipairs(words.list) do n = n + i end
  for k in next, words do n = n + 1 end for i = 1, #words.list do n = n + rawlen(words.list) end
  assert(n == 20, n) assert(rawget(words, 'a') == 1 and rawget(words, 'b') == nil) assert(table.concat(words.list, ',') == 'x,y')
  assert(select('#', table.unpack(words.list)) == 2) assert(getmetatable(words) == nil) assert(next({}) == nil and next(words) == 'a')
  local copy = table.move(words.list, 1, 2, 1, {}) table.sort(copy, function(a, b) return a > b end) assert(copy[1] == 'y')
  if words[doc.text:match '%a+'] == 2 and #doc.text % 2 == 0 then return 'x' end"
harmless "local m = require 'mod' local Point = {} Point.__index = Point Point.__eq = function(a, b) return a.x == b.x end
  function Point.new(x) return setmetatable({ x = x }, Point) end local zero = Point.new(0) local callable = setmetatable({}, { __call = function(self, x) return x + 1 end,
  __len = function() return 7 end, __index = function(self, k) return k .. '!' end, __tostring = function() return 'it' end })" "
  assert(Point.new(0) == zero and getmetatable(Point.new(1)) == Point and getmetatable(zero) == Point) local p = Point.new(1) p.x = p.x + 1 assert(p.x == 2)
  assert(callable(1) == 2 and #callable == 7 and callable.k == 'k!' and tostring(callable) == 'it') assert(m.Class.new(3):odd() and m.object:odd())
  local sub = setmetatable({}, { __index = m.Class }) assert(sub.odd == m.Class.odd) if p.x ~= 2 then return 'x' end"

# ---- other roles ----
for run in 1 2; do
    keeps=$([ $run = 1 ] && echo 'n = n + 1' || echo 'o.n = 2')
    name=$([ $run = 1 ] && echo "its upvalue 'n'" || echo "its 'options.n'")
    refused "$name" "local n = 0 return s.pipeline { 'q', docs | s.read_jsonl {} | s.annotate { 'a', function(doc, o) $keeps return { k = n } end, options = { n = { 'int', 1 } }, adds = { k = 'int64' } } $sink }"
    refused "$name" "local n = 0 local h = s.heuristic { 'h', options = { n = { 'int', 1 }, max = { 'float', 9 } }, measure = function(doc, o) $keeps return n % 11 end, drop = { above = 'max' }, examples = {} }
      return s.pipeline { 'q', docs | s.read_jsonl {} | h {} $sink }"
    refused "$name" "local n = 0 local t = s.transform { 't', gives = { text = 'utf8' }, options = { n = { 'int', 1 } }, row = function(doc, o, emit) $keeps emit { text = doc.text .. n } end }
      return s.pipeline { 'q', docs | s.read_jsonl {} | t {} $sink }"
    refused "$name" "local n = 0 local r = s.reader { 'r', gives = { text = 'utf8' }, options = { n = { 'int', 1 } }, record = function(line, o) $keeps return { text = line .. n } end }
      return s.pipeline { 'q', docs | r {} $sink }"
    refused "$name" "local n = 0 local g = s.gate { 'g', options = { n = { 'int', 1 } }, measure = function(doc, o) $keeps return n end, judge = function(sum) return 'pass' end }
      return s.pipeline { 'q', docs | s.read_jsonl {} | g {} $sink }"
    refused "$name" "local n = 0 local w = s.writer { 'w', suffix = '.txt', options = { n = { 'int', 1 } }, row = function(doc, o) $keeps return doc.text .. n .. '\\n' end }
      return s.pipeline { 'q', docs | s.read_jsonl {} | w { 'out' } }"
done
# What a stage returns may be a table that all rows share, or hold one.
equal "local same = { k = 1, l = { 1, 2 } } return s.pipeline { 'q', docs | s.read_jsonl {} | s.annotate { 'a', function(doc) return same end, adds = { k = 'int64', l = 'list<int64>' } } $sink }"
is "$(lines w1.out | grep -c '"l":\[1,2\]')" 776 'rows with the columns of a shared table'

# With run = "ordered" a stage may keep what it likes.
equal "local n = 0 return s.pipeline { 'q', docs | s.read_jsonl {} | s.filter { 'f', function(doc, o) n = n + 1 o.n = (o.n or 0) + 1 if (n + o.n) % 6 == 0 then return 'x' end end, options = { n = { 'int', 3 } }, run = 'ordered', reasons = { 'x' } } $sink }"
[ "$number" -ge 80 ] || fail "only $number ways were tried"
