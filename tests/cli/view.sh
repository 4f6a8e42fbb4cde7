# view.sh - --view FILE: what a command found out, shown by a view of the user's: the facts of --json, beside modules of its own and those of
# the program; mistakes are told with file and line, and nothing is shown by two of them.
. "$SRC/tests/lib.sh"

mkdir in mine
printf '{"id":"a","text":"one"}\n{"id":"b","text":"two"}\n' >in/a.jsonl
cat >p.lua <<'L'
local s = require "sluice"
return s.pipeline { "p", s.files "in/*" | s.read_jsonl {} | s.filter { "f", function(doc) if doc.text == "two" then return "two" end end }
  | s.write_jsonl { "out", compression = "none" } }
L
expect 0 "$SLUICE" run p.lua --quiet
cat >mine/own.lua <<'L'
return { title = "mine" }
L
cat >mine/all.lua <<'L'
local v, own = require "lib", require "own"
return function(facts, style)
  v.say("%s: %s\n", own.title, v.json(facts))
end
L

# shown COMMAND... : by the view, all that --json has
shown() {
    expect 0 "$SLUICE" "$@" --view mine/all.lua
    sed -n 's/^mine: //p' "$TMP/stdout" >shown.json
    [ -s shown.json ] || fail "$*: $(head -n 2 "$TMP/stdout")"
    expect 0 "$SLUICE" "$@" --json
    "$PYTHON" - "$1" <<'P' || fail "$*: other facts than --json"
import json, sys
shown, facts = (json.load(open(name), parse_float=lambda x: "%.9g" % float(x)) for name in ("shown.json", "stdout"))
facts.pop("event", None)
facts = facts.get(sys.argv[1], facts) if isinstance(facts.get(sys.argv[1]), dict) else facts
for moving in ("seconds", "age_seconds"):
    shown.pop(moving, None), facts.pop(moving, None)
if shown != facts:
    print({k: (shown.get(k), facts.get(k)) for k in set(shown) | set(facts) if shown.get(k) != facts.get(k)}, file=sys.stderr)
    sys.exit(1)
P
}
shown report p
shown show p
shown plan p.lua
shown why p
shown why p --reason two
shown trace out 0 0
shown gc p --dry-run
expect 0 "$SLUICE" inspect gopher_quality --view mine/all.lua
says '"name":"gopher_quality"'
expect 0 "$SLUICE" plugins --view mine/all.lua
says '"plugins":['
expect 0 "$SLUICE" verify out --view mine/all.lua
says 'mine: {"snapshot":{'
(cd mine && "$SLUICE" report "$TMP/.sluice/p" --view all.lua >said && grep -q '^mine: {' said) || fail 'a view in the current folder'

# Mistakes.
expect 2 "$SLUICE" report p --view nothing.lua
says "--view: can't open nothing.lua"
expect 2 "$SLUICE" report p --view p.jsonl
says "found 'p.jsonl', expected a Lua file"
mkfifo pipe.lua && { expect 2 "$SLUICE" report p --view pipe.lua; says 'pipe.lua is no file'; }
echo 'return 7' >seven.lua
expect 2 "$SLUICE" report p --view seven.lua
says 'seven.lua' 'expected a file that returns a function'
printf 'return function(facts)\n  io.open "x"\nend\n' >io.lua
expect 2 "$SLUICE" report p --view io.lua
says 'io.lua:2:'
printf 'require "nothing"\nreturn print\n' >module.lua
expect 2 "$SLUICE" report p --view module.lua
says 'nothing.lua'
for command in 'report p' 'plan p.lua' 'inspect gopher_quality'; do
    # shellcheck disable=SC2086
    expect 2 "$SLUICE" $command --json --view mine/all.lua
    says 'found both --json and --view'
done
expect 2 "$SLUICE" plan p.lua --view
says '--view needs a value'
