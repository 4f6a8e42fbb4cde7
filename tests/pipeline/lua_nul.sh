# lua_nul.sh - a NUL byte in a reason that a function gives: the row is refused with the place, never counted for the part before the NUL.
. "$SRC/tests/lib.sh"

mkdir in
printf '{"id":"1","text":"one"}\n{"id":"2","text":"two"}\n' >in/1.jsonl
cat >q.lua <<'END_LUA'
local s = require "sluice"
return s.pipeline { "q", max_bad = 1, s.files "in/*" | s.read_jsonl {}
  | s.filter { "f", function(doc) if doc.text == "one" then return "a\0b" end return "a" end, reasons = { "a" } }
  | s.write_jsonl { "out", compression = "none" } }
END_LUA
"$SLUICE" run q.lua --quiet --run-dir "$TMP/r" >said 2>&1 || { cat said >&2; fail 'the run'; }
"$SLUICE" why r --quarantine >said
grep -qF 'the reason "a\0..." with a NUL byte' said || { cat said >&2; fail 'the message'; }
"$SLUICE" why r --dropped >said
grep -qE 'a +1( |$)|1 +.*a' said || { cat said >&2; fail 'the other row is dropped for its reason'; }
