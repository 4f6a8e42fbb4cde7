# units_looks.sh - what people ask about runs over units (sdk/examples/units.c) and over records that were found by their markers (marked.c): what a
# plan knows of units, samples and tries, ways of documents, dropped and quarantined rows, and rows given to their stage again.
. "$SRC/tests/lib.sh"

make_units() { perl "$SRC/tests/pipeline/units.pl" "$@" || fail "no file of units: $*"; }
cp "$BUILD/examples/units.so" "$BUILD/tests/pipeline/marked.so" .
cat >p.lua <<'L'
local s = require "sluice"
local u = s.plugin "./units.so"
local a = s.args { where = { "string", "-9e18.." } }
local fifth = s.heuristic { "fifth", summary = "Every fifth number", options = { max = { "int", 3, doc = "Largest remainder." } },
  measure = function(d)
    if d.number % 1000 == 77 then error "seventy-seven" end
    return d.number % 5
  end,
  drop = { above = "max" } }
local kept = s.files { "in/*", split = "64KiB" } | u.read_units { where = a.where } | fifth {}
return s.pipeline { "p", max_bad = "100%", kept | s.write_jsonl { "out", compression = "none" },
  kept.dropped | s.write_jsonl { "dropped", compression = "none" } }
L
mkdir in
make_units in/a.units units=100 rows=40 words=5 column=id bad=701
make_units in/b.units units=50 rows=40 words=5 column=id from=4000
touch -d '1 hour ago' in/*
sleep 2.1

# ---- what a plan knows of units ----
expect 0 "$SLUICE" plan p.lua --trust --run-dir run where=0..3000
says '2 files'
grep -q ' unit' stdout && fail 'a plan knows units that nobody surveyed'
expect 0 "$SLUICE" run p.lua --trust --quiet --run-dir run where=0..3000
expect 0 "$SLUICE" plan run
says '150 units, 74 skipped'
is "$(json stdout phases.0.readers.0.units.units 2>/dev/null || true)" '' 'facts without --json'
expect 0 "$SLUICE" plan run --json
is "$(json stdout phases.0.readers.0.units.units) $(json stdout phases.0.readers.0.units.skipped)" '150 74' 'units as facts'
make_units in/c.units units=10 rows=40 words=5 column=id from=6000
expect 0 "$SLUICE" plan p.lua --trust --run-dir run where=0..3000
says '150 units in 2 of 3 files that were surveyed so far, 74 skipped'
rm in/c.units

# ---- ways of documents ----
text() { printf 'number %s' "$1" && for _ in $(seq $((1 + $1 % 3))); do printf ' and some more words'; done; }
expect 0 "$SLUICE" why run --id "$(text 483)"
says 'kept' '/out@1'
expect 0 "$SLUICE" why run --id "$(text 484)"
says 'dropped: fifth, value 4, limit 3' '/dropped@1'
expect 0 "$SLUICE" why run --id "$(text 77)"
says 'quarantined: lua_error' 'seventy-seven'
"$SLUICE" why run --id "$(text 3500)" >stdout 2>stderr && fail 'a document of a unit that was skipped has a way'
expect 0 "$SLUICE" why run --reason fifth --text
says "\"number\":4,\"id\":\"$(text 4)\""
expect 0 "$SLUICE" trace dropped "$(find dropped/latest/ -name '*.jsonl' | LC_ALL=C sort | head -1 | xargs basename)" 1 --run run
says 'a.units  bytes' '(a unit), row 8 in it' # of those that were read

# ---- quarantine, and rows given to their stage again ----
expect 0 "$SLUICE" why run --quarantine
says 'invalid_utf8 in read_units: a.units bytes' 'lua_error in fifth: row' 'seventy-seven'
is "$(grep -c 'sluice replay' stdout)" 3 'rows that can be given again'
for kept in run/quarantine/*; do
    expect 1 "$SLUICE" replay "$kept"
    says 'refused: lua_error' 'seventy-seven'
done

# ---- samples ----
expect 0 "$SLUICE" sample p.lua --trust --quiet --at fifth -n 50 -o sample.jsonl where=0..3000
is "$(wc -l <sample.jsonl)" 50 'rows of a sample'
expect 0 "$SLUICE" try p.lua sample.jsonl --stage fifth --trust where=0..3000
says '50 documents' 'fifth'
expect 2 "$SLUICE" try p.lua sample.jsonl --stage read_units --trust
says 'is no stage that judges rows'
expect 0 "$SLUICE" head out -n 2
says "number 1 and some"
expect 0 "$SLUICE" verify run

# ---- records found by their markers ----
mkdir marked
perl -e 'binmode STDOUT; for my $k (0 .. 1999) { my $text = "record $k " . "word " x (($k * 7919) % 90);
    print "\xf5REC\xf5\x01\x02\x03", pack("L<L<", length $text, ~length($text) & 0xffffffff), $text }' >marked/a.warc
cat >m.lua <<'L'
local s = require "sluice"
local m = s.plugin "./marked.so"
local short = s.heuristic { "short", summary = "Short ones", options = { max = { "int", 400, doc = "Bytes." } }, measure = function(d)
  if #d.text == 62 then error "sixty-two" end
  return #d.text end, drop = { above = "max" } }
return s.pipeline { "m", max_bad = "100%", s.files { "marked/*", split = "64KiB" } | m.read_marked {} | short {} |
  s.write_jsonl { "marked.out", compression = "none" } }
L
expect 0 "$SLUICE" run m.lua --trust --quiet --run-dir m.run
expect 0 "$SLUICE" plan m.run
grep -q ' unit' stdout && fail 'ranges are taken for units'
expect 0 "$SLUICE" why m.run --quarantine
says 'lua_error in short: row' 'sixty-two'
expect 1 "$SLUICE" replay "$(find m.run/quarantine -type f | LC_ALL=C sort | head -1)"
says 'sixty-two'
expect 0 "$SLUICE" why m.run --reason short --text
says 'a.warc bytes' 'REC'
shard=$(find marked.out/latest/ -name '*.jsonl' | LC_ALL=C sort | sed -n 3p)
number=$(sed -n 6p "$shard" | grep -o 'record [0-9]* ')
expect 0 "$SLUICE" trace marked.out "$(basename "$shard")" 5 --run m.run --text
grep -aq "$number" stdout || fail "row 5 is traced to another record than '$number'"
