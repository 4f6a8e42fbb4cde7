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
echo '-- where the example stands, in a file of several stages and in a module'
cat >two.lua <<'END'
local s = require "sluice"
-- { "second", examples = { { "not this one" } } }
local first = s.filter { "first", function(doc) if doc.text:contains "[[" then return "link" end end,
  examples = { { [==[ { "second", ]] ]==], keep = true }, { 'a \' "[[', keep = false } } }
local second = s.heuristic { "second", options = { max = { "int", 2 } }, measure = function(doc) return doc.text:n_words() end,
  drop = { above = "max" }, examples = {
    { "one", keep = true },
    { "one two three",
      keep = false },

    --[[ { } ]] { "one two three four", keep = true },
  } }
return s.pipeline { "t", s.files "in/*.jsonl" | s.read_jsonl {} | first {} | second {} | s.write_jsonl { "out" } }
END
"$SLUICE" test two.lua
echo "status $?"
"$SLUICE" test two.lua --json
echo "status $?"
echo '-- files and folders'
mkdir -p rules/more rules/.hidden
cp "$SRC/scripts/heuristics/digits.lua" rules/
sed 's/"digits"/"digits_too"/' rules/digits.lua >rules/more/b.lua
cp e.lua rules/.hidden/e.lua
echo 'return { limit = 3 }' >rules/more/helper.lua
"$SLUICE" test rules
echo "status $?"
"$SLUICE" test rules/digits.lua two.lua
echo "status $?"
cp e.lua rules/more/e.lua
"$SLUICE" test rules 2>&1
echo "status $?"
"$SLUICE" test 2>&1
echo "status $?"
"$SLUICE" test nowhere.lua 2>&1
echo "status $?"
echo '-- stages that ask servers, which the examples stand for'
cat >asks.lua <<'END'
local s = require "sluice"
return s.ask { "judge", adds = { score = "float64" },
  row = function(doc, o, ask)
    local first = ask { url = "http://localhost:8000/score", json = { text = doc.text } }
    if first.refused then return nil, "refused" end
    return { score = first.json and first.json.score or #ask { url = "http://localhost:8000/more", body = first.body }.body }
  end,
  examples = {
    { "json", answers = { { score = 0.5 } }, gives = { score = 0.5 } },
    { "two texts", answers = { "go on", "abc" }, gives = { score = 3 } },
    { "refused", answers = { 404 }, keep = false, reason = "refused" },
    { "one too few", answers = { "go on" }, gives = { score = 3 } },
    { "none", gives = { score = 3 } },
  } }
END
"$SLUICE" test asks.lua
echo "status $?"
