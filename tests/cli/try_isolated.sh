# sluice try with code that may not run in the program's own process: it runs in a child, and a document that ends the child is named.
LIB=$BUILD/tests/conform/native_lib.so
if [ ! -f "$LIB" ]; then
    echo 'tests/conform/native_lib.so is not built'
    exit 77
fi
cp "$LIB" one.so
awk 'BEGIN { for (i = 0; i < 300; i++) printf "{\"id\":\"d%d\",\"text\":\"%s%s\"}\n", i, substr("eeeeeeeeee", 1, i % 10) "xxxxxxxxxx", i == 123 ? " CRASH-ME" : "" }' >s.jsonl
cat >h.lua <<'END'
local s = require "sluice"
local ffi = require "ffi"
local share = ffi.def { lib = "one.so", "double lib_crash(const char *, size_t)" }
return s.heuristic { "es", options = { max = { "float", 0.3, min = 0, max = 1 } },
  measure = function(doc) return share(doc.text) end, drop = { above = "max" } }
END
"$SLUICE" try h.lua s.jsonl --examples 1 2>err | sed -e 's/^  [0-9.]* s: .*/  SPEED/' -e 's/crash: .* (1 document/crash: HOW (1 document/'
grep -c 'its process ended: ' err >/dev/null && echo 'the death is reported'
"$SLUICE" try h.lua s.jsonl --sweep max=0.2..0.4:3 2>/dev/null | sed -n '/ max  /,$p'
