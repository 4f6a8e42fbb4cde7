# paths.sh - members of members as columns: what a path finds, what a record is that has something else in its place, and that a path that
# leads nowhere is refused with what is there.
. "$SRC/tests/lib.sh"

cat >rows.jsonl <<'L'
{"text":"one","id":"1","metadata":{"url":"http://a","n":3,"deep":{"x":true}},"messages":[{"role":"user","content":"hi"}]}
{"text":"two","id":"2","metadata":{"n":4},"messages":[]}
{"text":"three","id":"3","metadata":null}
{"text":"four","id":"4","metadata.url":"flat","metadata":{"url":"nested"}}
{"text":"five","id":"5","metadata":{"u\u0072l":"escaped","list":[{"url":"other"}]}}
L
cat >worse.jsonl <<'L'
{"text":"six","id":"6","metadata":"no"}
{"text":"seven","id":"7","metadata":{"url":"a","url":"b"}}
{"text":"eight","id":"8","metadata":{"url":"a"},"metadata":{"x":1}}
{"text":"nine","id":"9","metadata":{"url":5}}
{"text":"ten","id":"10","messages":{"0":1}}
L
# script COLUMNS OPTIONS…
script() {
    cat >paths.lua <<L
local s = require "sluice"
local a = s.args { out = { "path", "out" } }
local docs = s.files { "rows.jsonl", "worse.jsonl" } | s.read_jsonl { columns = { $1 }, metadata = false$2 }
return s.pipeline { "paths", max_bad = 10, docs | s.write_jsonl { a.out, compression = "none" } }
L
}
columns='["metadata.url"] = "utf8", ["metadata.n"] = "int64", ["metadata.deep.x"] = "bool"'
script "$columns"
expect 0 "$SLUICE" run paths.lua --quiet --run-dir run
cat >wanted <<'L'
{"text":"one","id":"1","metadata.deep.x":true,"metadata.n":3,"metadata.url":"http://a"}
{"text":"two","id":"2","metadata.n":4}
{"text":"three","id":"3"}
{"text":"four","id":"4","metadata.url":"flat"}
{"text":"five","id":"5","metadata.url":"escaped"}
{"text":"ten","id":"10"}
L
lines out >found
cmp wanted found || fail 'rows of paths'
expect 0 "$SLUICE" why run --quarantine
says "wrong_type" "member 'metadata' is no object, expected 'metadata." "duplicate_key" "found the member 'metadata.url' twice" \
    "found the member 'metadata' twice" "member 'metadata.url' has another type than its column"

# An item of an array; all is for the parser then, and the other columns are the same.
script "$columns, [\"messages[0].content\"] = \"utf8\""
expect 0 "$SLUICE" run paths.lua --quiet --run-dir run.items out=items
is "$(lines items | sed -n 1p | member 'messages\[0\].content')" hi 'an item of an array'
lines items | grep -v '"id":"10"' | sed 's/"messages\[0\].content":"hi",//' >found
grep -v '"id":"10"' wanted | cmp - found || fail 'rows of paths with an index'
expect 0 "$SLUICE" why run.items --quarantine
says "member 'messages' is no array, expected 'messages[0].content' in it"

# The text and the id may be paths.
script '' ', text = "metadata.url", id = "metadata.n"'
expect 0 "$SLUICE" run paths.lua --quiet --run-dir run.text out=text
is "$(lines text | sed -n 1p)" '{"text":"http://a","id":"3"}' 'a text and an id by path'

# A path that no record has is an error that tells what there is.
script '["metadata.uri"] = "utf8"'
expect 2 "$SLUICE" run paths.lua --quiet --run-dir run.none out=none
says "reads 'metadata.uri' (did you mean 'metadata.url'?), which none of"
script '["metadata.uri"] = "utf8"' ', missing = "allow"'
expect 0 "$SLUICE" run paths.lua --quiet --run-dir run.allow out=allow
