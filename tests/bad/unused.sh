# unused.sh - what a script makes and does not use is refused at its line: with a forgotten `|` Lua sees two statements, and a filter would be in
# no pipeline
. "$SRC/tests/lib.sh"

mkdir in
printf '{"text":"one"}\n{"text":"two words"}\n' >in/a.jsonl
# script LINES…: a pipeline with these lines, the first of which is line 3
script() {
    {
        echo 'local s, policies = require "sluice"'
        echo 'local docs = s.files "in/*.jsonl" | s.read_jsonl {}'
        printf '%s\n' "$@"
        echo 'return s.pipeline { "p", policies = policies, docs | s.write_jsonl { "out", compression = "none" } }'
    } >p.lua
}
refused() {
    message=$1
    shift
    script "$@"
    expect 2 "$SLUICE" check p.lua
    says "p.lua:$message"
}
fine() {
    script "$@"
    expect 0 "$SLUICE" check p.lua
}

refused "3: the stage 'gopher_quality' is not used" 'local good = docs s.gopher_quality {}'
refused "3: the stage 'exact' is not used" 'local good = docs s.exact {}'
refused "4: the stage 'gopher_quality' is not used" 'docs = docs' '  s.gopher_quality {}'
refused "3: the stage 'gopher_quality|gopher_repetition' is not used" 'local rules = s.gopher_quality {} | s.gopher_repetition {}'
refused "3: the stage 'good' is not used" 'local good = s.named("good", s.gopher_quality {})'
refused "3: the stage 'short' is not used" 'local short = s.filter { "short", function(doc) if #doc.text < 3 then return "short" end end }'
refused "4: the stage 'short' is not used" 'local short = s.filter { "short", function(doc) if #doc.text < 3 then return "short" end end, options = { n = { "int", 3 } } }' \
    'short { n = 4 }' 'docs = docs | short {}'
refused "3: the composite 'rules' is not used" 'local rules = s.composite { "rules", build = function(input) return input | s.gopher_quality {} end }'
refused "4: the stage 'rules' is not used" 'local rules = s.composite { "rules", build = function(input) return input | s.gopher_quality {} end }' 'rules {}'
refused "3: the policy 'cost' is not used" 'local cost = s.policy { "cost", judge = function() end }'
refused "4: the policy 'cost' is not used" 'local cost = s.policy { "cost", judge = function() end }' 'cost {}'
refused "3: the rows of 'files_2' are not used" 'local more = s.files "in/*.jsonl"'
refused "3: the rows of 'gopher_quality' are not used" 'local good = docs | s.gopher_quality {}'

fine 'docs = docs | s.gopher_quality {}'
fine 'local rules = s.gopher_quality {} | s.gopher_repetition {}' 'docs = docs | rules'
fine 'local rules = s.composite { "rules", build = function(input) return input | s.gopher_quality {} end }' 'docs = docs | rules {}'
fine 'local cost = s.policy { "cost", judge = function() end }' 'policies = { cost {} }'
# A module may have more than one script needs.
cat >rules.lua <<'E2'
local s = require "sluice"
return {
  short = s.filter { "short", function(doc) if #doc.text < 3 then return "short" end end },
  long = s.filter { "long", function(doc) if #doc.text > 9 then return "long" end end },
  quality = s.gopher_quality {},
}
E2
fine 'local rules = require "rules"' 'docs = docs | rules.short'
