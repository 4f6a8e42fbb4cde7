# lua_thousand.sh - a thousand filters in Lua in one pipeline ask for what their states take, not for gigabytes: it runs within 1 GiB, with
# one worker and with several, and the process stays within it. A script that holds much asks for it once for each of its states.
. "$SRC/tests/lib.sh"

mkdir in
perl -e 'for my $f (1 .. 4) { open my $out, ">", "in/$f.jsonl" or die; print $out qq({"id":"$f.$_","text":"row $_ of $f"}\n) for 1 .. 300 }'
cat >many.lua <<'END_LUA'
local s = require "sluice"
local docs = s.files { "in/*", split = "64KiB" } | s.read_jsonl {}
for i = 1, 1000 do
  docs = docs | s.filter { "f" .. i, function(doc) if #doc.text == i then return "x" end end }
end
return s.pipeline { "many", docs | s.write_jsonl { "out", compression = "none" } }
END_LUA
for workers in 1 2; do
    rm -rf out
    "$SLUICE" run many.lua --quiet --fresh --memory 1GiB --workers "$workers" --run-dir "$TMP/r$workers" >said 2>&1 &
    pid=$!
    peak=0
    while kill -0 $pid 2>/dev/null; do
        now=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null) || now=
        peak=${now:-$peak}
        sleep 0.05
    done
    wait $pid || { cat said >&2; fail "a thousand filters, $workers workers"; }
    [ "$peak" -gt 0 ] && [ "$peak" -le 1048576 ] || fail "$workers workers: peak of $peak KiB"
    mv out "out$workers"
done
same out1 out2 'a thousand filters'

cat >large.lua <<'END_LUA'
local s = require "sluice"
local words = {}
for i = 1, 400000 do words[i] = "word" .. i end
local docs = s.files "in/*" | s.read_jsonl {}
for i = 1, 10 do
  docs = docs | s.filter { "f" .. i, function(doc) if doc.text == words[i] then return "x" end end }
end
return s.pipeline { "large", docs | s.write_jsonl { "out", compression = "none" } }
END_LUA
status=0
"$SLUICE" plan large.lua --memory 150MiB --workers 1 >said 2>&1 || status=$?
is "$status" 5 'ten states of a large script'
grep -q 'expected at least [2-9][0-9][0-9] MiB' said || { cat said >&2; fail 'the number of a large script'; }
