# sluice test: examples of stages that call functions of a library run in a child process; one that crashes there is told.
LIB=$BUILD/tests/conform/native_lib.so
[ -f "$LIB" ] || { echo 'tests/conform/native_lib.so is not built'; exit 77; }
ln -s "$LIB" lib.so
heuristic() {
    cat <<END_OF_LUA
local s = require "sluice"
local measure = require "ffi".def { lib = "lib.so", "double $2(const char *, size_t)" }
return s.heuristic { "$1", options = { max = { "float", 0.2, min = 0, max = 1 } }, measure = function(doc) return measure(doc.text) end,
  drop = { above = "max" }, examples = { { "some text", keep = false }, { "no vwls hr", keep = true }, { "$3", keep = true } } }
END_OF_LUA
}
heuristic many_e lib_share_e 'a thing so long' >many.lua
heuristic crash lib_crash 'CRASH-ME' >crash.lua
"$SLUICE" test many.lua
echo "status $?"
"$SLUICE" test many.lua crash.lua 2>&1
echo "status $?"
