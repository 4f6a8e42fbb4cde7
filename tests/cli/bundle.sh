# bundle.sh - `sluice bundle` packs script, plan, versions, reports and records of a run, which tar unpacks, and no text of a record.
. "$SRC/tests/lib.sh"

mkdir in
perl -e 'for my $i (1 .. 40) {
    my $text = join " ", map { "MARKER" . (($i % 20) * 31 + $_) } 1 .. 60;
    print qq({"id": "MARKERID$i", "text": "$text", "source": "MARKERSOURCE"}\n);
}' >in/a.jsonl
cat >p.lua <<'END_LUA'
local s = require "sluice"
local row = s.filter { "row", function(doc)
    if doc.text:contains "MARKER33 " then return "has_it" end
    if doc.text:contains "MARKER64 " then error("no: " .. doc.text) end
end }
local docs = s.files "in/*.jsonl" | s.read_jsonl { id = "id" } | row | s.minhash {}
return s.pipeline { "p", max_bad = 0.9, docs | s.write_jsonl { "out" } }
END_LUA
expect 0 "$SLUICE" run p.lua
grep -q MARKER .sluice/p/last.json .sluice/p/quarantine/* || fail 'the run directory holds no text: this test shows nothing'

expect 0 "$SLUICE" bundle p
says 'p.bundle.tar.zst' 'no records in it'
zstd -dc p.bundle.tar.zst >p.tar || fail 'no zstd file'
tar -tf p.tar >names || fail 'no tar file'
tar -xf p.tar || fail 'tar does not unpack it'
for file in README version.json machine.json plan.json plan-facts.json used.json script/p.lua report.json quarantine.json; do
    [ -s "p.bundle/$file" ] || fail "$file is missing"
done
is "$(find p.bundle/tasks -name '*.json' | wc -l)" "$(commits .sluice/p)" 'records of tasks'
cmp -s p.bundle/script/p.lua p.lua || fail 'the script is not as it was run'
is "$(sed 's/"MARKER[0-9]* "//' <p.bundle/script/p.lua | grep -c MARKER)" 0 'text of records in the script'
rm p.bundle/script/p.lua
if grep -rlE 'MARKER' p.bundle >found; then fail "text of records is in $(head -n 1 found)"; fi
json p.bundle/machine.json kernel libc memory processors >/dev/null || fail 'machine.json lacks a member'
json p.bundle/used.json 'plugins.*.sha256' >/dev/null || fail 'used.json names no plugin'
grep -q '"row: lua_error": 2' p.bundle/quarantine.json || fail "rows in quarantine: $(cat p.bundle/quarantine.json)"
grep -q '(left out: ' p.bundle/tasks/*/*.json || fail 'nothing was left out'

# The same run gives the same archive; another name; messages where they are asked for.
expect 0 "$SLUICE" bundle .sluice/p -o again.tar.zst --json
json stdout path files bytes >/dev/null || fail 'the JSON lacks a member'
mkdir again
zstd -dc again.tar.zst | tar -tf - | cmp -s - names || fail 'two bundles of one run hold other files, or in another order'
zstd -dc again.tar.zst | tar -xf - -C again
cp p.lua p.bundle/script/
rm again/p.bundle/machine.json p.bundle/machine.json # tells what memory is free
same again/p.bundle p.bundle 'two bundles of one run'
rm -r p.bundle
perl -pi -e 's/0\.9/0.001/' p.lua
expect 4 "$SLUICE" run p.lua
expect 0 "$SLUICE" bundle p
zstd -dc p.bundle.tar.zst | tar -xf -
grep -q '"error": "(left out: ' p.bundle/report.json || fail 'the message of the error is not left out'
expect 0 "$SLUICE" bundle p --messages
zstd -dc p.bundle.tar.zst | tar -xf -
grep -q '"error": ".*max_bad' p.bundle/report.json || fail '--messages gives no message'

# A run whose plan can't be built any more.
rm .sluice/p/content/*/inputs
expect 0 "$SLUICE" bundle p
zstd -dc p.bundle.tar.zst | tar -xf -
grep -q "can't be built again" p.bundle/plan-error.txt || fail 'nothing about the plan'
expect 2 "$SLUICE" bundle nowhere
says 'no run in' 'nowhere'
expect 2 "$SLUICE" bundle
expect 5 "$SLUICE" bundle p -o /nowhere/else/x.tar.zst
