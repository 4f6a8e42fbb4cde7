# sluice test: examples of heuristics and filters, in modules and in pipelines; what fails, and why.
for name in digits boilerplate repetition; do
    "$SLUICE" test "$SRC/scripts/heuristics/$name.lua"
done
cat >t.lua <<'END'
local s = require "sluice"
local digits = require "heuristics.digits"
local docs = s.files "in/*.jsonl" | s.read_jsonl {} | digits {}
  | s.filter { "english", function(doc) if doc.lang ~= "en" then return "other" end end,
      examples = { { "a", lang = "en", keep = true }, { "b", lang = "de", keep = false, reason = "other" }, { "c", keep = true } } }
  | s.filter { "none", function(doc) end }
return s.pipeline { "t", docs | s.write_jsonl { "out" } }
END
"$SLUICE" test t.lua
echo "status $?"
cat >h.lua <<'END'
local s = require "sluice"
return s.heuristic { "h", options = { max = { "int", 2 } }, measure = function(doc) return doc.text:n_words() end, drop = { above = "max" },
  examples = { { "one two three", keep = true } } }
END
"$SLUICE" test h.lua
echo "status $?"
echo 'local s = require "sluice"' >n.lua
"$SLUICE" test n.lua 2>&1
echo "status $?"
echo 'return 1 +' >e.lua
"$SLUICE" test e.lua 2>&1
echo "status $?"
