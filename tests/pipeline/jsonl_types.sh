# jsonl_types.sh - every type that read_jsonl declares, with nulls and absent members wherever in a byte of bits they may stand: what is
# written is what was read. Memory that is handed out is not zero here, so a bit that nobody wrote shows.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

"$PYTHON" - <<'P'
import json, random
random.seed(7)
kinds = {"b": lambda: random.random() < 0.5, "i": lambda: random.randrange(-2**63, 2**63), "f": lambda: random.randrange(1000) / 8,
         "s": lambda: "x" * random.randrange(5), "j": lambda: {"k": [1, None, random.randrange(9)]}}
# Each column lacks a value in its own rhythm: at each place of eight, in long stretches, nearly always, and by chance.
def lacks(k, i):
    return [i % 8 == k, (i // 1000) % 2 == 0, i % 97 != 3, random.random() < 0.3, i % 8 != k][(i // 8000 + k) % 5]
with open("in.jsonl", "w") as out, open("expected", "w") as expected:
    for i in range(40000):
        row = {"text": "t%d" % i, "id": str(i)}
        told = dict(row)
        for k, (name, make) in enumerate(kinds.items()):
            if lacks(k, i):
                if i % 3 == 0:
                    row[name] = None
            else:
                told[name] = row[name] = make()
        out.write(json.dumps(row) + "\n")
        expected.write(json.dumps(told, sort_keys=True) + "\n")
P
cat >p.lua <<'L'
local s = require "sluice"
local columns = { b = "bool", i = "int64", f = "float64", s = "utf8", j = "json" }
return s.pipeline { "p", s.files { "in.jsonl", split = "256KiB" } | s.read_jsonl { columns = columns } | s.write_jsonl { "out", compression = "none" } }
L
for perturb in 0 85 170; do
    rm -rf out run
    MALLOC_PERTURB_=$perturb expect 0 "$SLUICE" run p.lua --quiet --run-dir run
    cat out/latest/* | "$PYTHON" -c '
import json, sys
for line in sys.stdin:
    print(json.dumps(json.loads(line), sort_keys=True))' >got
    cmp got expected >&2 || fail "what is written is not what was read (MALLOC_PERTURB_=$perturb)"
done
