# A sample is a function of rows and seed: not of workers, batches, splits or names. It is even over all files, and its rows are
# rows of the input, byte for byte.
set -eu
mkdir in
"$PYTHON" - <<'END'
import json
n = 0
for k, size in enumerate([3, 1500, 10, 700, 0, 2400, 200, 187]):
    with open(f"in/f{k}.jsonl", "w") as out:
        for i in range(size):
            text = "the quick brown fox " * (1 + n % 3) + ("copy" if n % 5 == 0 else str(n))
            out.write(json.dumps({"text": text, "id": f"d{n}", "n": n, "deep": {"b": [1, 2.50, None], "a": "ü"}},
                                 ensure_ascii=False, separators=(",", ":")).replace("2.5", "2.50") + "\n")
            n += 1
END
cat >p.lua <<'END'
local s = require "sluice"
local a = s.args { split = { "size", "64MiB" } }
local docs = s.files { "in/*.jsonl", split = a.split } | s.read_jsonl {}
local good = docs | s.filter { "no_copies", function(doc) if doc.text:contains "copy" then return "copy" end end }
return s.pipeline { "p", good | s.write_jsonl { "out" }, good.dropped | s.write_jsonl { "dropped" } }
END
"$SLUICE" sample p.lua --after no_copies -n 500 --quiet -o one.jsonl >report
"$SLUICE" sample p.lua --after no_copies -n 500 --quiet --workers 1 -o a.jsonl >/dev/null
"$SLUICE" sample p.lua --after no_copies -n 500 --quiet --workers 4 -o b.jsonl >/dev/null
cmp one.jsonl a.jsonl
cmp one.jsonl b.jsonl
grep -q '^500 of 4000 rows that leave .no_copies., seed 7' report
# Files that share a split are told apart.
for line in '2 *f0' '1200 *f1' '8 *f2' '560 *f3' '0 *f4' '1920 *f5' '160 *f6' '150 *f7'; do
    grep -q "^ *$line.jsonl\$" report || { echo "no '$line' in:"; cat report; exit 1; }
done
# Another seed, another sample; a larger one contains a smaller one.
"$SLUICE" sample p.lua --after no_copies -n 500 --seed 8 --quiet -o other.jsonl >/dev/null
! cmp -s one.jsonl other.jsonl
"$SLUICE" sample p.lua --after no_copies -n 1500 --quiet -o large.jsonl >/dev/null
"$SLUICE" sample p.lua --after no_copies -n 100000 --quiet -o all.jsonl >/dev/null
[ "$(wc -l <all.jsonl)" = 4000 ]
[ "$(sort large.jsonl one.jsonl | uniq -d | wc -l)" = 500 ]
# Everything that is dropped, with the reason.
"$SLUICE" sample p.lua --at no_copies.dropped -n 100000 --quiet -o dropped.jsonl >/dev/null
[ "$(grep -c '"drop_stage":"no_copies","drop_reason":"copy"' dropped.jsonl)" = 1000 ]
[ ! -e out ] && [ ! -e dropped ]
"$PYTHON" - <<'END'
import json
source = {json.loads(l)["id"]: l for k in range(8) for l in open(f"in/f{k}.jsonl")}
last = -1
counts = {}
for line in open("one.jsonl"):
    row = json.loads(line)
    assert row == json.loads(source[row["id"]]), line
    assert '"deep":{"b":[1,2.50,null],"a":"ü"}' in line, line
    assert row["n"] > last, "rows are in the order of the input"
    last = row["n"]
    file = 0 if last < 3 else 1 if last < 1503 else 2 if last < 1513 else 3 if last < 2213 else 5 if last < 4613 else 6
    counts[file] = counts.get(file, 0) + 1
# One row in eight: within five standard deviations of what an even sample has.
for file, size in {1: 1200, 3: 560, 5: 1920}.items():
    assert abs(counts[file] - size / 8) < 5 * (size / 8 * 7 / 8) ** 0.5, counts
END
# More files than the sample touches: two splits give another sample, and it is even as well.
"$SLUICE" sample p.lua split=65536 --after no_copies -n 500 --quiet --workers 3 -o split.jsonl >report
grep -q '^500 of 4000 rows' report
[ "$(sort -u split.jsonl | wc -l)" = 500 ]
# A fork stays a fork where its other way is cut off, and a gate halts no sample: what was dropped is what the run writes.
cat >f.lua <<'END'
local s = require "sluice"
local docs = s.files "in/*.jsonl" | s.read_jsonl {}
local good = docs | s.filter { "no_copies", function(doc) if doc.text:contains "copy" then return "copy" end end }
local gated = good | s.gate { pass_rate = { min = 0.5, of = docs } }
local odd = gated | s.filter { "odd", function(doc) if doc.text:sub(-1) == "1" then return "one" end end }
return s.pipeline { "f", s.named("side", good | s.write_jsonl { "side" }), s.named("kept", odd | s.write_jsonl { "kept" }),
  s.named("lost", odd.dropped | s.write_jsonl { "lost", compression = "none" }) }
END
"$SLUICE" run f.lua --quiet >/dev/null
cat lost/latest/*.jsonl | sort >written
"$SLUICE" sample f.lua --at odd.dropped -n 100000 --quiet -o cut.jsonl >/dev/null
sort cut.jsonl | cmp - written
[ "$(wc -l <written)" -gt 100 ]
! grep -q '"drop_reason":"copy"' cut.jsonl
sed 's/min = 0.5/min = 0.99/' f.lua >halts.lua
! "$SLUICE" run halts.lua --quiet --run-dir halted >/dev/null 2>&1
"$SLUICE" sample halts.lua --at odd.dropped -n 100000 --quiet -o halted.jsonl >/dev/null
cmp cut.jsonl halted.jsonl
