# where.sh - the stage `where` keeps the rows that Python keeps, whatever the batches and workers, and refuses what it can't ask for.
. "$SRC/tests/lib.sh"
command -v "$PYTHON" >/dev/null || skip 'no python3'

cat >make.py <<'P'
import json, random, re
r = random.Random(3)
rows = []
for n in range(4000):
    row = {"id": f"r{n}", "text": "word " * r.randrange(9), "lang": r.choice(["en", "de", "fr", None, "EN"]), "n": r.choice([None, r.randrange(-50, 100)]),
           "score": r.choice([None, r.randrange(100) / 8]), "ok": r.choice([True, False, None])}
    rows.append({k: v for k, v in row.items() if v is not None or r.random() < 0.5})
for part in range(3):
    with open(f"in/{part}.jsonl", "w") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows[part::3])
rows = rows[0::3] + rows[1::3] + rows[2::3]
def get(row, name):
    return row.get(name)
def lt(a, b):
    return a is not None and b is not None and a < b
cases = {
    "lang == 'en' and n > 50": lambda x: x.get("lang") == "en" and lt(50, x.get("n")),
    "lang in ('de', \"fr\") or score <= 2.5": lambda x: x.get("lang") in ("de", "fr") or (x.get("score") is not None and x["score"] <= 2.5),
    "not (n >= 0)": lambda x: x.get("n") is not None and x["n"] < 0,
    "n is null and ok = true": lambda x: x.get("n") is None and x.get("ok") is True,
    "id like 'r1%9' and lang is not null": lambda x: re.fullmatch("r1.*9", x["id"]) is not None and x.get("lang") is not None,
    "text = ''": lambda x: x["text"] == "",
}
with open("cases", "w") as out:
    for k, (text, holds) in enumerate(cases.items()):
        out.write(text + "\n")
        with open(f"expected.{k}", "w") as ids:
            ids.writelines(row["id"] + "\n" for row in rows if holds(row))
P
mkdir in
"$PYTHON" make.py || fail 'no rows'
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { e = { "string" }, out = { "path", "out" } }
local docs = s.files { "in/*.jsonl", split = "64KiB" } | s.read_jsonl { columns = { lang = "utf8", n = "int64", score = "float64", ok = "bool" } }
local good = docs | s.where(a.e)
return s.pipeline { "p", s.named("kept", good | s.write_jsonl { a.out .. "/kept", compression = "none" }),
  s.named("lost", good.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" }) }
L
k=0
while read -r text; do
    expect 0 "$SLUICE" run p.lua --quiet --run-dir run "out=out$k" "e=$text" --batch 4KiB --workers 3
    lines out$k/kept | member id >ids
    cmp "expected.$k" ids >&2 || fail "$text: other rows"
    [ -s ids ] || fail "$text: no row"
    is $(($(lines out$k/kept | wc -l) + $(lines out$k/lost | wc -l))) 4000 "$text: all rows"
    expect 0 "$SLUICE" run p.lua --quiet --fresh --run-dir other "out=other$k" "e=$text" --workers 1
    same "out$k/kept/data" "other$k/kept/data" "$text with one worker"
    k=$((k + 1))
done <cases
is "$k" 6 'cases'
is "$(lines out0/lost | member drop_reason | sort -u)" where 'the reason'

refused() { # EXPRESSION PART
    expect 2 "$SLUICE" check p.lua "e=$1"
    says "$2"
}
refused "lagn = 'en'" "did you mean 'lang'?"
refused "lang = 3" 'expected a text in quotes'
refused "lang = " 'found the end, expected a value'
refused "metadata.x = 3" 'metadata.x'
