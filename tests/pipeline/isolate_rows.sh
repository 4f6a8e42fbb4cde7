# isolate_rows.sh - rows that end their stage's process, or never come back: each that does so alone is quarantined, all other rows are
# those of a run without them, for any workers and batches; what no row does alone, and what a state depends on, ends the run with the
# culprit named.
. "$SRC/tests/lib.sh"

if grep -q -e -fsanitize=thread "$BUILD/flags"; then skip 'the thread sanitizer makes an exit status of every signal'; fi

cp "$BUILD/tests/pipeline/fragile.so" .
perl -e 'for my $i (0 .. 239) {
    my $mark = { 17 => "CRASH-ME", 18 => "ABORT-ME", 150 => "EXIT-ME", 151 => "BAD-ME", 152 => "DATA-ME", 239 => "CRASH-ME" }->{$i} // "";
    my $drop = $i % 10 == 3 ? "DROP-ME" : "";
    print qq({"id":"d$i","text":"row $i $mark $drop ) . ("words and words " x ($i % 40)) . qq("}\n);
}' >docs.jsonl
grep -v 'CRASH\|ABORT\|EXIT\|BAD\|DATA' docs.jsonl >healthy.jsonl
is "$(wc -l <healthy.jsonl)" 234 'rows without a marker'
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "glob", "docs.jsonl" }, out = { "path", "out" }, max_bad = { "int", 10 } }
local f = s.plugin "./fragile.so"
local docs = s.files { a.input, split = "64KiB" } | s.read_jsonl { isolate = true }
local kept = docs | f.fragile { isolate = { timeout = "30s" } } | s.filter { "long", function(doc) if #doc.text > 200 then return "long" end end }
return s.pipeline { "p", max_bad = a.max_bad, s.named("kept", kept | s.write_jsonl { a.out .. "/kept", compression = "none" }),
  s.named("lost", kept.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" }) }
L
expect 0 "$SLUICE" run p.lua --quiet --run-dir healthy out=healthy_out input=healthy.jsonl
for how in '1 1MiB' '2 4KiB' '3 64KiB'; do
    # shellcheck disable=SC2086
    set -- $how
    expect 0 "$SLUICE" run p.lua --quiet --workers "$1" --batch "$2" --run-dir run"$1" out=out"$1"
    same out1 out"$1" "datasets of $1 workers"
    same run1/tasks run"$1"/tasks "records of $1 workers"
    same run1/spill run"$1"/spill "tables of $1 workers"
    same run1/quarantine run"$1"/quarantine "kept rows of $1 workers"
done
for name in kept lost; do
    lines healthy_out/$name >expected
    lines out1/$name >found
    [ -s expected ] || fail "no rows in $name"
    cmp -s expected found || fail "rows of $name differ from those of a run without the bad ones"
done
expect 0 "$SLUICE" why run1 --quarantine
is "$(grep '^[a-z_]* in fragile' "$TMP/stdout" | sed 's/ in fragile: row / /;s/ of .*//' | tr '\n' ';')" \
    'crash 17;crash 18;crash 150;odd 151;data_error 152;crash 44;' 'the quarantine'
says SIGSEGV SIGABRT 'exit status 7' 'a marker says so' 'this row is bad'
is "$(find run1/quarantine -type f | wc -l)" 6 'rows kept'
expect 4 "$SLUICE" run p.lua --quiet --run-dir run1 out=out9 max_bad=5
says max_bad

# ---- no row alone, a state, a call without rows ----
faulty() {
    echo "local s = require 'sluice' local f = s.plugin './fragile.so' return s.pipeline { 'q', max_bad = 10, s.files '$1' | s.read_jsonl {} | f.$2 | s.write_jsonl { 'q_out' } }" >q.lua
    rm -rf q q_out
    expect "$3" timeout 60 "$SLUICE" run q.lua --quiet --run-dir q
}
sed 's/row 5 /PAIR-A/;s/row 200 /PAIR-B/' healthy.jsonl >pair.jsonl
faulty pair.jsonl 'fragile {}' 1
says "stage 'fragile'" SIGILL 'pair.jsonl@0' 'rows 1 to 233' 'no row does alone' test-plugin
[ ! -e q_out/latest ] || fail 'a run that ended so published'
sed -n '/ABORT/d;/EXIT/d;1,40p' docs.jsonl >crash.jsonl
faulty crash.jsonl 'fragile_ordered {}' 1
says "stage 'fragile_ordered'" SIGSEGV 'crash.jsonl@0' 'keeps a state'
faulty healthy.jsonl 'fragile_ordered { at = "flush" }' 1
says "stage 'fragile_ordered'" SIGSEGV
for at in open prepare worker_open; do
    faulty healthy.jsonl "fragile { at = \"$at\" }" 1
    says "stage 'fragile'" SIGSEGV
done
faulty healthy.jsonl 'fragile_ordered {}' 0

echo "local s = require 'sluice' local f = s.plugin './fragile.so' return s.pipeline { 'q', s.files 'lines.txt' | f.fragile_reader {} | s.write_jsonl { 'q_out' } }" >q.lua
for line in 'the last one' 'CRASH-ME'; do
    printf 'one\ntwo\n%s\n' "$line" >lines.txt
    rm -rf q q_out
    status=0
    "$SLUICE" run q.lua --quiet --run-dir q >log 2>&1 || status=$?
    if [ "$line" = CRASH-ME ]; then
        is "$status" 1 'a crash of a reader'
        grep -q "stage 'fragile_reader'.*SIGSEGV" log && grep -q 'lines.txt, bytes 0 to 17' log || fail "what it says: $(cat log)"
    else
        is "$status" 0 "a reader of a plugin ($(cat log))"
        is "$(lines q_out | wc -l)" 3 'lines read'
    fi
done

# ---- time ----
sed 's/row 5 /HANG-ME/' crash.jsonl | grep -v CRASH >hang.jsonl
faulty hang.jsonl 'fragile { isolate = { timeout = "300ms" } }' 1
says "stage 'fragile'" '0.3 s' 'hang.jsonl@0' 'rows 1 to' on_timeout
faulty hang.jsonl 'fragile_ordered { isolate = { timeout = "300ms", on_timeout = "quarantine" } }' 1
says "stage 'fragile_ordered'" '0.3 s'
faulty hang.jsonl 'fragile { isolate = { timeout = "300ms", on_timeout = "quarantine" } }' 0
expect 0 "$SLUICE" why q --quarantine
says 'late in fragile: row 5 of'
grep -rq reproducible q_out/snapshots || fail 'the manifest does not say so'

# ---- too many ----
perl -pe 's/row \d+/CRASH-ME/' healthy.jsonl | head -n 40 >many.jsonl
faulty many.jsonl 'fragile { isolate = { max_deaths = 1 } }' 1
says "stage 'fragile'" SIGSEGV test-plugin
