# lua_bounds.sh - rows whose function would run, recurse, allocate or complain without end. Each ends by a count, whatever the function
# catches: the row is in quarantine with its reason, the rows beside it are judged, and the same rows fail with the same words for any
# number of workers and any size of batches. One line an attack: its name, the reason, its function.
. "$SRC/tests/lib.sh"

cat >attacks <<'END_ATTACKS'
endless         lua_endless  while true do end
for_loop        lua_endless  for i = 1, math.maxinteger do end
pcall_loop      lua_endless  while true do pcall(function() while true do end end) end
pcall_errors    lua_endless  while true do pcall(error) end
xpcall_loop     lua_endless  while true do xpcall(function() while true do end end, function() while true do end end) end
handler_loop    lua_endless  xpcall(error, function() while true do end end)
close_loop      lua_endless  local function f() local c <close> = setmetatable({}, { __close = function() while true do end end }) while true do end end while true do pcall(f) end
close_replaces  lua_endless  pcall(function() local c <close> = setmetatable({}, { __close = function() error "other" end }) while true do end end)
tostring_loop   lua_endless  error(setmetatable({}, { __tostring = function() while true do end end }))
iterator        lua_endless  for k in setmetatable({}, { __call = function() return 1 end }) do end
index_loop      lua_endless  local t = setmetatable({}, { __index = function(t, k) return k end }) while true do local x = t.x end
recurse_pcall   lua_memory   local function f(n) return 1 + f(n + 1) end while true do pcall(f, 1) end
recurse         lua_memory   local function f(n) return 1 + f(n + 1) end f(1)
recurse_c       lua_error    local function f(s) return s:gsub(".", f) end f "x"
tail_calls      lua_endless  local function f() return f() end f()
double          lua_memory   local x = "x" while true do x = x .. x end
double_pcall    lua_memory   while true do pcall(function() local x = "x" while true do x = x .. x end end) end
table           lua_memory   local t = {} while true do t[#t + 1] = {} end
table_close     lua_memory   pcall(function() local c <close> = setmetatable({}, { __close = function() error "other" end }) local t = {} while true do t[#t + 1] = {} end end)
strings         lua_memory   local t = {} for i = 1, 1e9 do t[i] = "s" .. i end
concat          lua_endless  local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(1000) .. i table.concat(t) end
rep             lua_memory   local t = {} while true do t[#t + 1] = ("x"):rep(20000000) end
rep_pcall       lua_memory   while true do pcall(string.rep, "x", 200000000) end
gsub_grows      lua_endless  local x = doc.text while true do x = x:gsub(".", "%0%0%0%0") end
format          lua_memory   local x = ("x"):rep(1000000) while true do x = string.format("%s%s", x, x) end
format_digits   lua_endless  while true do string.format("%99.99f", 1e308) end
format_many     lua_endless  while true do string.format(("%s"):rep(50), table.unpack({}, 1, 50)) end
big_error       lua_error    error(("x"):rep(5000000))
utf8_error      lua_error    error(("\u{20ac}"):rep(100000))
nul_error       lua_error    error "before\0behind"
pattern         lua_error    return (("a"):rep(2000)):find(("a?"):rep(30) .. ("a*"):rep(10) .. "b")
pattern_pcall   lua_endless  local x = ("a"):rep(2000) while true do pcall(string.find, x, ("a*"):rep(10) .. "b") end
pattern_square  lua_endless  local x = ("a"):rep(20000) while true do pcall(string.find, x, "a-b") end
gmatch          lua_endless  local x = ("a "):rep(20000) while true do for w in x:gmatch "%S+" do end end
gsub            lua_endless  local x = ("a "):rep(20000) while true do x:gsub("%S+", "%0") end
sort            lua_endless  local t = {} for i = 1, 100000 do t[i] = i * 7919 % 100003 end table.sort(t, function(a, b) for i = 1, 1000 do end return a < b end)
sort_wrong      lua_endless  local t = {} for i = 1, 1000 do t[i] = i end while true do pcall(table.sort, t, function() return true end) end
sort_invented   lua_endless  table.sort(setmetatable({}, { __len = function() return 60000000 end, __index = function() return 1 end }))
move            lua_endless  local t = {} while true do table.move({}, 1, 60000000, 1, t) end
remove          lua_endless  local t = {} for i = 1, 100000 do t[i] = i end while true do table.insert(t, 1, table.remove(t, 1)) end
unpack          lua_endless  while true do pcall(table.unpack, {}, 1, 900000) end
select          lua_endless  local function f(...) while true do select("#", ...) end end f(table.unpack({}, 1, 60000))
arguments       lua_endless  local function g() end local function f(...) while true do g(...) end end f(table.unpack({}, 1, 60000))
byte_char       lua_endless  local x = ("x"):rep(10000) while true do string.char(x:byte(1, -1)) end
pack            lua_endless  while true do string.unpack("s8", string.pack("s8", ("x"):rep(1000000))) end
utf8            lua_endless  local x = ("x"):rep(1000000) while true do utf8.len(x) utf8.offset(x, 1000000) utf8.codepoint(x, 1, 10000) end
lower           lua_endless  local x = ("x"):rep(1000000) while true do x:lower() x:reverse() x:upper() end
tonumber        lua_endless  local x = ("1"):rep(1000000) while true do tonumber(x) end
words           lua_endless  local x = ("x "):rep(10000) while true do x:n_words() doc.text:n_words(); (x .. "y"):n_lines() end
pairs           lua_endless  local t = {} for i = 1, 10000 do t["k" .. i] = i end while true do for k in pairs(t) do break end end
next            lua_endless  local t = {} for i = 1, 10000 do t["k" .. i] = i end while true do next(t, "k5") next(t, "k6") end
END_ATTACKS

{
    echo 'local s = require "sluice"'
    echo 'local attacks = {'
    sed -E 's/^([a-z0-9_]+) +(lua_[a-z]+) +(.*)$/  \1 = function(doc) \3 end,/' attacks
    echo '}'
    cat <<'END_LUA'
return s.pipeline { "bounds", max_bad = 1000,
  s.files { "in/*", split = "64KiB" } | s.read_jsonl {}
    | s.filter { "f", function(doc) local attack = attacks[doc.text] if attack then attack(doc) end if doc.text == "gone" then return "gone" end end }
    | s.write_jsonl { "out", compression = "none" } }
END_LUA
} >bounds.lua
mkdir in
# The rows beside the attacks are judged, and a row that has much to read may take more.
awk '{ printf "{\"id\":\"%s\",\"text\":\"%s\"}\n{\"id\":\"after_%s\",\"text\":\"gone\"}\n{\"id\":\"kept_%s\",\"text\":\"kept\"}\n", $1, $1, $1, $1 }' attacks >in/1.jsonl
cp in/1.jsonl in/2.jsonl
n=$(wc -l <attacks)

# go NAME OPTION...
go() {
    name=$1
    shift
    rm -rf out
    "$SLUICE" run bounds.lua --quiet --run-dir "$TMP/$name.run" "$@" >said 2>&1 || { cat said >&2; fail "the run $name"; }
    mv out "$name.out"
    "$SLUICE" why "$name.run" --quarantine --json -n 1000 >said || { cat said >&2; fail "why $name"; }
    sed -E 's/"kept":"[^"]*",//g; s/\},\{/}\n{/g' said | sed -nE 's/.*"detail":"(.*)","reason":"([a-z_]+)","row":([0-9]+),"stage":"f","task":([0-9]+).*/\4 \3 \2 \1/p' | sort -n -k1,1 -k2,2 >"$name.bad"
}
go w1 --workers 1
go w4 --workers 4 --batch 1KiB
same w1.out w4.out 'output for 1 and 4 workers'
diff w1.bad w4.bad >&2 || fail 'other rows or words with 4 workers'

is "$(cat w1.out/data/* | wc -l)" $((2 * n)) 'rows that are kept'
awk '{ print 0, 3 * (NR - 1), $2 }' attacks attacks >expected
sed -nE 's/^(0 [0-9]+ [a-z_]+) .*/\1/p' w1.bad >found
diff expected found >&2 || fail 'rows in quarantine and their reasons'

# Messages: of a sane length, whole characters, nothing cut in silence; places are those of the script.
detail() { sed -nE "s/^0 $((3 * ($(grep -nE "^$1 " attacks | cut -d: -f1) - 1))) [a-z_]+ //p" w1.bad; }
awk 'length($0) > 1200 { print "too long: " substr($0, 1, 80); bad = 1 } END { exit bad }' w1.bad >&2 || fail 'a message is too long'
case $(detail big_error) in *xxxxx*'... (5000'*' bytes)') ;; *) fail "the note behind a long error: $(detail big_error)" ;; esac
case $(detail utf8_error) in *€'... ('*' bytes)') ;; *) fail "characters are cut: $(detail utf8_error)" ;; esac
case $(detail nul_error) in *'before\\0behind') ;; *) fail "a NUL byte in an error: $(detail nul_error)" ;; esac
case $(detail pattern) in *'pattern too expensive'*) ;; *) fail "the message of a pattern: $(detail pattern)" ;; esac
case $(detail endless) in bounds.lua:3:*'endless loop: more than '*' steps') ;; *) fail "the message of a loop: $(detail endless)" ;; esac
