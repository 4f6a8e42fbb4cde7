# layouts.sh - write_jsonl's layouts: what stands in the record, what in its `metadata`, no member twice and none lost; read back it is the same again.
. "$SRC/tests/lib.sh"

cat >in.jsonl <<'J'
{"id":"a","text":"one","metadata":{"url":"http://x","n":1},"source":"cc","added":"2020"}
{"id":"b","text":"two","extra":[1,2],"metadata":{"url":"http://y"}}
{"id":"c","text":"three"}
{"id":"d","text":"four","url":"outside","metadata":{"url":"inside","source":"in"},"source":"out"}
{"id":"e","text":"five","metadata":{}, "attributes":{"x":[[0,1,2.5]]}}
J
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "string", "in.jsonl" }, layout = { "string" }, out = { "path" }, url = { "bool", false } }
local docs = s.files(a.input) | s.read_jsonl { columns = a.url and { ["metadata.url"] = "utf8" } or nil }
  | s.annotate { "length", function(doc) return { n_chars = #doc.text } end, adds = { n_chars = "int64" } }
return s.pipeline { "p", docs | s.write_jsonl { a.out, compression = "none", layout = a.layout } }
L
for layout in datatrove dolma; do
    for url in false true; do
        expect 0 "$SLUICE" run p.lua --quiet --run-dir run "layout=$layout" "out=out" url=$url --workers 2 --batch 4KiB
        echo "$layout $url"
        lines out
        # What was written is read, and written so again: nothing changes but the order in `metadata`.
        expect 0 "$SLUICE" run p.lua --quiet --run-dir again "input=$PWD/out/latest/*" "layout=$layout" out=again url=$url
        lines out | tr ',{}' '\n\n\n' | LC_ALL=C sort >left
        lines again | tr ',{}' '\n\n\n' | LC_ALL=C sort >right
        cmp left right >&2 || fail "$layout: another record when it is written again"
        rm -rf out again
    done
done
expect 2 "$SLUICE" check p.lua layout=flatt out=out
says "did you mean 'flat'?"
printf '%s\n' '{"id":"f","text":"six","metadata":3}' '{"id":"g","text":"seven","metadata":null,"more":"x"}' >odd.jsonl
expect 0 "$SLUICE" run p.lua --quiet --run-dir odd.run input=odd.jsonl layout=datatrove out=odd
lines odd
