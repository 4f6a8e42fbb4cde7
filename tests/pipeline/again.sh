# again.sh - rows that a later phase takes up again are read from the input a second time: the same datasets, ledgers and quarantine as with
# stored rows, for every number of workers; what stages added comes along; a reader that gives something else the second time, or an input
# that changes meanwhile, ends the run; and `plan` says what is done and why.
. "$SRC/tests/lib.sh"

perl "$CORPUS" in files=4 docs=120 dup=15 near=15 bad=20 seed=3 >/dev/null || fail 'no corpus'
perl "$CORPUS" more files=2 docs=60 dup=15 bad=20 seed=3 codec=zst name=more >/dev/null || fail 'no corpus'
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, spill = { "string", "auto" }, edit = { "bool", false } }
local size = s.annotate { "size", adds = { size = "int64", kinds = "utf8" },
  function(doc) return { size = #doc.text, kinds = doc.kind .. "!" } end }
local one = s.files { "in/*", split = "64KiB" } | s.read_jsonl { columns = { kind = "utf8" } } | s.gopher_quality { min_doc_words = 30 }
local two = s.files { "more/*" } | s.read_jsonl { columns = { kind = "utf8" } }
local all = s.union(one, two) | size
if a.edit then all = all | s.c4_quality { } end
local unique = all | s.exact { partitions = 3 } | s.minhash { ngram = 3, partitions = 3, verify = 0.5 }
return s.pipeline { "p", max_bad = "100%", spill = a.spill,
  s.named("kept", unique | s.write_jsonl { a.out .. "/kept", compression = "none" }),
  s.named("lost", unique.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" }),
}
L
# facts RUN: what was read, kept, dropped and set aside, by stage
facts() {
    json "$1/last.json" 'funnel.*.name' 'funnel.*.in' 'funnel.*.out' 'funnel.*.quarantined' input.decoded_bytes
}
faults 8:11
for edit in false true; do
    expect 0 "$SLUICE" run p.lua --quiet --workers 2 --run-dir "$(place "rows$edit")" "out=$(place "rows$edit.out")" spill=rows edit=$edit
    land "rows$edit" "rows$edit.out"
    facts "rows$edit" >wanted
    for dataset in kept lost; do
        lines "rows$edit.out/$dataset" >"$dataset"
        [ "$(wc -l <$dataset)" -gt 40 ] || fail "too few rows in $dataset to compare"
    done
    grep -q '"kinds":"plain!"' kept || fail 'nothing that a stage added'
    for workers in 1 2 5; do
        expect 0 "$SLUICE" run p.lua --quiet --workers $workers --batch $((workers * 16))KiB --run-dir "$(place "again$edit$workers")" \
            "out=$(place "again$edit$workers.out")" edit=$edit
        land "again$edit$workers" "again$edit$workers.out"
        for dataset in kept lost; do
            lines "again$edit$workers.out/$dataset" | cmp - "$dataset" || fail "$dataset read again by $workers differs, edit=$edit"
        done
        facts "again$edit$workers" | diff wanted - || fail "the counts of $workers workers differ, edit=$edit"
    done
    same "again${edit}1/tasks" "again${edit}5/tasks" 'task records of 1 and 5 workers'
    expect 0 "$SLUICE" verify "$(place "again${edit}5")"
    "$SLUICE" why "$(place "rows$edit")" --quarantine --json >wanted
    "$SLUICE" why "$(place "again${edit}5")" --quarantine --json | cmp - wanted || fail 'another quarantine'
done

# ---- what is spilled, and what plan says ----
bytes() {
    find "$1" -name '*.slf' -printf '%s\n' | perl -ne '$n += $_; END { print $n + 0 }'
}
cat >e.lua <<'L'
local s = require "sluice"
local a = s.args { spill = { "string", "auto" }, out = { "path" } }
return s.pipeline { "e", max_bad = "100%", spill = a.spill, s.files "in/*" | s.read_jsonl {} | s.exact { partitions = 2 } | s.write_jsonl { a.out } }
L
expect 0 "$SLUICE" run e.lua --quiet --run-dir "$(place whole)" "out=$(place e)" spill=rows
expect 0 "$SLUICE" run e.lua --quiet --run-dir "$(place light)" "out=$(place e)"
land whole light
[ "$(bytes light)" -lt $(($(bytes whole) / 4)) ] || fail "spilled $(bytes light) bytes, whole rows take $(bytes whole)"
expect 0 "$SLUICE" plan p.lua --run-dir "$(place p)"
says "size, rows: _row, kinds, size  [positions: 'read_jsonl' is read again, which costs less than storing and loading rows]"
expect 0 "$SLUICE" plan p.lua --run-dir "$(place p)" edit=true
says "rows: no reader's text goes by unchanged]"
expect 0 "$SLUICE" plan p.lua --run-dir "$(place p)" spill=rows
says '[rows: spill = "rows"]'
expect 2 "$SLUICE" check p.lua spill=some
says 'auto, rows, positions'

# ---- a reader that breaks its word ----
cp "$BUILD/tests/pipeline/fickle.so" .
cat >f.lua <<'L'
local s = require "sluice"
local f = s.plugin "./fickle.so"
local a = s.args { spill = { "string", "auto" }, out = { "path" } }
return s.pipeline { "f", spill = a.spill, s.files "lines/*" | f.fickle_reader {} | s.exact { partitions = 2 } | s.write_jsonl { a.out } }
L
mkdir lines
seq 1000 >lines/one
expect 0 "$SLUICE" run f.lua --quiet --trust --run-dir "$(place steady)" "out=$(place f)"
echo NOW-AND-THEN >>lines/one
expect 4 "$SLUICE" run f.lua --quiet --trust --run-dir "$(place fickle)" "out=$(place f)"
says 'one@0: found 1000 records in the second pass over the input, expected 1001'
expect 0 "$SLUICE" run f.lua --quiet --trust --run-dir "$(place fickle)" "out=$(place f)" spill=rows

# Whatever it gives another time, that never takes the place of what is published: files are named by
# what is in them, too.
cat >w.lua <<'L'
local s = require "sluice"
local f = s.plugin "./fickle.so"
local a = s.args { out = { "path" } }
return s.pipeline { "w", s.files "lines/*" | f.fickle_reader {} | s.write_jsonl { a.out, compression = "none" } }
L
expect 0 "$SLUICE" run w.lua --quiet --trust --run-dir "$(place twice)" "out=$(place w)"
expect 1 env FICKLE=1 "$SLUICE" run w.lua --quiet --trust --run-dir "$(place twice)" "out=$(place w)" --fresh
says 'not deterministic'
expect 0 "$SLUICE" verify "$(place w)"
expect 0 "$SLUICE" verify "$(place w)@1"
land w
lines w | grep -q NOW-AND-THEN || fail 'another result took the place of the first'
expect 0 env FICKLE=1 "$SLUICE" run w.lua --quiet --trust --run-dir "$(place another)" "out=$(place w)"
expect 0 "$SLUICE" verify "$(place w)@1"
expect 0 "$SLUICE" verify "$(place w)@2"

# ---- an input that changes behind the first pass ----
expect 0 "$SLUICE" prepare f.lua --trust --run-dir "$(place steady)" "out=$(place f)"
expect 0 "$SLUICE" task "$(place steady)" 0
cat >g.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path" } }
return s.pipeline { "g", s.files "late.jsonl" | s.read_jsonl {} | s.exact { partitions = 2 } | s.write_jsonl { a.out } }
L
zstd -qdc more/*.zst | head -n 40 >late.jsonl
expect 0 "$SLUICE" run g.lua --quiet --run-dir "$(place late)" "out=$(place g)"
# What the last phase reads is a part of its key: another text under the same rows is read and written anew.
sed -i '$s/"text":"[^"]*"/"text":"another text"/; $s/"text": "[^"]*"/"text": "another text"/' late.jsonl
expect 0 "$SLUICE" run g.lua --quiet --run-dir "$(place late)" "out=$(place g)"
land g
lines g | grep -q 'another text' || fail 'the change is not in the output'
