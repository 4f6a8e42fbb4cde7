# isolate.sh - stages in processes of their own: a plugin from outside the installation runs isolated without being asked, whatever a
# script isolates gives the same bytes and the same records as in the program's own process, and the program never maps the plugin.
. "$SRC/tests/lib.sh"

perl "$CORPUS" in files=3 docs=150 seed=5 >/dev/null || fail 'no corpus'
cp "$BUILD/plugins/quality.so" "$BUILD/plugins/read_jsonl.so" .
mkdir mod
cat >mod/sevens.lua <<'L'
local s = require "sluice"
return s.heuristic { "sevens", options = { max = { "int", 3 } },
  measure = function(doc) local _, n = doc.text:gsub("e%l", "") return n % 7 end, drop = { above = "max" } }
L
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, isolate = { "bool", false }, outside = { "bool", false } }
local sevens = require "mod.sevens"
local quality = a.outside and s.plugin "./quality.so" or s
local reader = a.outside and s.plugin "./read_jsonl.so" or s
local given = (a.isolate or not a.outside) and a.isolate or nil
local docs = s.files { "in/*", split = "64KiB" } | reader.read_jsonl { isolate = given }
local good = docs
  | sevens { max = 4, isolate = given }
  | quality.gopher_repetition { isolate = given }
  | quality.gopher_quality { min_doc_words = 5, isolate = given and { threads = 1, memory = "2GiB", timeout = "50s", max_deaths = 2 } or given }
  | s.exact { partitions = 4 }
return s.pipeline { "p", max_bad = "100%",
  s.named("kept", good | s.write_jsonl { a.out .. "/kept", compression = "none", isolate = given }),
  s.named("lost", good.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" }),
}
L

# ---- the same bytes and records ----
expect 0 "$SLUICE" run p.lua --quiet --workers 2 --run-dir plain out=plain_out
[ "$(lines plain_out/kept | wc -l)" -gt 20 ] || fail 'too few rows to compare'
[ "$(lines plain_out/lost | wc -l)" -gt 20 ] || fail 'too few rows to compare'
expect 0 "$SLUICE" run p.lua --quiet --workers 2 --run-dir isolated out=isolated_out isolate=true
same plain_out isolated_out 'datasets of isolated stages'
same plain/tasks isolated/tasks 'records of isolated stages'
expect 0 "$SLUICE" run p.lua --quiet --workers 3 --batch 64KiB --run-dir outside out=outside_out outside=true
same plain_out outside_out 'datasets of plugins from outside'
same plain/tasks outside/tasks 'records of plugins from outside'
expect 0 "$SLUICE" run p.lua --quiet --run-dir outside --json out=outside_out outside=true isolate=true
says '"reused":'
is "$(tail -n 1 "$TMP/stdout" | tr ',' '\n' | grep -c '"state":"finished"')" 1 'a run again'
[ -z "$(find isolated outside -path '*scratch*' -type f)" ] || fail 'scratch is left behind'

# ---- what is shown of them, without loading them ----
expect 0 "$SLUICE" plan p.lua --run-dir planned outside=true
is "$(grep -c 'isolated\]' "$TMP/stdout")" 4 'isolated stages in the plan'
is "$(grep -c '  sevens .*isolated' "$TMP/stdout")" 0 'a stage in Lua is not isolated by itself'
[ ! -e planned ] || fail 'plan left a run directory'
expect 0 "$SLUICE" check p.lua outside=true
expect 0 "$SLUICE" inspect fragile --plugin "$BUILD/tests/pipeline/fragile.so"
says 'Breaks on rows with a marker' worker_open
expect 0 "$SLUICE" plugins --plugin "$BUILD/tests/pipeline/fragile.so"
says 'fragile.so  isolated'
expect 0 "$SLUICE" plugins --plugin "$BUILD/tests/pipeline/fragile.so" --trust
! grep -q isolated "$TMP/stdout" || fail 'a trusted plugin is isolated'

# ---- options ----
cp "$BUILD/tests/pipeline/fragile.so" .
option() {
    echo "local s = require 'sluice' local f = s.plugin './fragile.so' return s.pipeline { 'o', s.files 'in/*' | s.read_jsonl {} | f.fragile { $1 } | s.write_jsonl { 'o' } }" >o.lua
}
option 'isolate = { thread = 2 }'
expect 2 "$SLUICE" check o.lua
says "unknown option 'thread'" "did you mean 'threads'?" 'o.lua:1'
option 'isolate = { memory = "much" }'
expect 2 "$SLUICE" check o.lua
says "'memory'" '"much"' 'size such as'
option 'isolate = "yes"'
expect 2 "$SLUICE" check o.lua
says "'isolate'" '"yes"' 'true, false or limits'
option 'isolate = false'
expect 2 "$SLUICE" check o.lua
says 'isolate = false' 'from outside the installation' --trust
expect 0 "$SLUICE" check o.lua --trust
option 'isolate = {}'
expect 0 "$SLUICE" check o.lua
option 'isolat = true'
expect 2 "$SLUICE" check o.lua
says "unknown option 'isolat'"

# ---- a world-writable place is refused all the same ----
chmod o+w fragile.so
option ''
expect 2 "$SLUICE" check o.lua
says 'everybody may write'
