# per_key.sh - of the rows with one key the first few stay, by priority and then by place: what a few lines of Python keep; the same for any number of
# workers and partitions, any size of batches and any memory.
. "$SRC/tests/lib.sh"
command -v "$PYTHON" >/dev/null || skip 'no python3'

"$PYTHON" - <<'P'
import json, random
r = random.Random(7)
rows = []
for n in range(9000):
    site = r.choice(["hot", "warm"] + [f"site{k}" for k in range(400)] * 2 + [None]) if r.random() < 0.6 else "hot"
    rows.append({"id": f"r{n}", "text": f"text {n}", "site": site, "lang": r.choice("ab"), "score": r.randrange(30)})
import os
os.mkdir("in")
for part in range(3):
    with open(f"in/{part}.jsonl", "w") as out:
        for row in rows[part * 3000:(part + 1) * 3000]:
            out.write(json.dumps(row) + "\n")
def kept(by, cap, priority):
    order, left = {}, set()
    for n, row in enumerate(rows):
        key = tuple(row[c] for c in by)
        if None in key:
            left.add(n)
        else:
            order.setdefault(key, []).append((-row["score"] if priority else 0, n))
    for members in order.values():
        left.update(n for _, n in sorted(members)[:cap])
    return [rows[n]["id"] for n in sorted(left)]
for name, arguments in { "plain": (["site"], 5, False), "best": (["site", "lang"], 3, True), "one": (["site"], 1, False) }.items():
    with open(name, "w") as out:
        out.write("".join(i + "\n" for i in kept(*arguments)))
P
cat >cap.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, by = { "list", "site" }, cap = { "int", 5 }, priority = { "string", "" }, partitions = { "int", 32 } }
local docs = s.files { "in/*.jsonl", split = "64KiB" } | s.read_jsonl { columns = { site = "utf8", lang = "utf8", score = "int64" } }
local few = docs | s.per_key { by = a.by, cap = a.cap, priority = a.priority ~= "" and a.priority or nil, partitions = a.partitions }
return s.pipeline { "cap", s.named("kept", few | s.write_jsonl { a.out .. "/kept", compression = "none" }),
  s.named("lost", few.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" }) }
L
check() { # NAME [ARGUMENT...]
    _name=$1
    shift
    expect 0 "$SLUICE" run cap.lua --quiet --run-dir "run.$_name" "out=$_name.out" "$@"
    lines "$_name.out/kept" | member id >ids
    cmp -s "$_name" ids || { diff "$_name" ids | head -n 5 >&2; fail "$_name: other rows stay"; }
    is $(($(lines "$_name.out/kept" | wc -l) + $(lines "$_name.out/lost" | wc -l))) 9000 "$_name: all rows"
}
check plain
check best by=site,lang cap=3 priority=score
check one cap=1
is "$(lines plain.out/lost | member drop_reason | sort -u)" over_cap 'the reason'
is "$(lines plain.out/lost | member drop_limit | sort -u)" 5.0 'the limit'
is "$(lines plain.out/lost | member drop_value | sort -n | head -n 1)" 6.0 'the least value'
for how in '--workers 1' '--workers 5 --batch 4KiB partitions=1' 'partitions=7 --memory 300MiB'; do
    # shellcheck disable=SC2086 # several words each
    expect 0 "$SLUICE" run cap.lua --quiet --fresh --run-dir other out=other $how
    for dataset in kept lost; do
        lines plain.out/$dataset >left
        lines other/$dataset >right
        cmp -s left right || fail "$dataset differs with $how"
    done
    rm -rf other
done
expect 2 "$SLUICE" check cap.lua cap=0
