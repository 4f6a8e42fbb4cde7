# forks.sh - a stream used twice feeds both uses: the same rows as two pipelines of one use each,
# read once; `.dropped` of a branch has what that branch dropped since the fork.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=4 docs=200 >made || fail 'no corpus'
cat >fork.lua <<'L'
local s = require "sluice"
local a = s.args { which = { "string", "both" }, out = { "path", "out" } }
local docs = s.files { "corpus/*", split = "64KiB" } | s.read_jsonl { columns = { kind = "utf8" } }
local long = docs | s.gopher_quality { min_doc_words = 30 }
local nice, once
local function make_nice()
  nice = nice or s.named("nice", long | s.filter { "no_lorem", function(doc) if doc.text:contains "Lorem ipsum" then return "lorem" end end })
  return nice
end
local function make_once()
  once = once or long | s.exact { partitions = 4 }
  return once
end
local sinks = { "fork" }
local function sink(name, stream)
  if a.which == "both" or a.which == name then sinks[#sinks + 1] = stream() | s.write_jsonl { a.out .. "/" .. name, compression = "none" } end
end
sink("nice", make_nice)
sink("once", make_once)
sink("nice_dropped", function() return make_nice().dropped end)
sink("once_dropped", function() return make_once().dropped end)
sink("short", function() return long.dropped end)
return s.pipeline(sinks)
L
expect 0 "$SLUICE" run fork.lua --quiet out=both --run-dir both.run --workers 3
is "$(json both.run/last.json 'phases.*.stages.*.role' | grep -c reader)" 1 'readers'
for name in nice once nice_dropped once_dropped short; do
    expect 0 "$SLUICE" run fork.lua --quiet out=single which=$name --run-dir $name.run
    lines both/$name >one
    # Without the fork a branch's dropped rows begin at the reader.
    case $name in
    *_dropped) lines single/$name | grep -v '"drop_stage":"gopher_quality"' >two ;;
    *) lines single/$name >two ;;
    esac
    [ -s one ] || fail "$name has no rows"
    cmp -s one two || fail "$name differs from that of a pipeline of its own"
done
short=$(lines both/short | wc -l)
is "$(lines both/short | grep -c '"drop_reason":"gopher_short_doc"')" "$(sed -n 's/^short //p' made)" 'short documents'
is $(($(lines both/nice | wc -l) + $(lines both/nice_dropped | wc -l) + short)) 800 'one branch'
is $(($(lines both/once | wc -l) + $(lines both/once_dropped | wc -l) + short)) 800 'other branch'
is "$(lines both/nice_dropped | member drop_reason | sort -u)" lorem 'reasons of one branch'
is "$(lines both/once_dropped | member drop_reason | sort -u)" exact_duplicate 'reasons of the other branch'
is "$(lines both/nice_dropped | member kind | grep -cv 'lorem\|duplicate\|near')" 0 'kinds that were dropped'
