# columns.sh - a column that no record of the whole input has: the run ends at the end of its phase and says which names do exist. One record
# that has it is enough, a null counts as having it, and `missing = "allow"` says that it should be so.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

"$PYTHON" - <<'P'
import json
def write(name, records):
    with open(name, "w") as f:
        for record in records:
            f.write(json.dumps(record) + "\n")
rows = [{"content": "text %d" % i, "url": "u", "id": str(i)} for i in range(6000)]
write("renamed.jsonl", rows)
write("one.jsonl", rows + [{"text": "here", "id": "x"}])
write("null.jsonl", [{"text": None, "id": str(i)} for i in range(100)])
write("empty.jsonl", [])
P
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "string", "renamed.jsonl" }, text = { "string", "text" }, column = { "string", "" },
                   missing = { "string", "null" }, isolate = { "bool", false }, keep = { "bool", true } }
local columns = a.column ~= "" and { [a.column] = "utf8" } or nil
local docs = s.files { a.input, split = "64KiB" } | s.read_jsonl { text = a.text, columns = columns, missing = a.missing, isolate = a.isolate or nil }
return s.pipeline { "p", docs | s.write_jsonl { "out", compression = "none", columns = not a.keep and { "id" } or nil } }
L
go() {
    rm -rf out
    "$SLUICE" run p.lua --quiet --run-dir run "$@"
}

expect 2 go text=nocolumn --workers 2
says "p.lua:5: stage 'read_jsonl' reads 'nocolumn', which none of 6000 records has" "the first has 'content', 'id', 'url'"
says 'missing = "allow"'
[ ! -e out/latest ] || fail 'it was published'
# What is done is not read again, and is judged again.
expect 2 go text=nocolumn --workers 1
says 'which none of 6000 records has'
expect 2 go text=contents
says "reads 'contents' (did you mean 'content'?)"
expect 2 go text=contents isolate=true
says "reads 'contents' (did you mean 'content'?)" "'content', 'id', 'url'"
expect 2 go text=content column=urls
says "reads 'urls' (did you mean 'url'?)"

expect 0 go text=content column=url
expect 0 go text=nocolumn missing=allow
expect 0 go input=one.jsonl
expect 0 go input=null.jsonl
expect 0 go input=empty.jsonl
# Nobody uses the text.
expect 0 go keep=false
