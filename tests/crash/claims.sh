# claims.sh - a task whose record can't be read fails, and is free for others: no lease stays behind. What leases the dead leave goes when
# the next run begins.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=6 docs=150 >made || fail 'no corpus'
cat >busy.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "glob", "corpus/*" }, out = { "path", "out" } }
return s.pipeline { "busy", s.files { a.input, split = "64KiB" } | s.read_jsonl { text = "text", id = "id" } | s.filter { "busy", function(doc)
    local n = 0
    for i = 1, 30000 do n = n + i % 7 end
    if n < 0 then return "never" end
end } | s.write_jsonl { a.out } }
L
expect 0 "$SLUICE" run busy.lua --quiet --workers 1 --run-dir "$(place run)" "out=$(place out)"
land run
phase=$(find run/tasks -mindepth 1 -type d)
tasks=$(commits run)
[ "$tasks" -ge 4 ] || fail "only $tasks tasks"
# The record of the task that comes last.
last=$(cat run/attempts/*.jsonl | perl -ne 'print "$2\n" if /"phase":"([^"]*)".*"key":"([0-9a-f]*)"/' | tail -n 1)
last=$phase/$last.json
[ -e "$last" ] || fail "no record $last"
forget run/tasks out

(exec "$SLUICE" work "$(place run)" --workers 1 --quiet >work.out 2>&1) &
pid=$!
waited=0
while [ "$(commits run)" = 0 ]; do
    waited=$((waited + 1))
    [ "$waited" -lt 6000 ] || fail 'the worker commits nothing'
    sleep 0.01
done
if [ "$STORE" = disk ]; then
    mkdir "$last" || fail "the worker was faster than this test: $last"
else
    # An object that is cut in the middle of its version.
    mkdir -p objects
    object=objects/o$(echo "$last" | tr / ,)
    [ ! -e "$object" ] || fail "the worker was faster than this test: $last"
    echo cut >"$object"
fi
status=0
wait "$pid" || status=$?
[ "$status" != 0 ] || fail 'a record that is a folder was taken for one'
grep -q "${last#run/}" work.out || { cat work.out >&2; fail 'the message does not name the record'; }
is "$(leases run)" 0 'leases that stay behind'
if [ "$STORE" = disk ]; then rmdir "$last"; else rm "$object"; fi
mkdir -p run/leases/0123456789abcdef0123456789abcdef
echo >run/leases/0123456789abcdef0123456789abcdef/3.1
lift run/leases
expect 0 "$SLUICE" run busy.lua --quiet --workers 1 --run-dir "$(place run)" "out=$(place out)"
is "$(leases run)" 0 'leases of the dead'
is "$(commits run)" "$tasks" 'records'
