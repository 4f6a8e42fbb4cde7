# times.sh - a report tells work from waiting: four workers that share one processor work no longer than the run lasts, and wait for most of
# it; reports of versions that did not know of waits are shown as before.
. "$SRC/tests/lib.sh"

command -v taskset >/dev/null || skip 'no taskset'
cpu=$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')

perl "$CORPUS" corpus files=8 docs=150 >made || fail 'no corpus'
cat >work.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "glob", "" }, out = { "path", "out" } }
local docs = s.files { a.input, split = "64K" } | s.read_jsonl { text = "text", id = "id" }
return s.pipeline { "work", docs | s.filter { "busy", function(doc)
    local n = 0
    for i = 1, 100000 do n = n + i % 7 end
    if n < 0 then return "never" end
end } | s.write_jsonl { a.out } }
L
expect 0 taskset -c "$cpu" "$SLUICE" run work.lua --workers 4 --run-dir "$TMP/run" "input=$TMP/corpus/*" "out=$TMP/out"
says 'of one core at work'

# value NAME prints a member of the report in milliseconds.
value() {
    json run/last.json "$1" | awk '{ printf "%d\n", $1 * 1000 }'
}
[ "$(value work_seconds)" -le $(($(value seconds) + 200)) ] ||
    fail "$(value work_seconds) ms of work in a run of $(value seconds) ms on one processor"
[ "$(value wait_seconds)" -ge $(($(value seconds) / 2)) ] ||
    fail "four workers on one processor waited $(value wait_seconds) ms in $(value seconds) ms"

perl -0 -pi -e 's{,\s*"(?:\w+_)?(?:wait|idle)_seconds": [-0-9.e]+}{}g' run/last.json
expect 0 "$SLUICE" report "$TMP/run"
says 'Bound by'
expect 0 "$SLUICE" report --all --md "$TMP/run"
