# sluice try --sweep: one run and many thresholds, equal to a run for each; precision and recall; the page.
"$PYTHON" - <<'END'
import json
with open("s.jsonl", "w") as out, open("labels.tsv", "w") as labels:
    for n in range(200):
        digits = n * 37 % 100
        out.write(json.dumps({"id": f"d{n}", "text": "7" * digits + "x" * (100 - digits), "lang": "<en>" if n % 3 else "de"}) + "\n")
        if n % 2 == 0:
            labels.write(f"d{n}\t{'drop' if digits > 50 else 'keep'}\n")
    labels.write("nobody\tkeep\n")
END
clock() { sed -e 's/^  [0-9.]* s: .*/  SPEED/' -e 's/"seconds":[0-9.e-]*/"seconds":0/'; }
cat >h.lua <<'END'
local s = require "sluice"
return s.heuristic { "digits", options = { max = { "float", 0.5, min = 0, max = 1 }, min = { "float", 0.1 } },
  measure = function(doc) return doc.text:share "digit" end, drop = { above = "max", below = "min" } }
END
"$SLUICE" try h.lua s.jsonl --sweep max=0.1..0.9:5 --by lang --labels labels.tsv --html page.html | clock
echo '-- each threshold by a run of its own'
"$SLUICE" try h.lua s.jsonl --sweep max=0.1..0.9:5 --json | sed -n 's/.*"event":"threshold","kept":\([0-9]*\),.*"threshold":\([0-9.]*\).*/\2 \1/p' >sweep
while read -r threshold kept; do
    "$SLUICE" try h.lua s.jsonl --option max="$threshold" --examples 0 --json | grep -q "\"kept\":$kept," || echo "$threshold: not $kept"
done <sweep
wc -l <sweep
echo '-- the other limit'
"$SLUICE" try h.lua s.jsonl --sweep min=0..0.2:3 | sed -n '/ min  /,$p'
echo '-- a measure that looks at the limit'
sed 's/doc.text:share "digit"/math.min(doc.text:share "digit", o.max + 0.1)/; s/function(doc)/function(doc, o)/' h.lua >looks.lua
"$SLUICE" try looks.lua s.jsonl --sweep max=0.1..0.9:5 | clock | tail -n 8
echo '-- a filter: no limit is known'
cat >f.lua <<'END'
local s = require "sluice"
return s.filter { "short", options = { least = { "int", 3 } }, function(doc, o) if doc.text:count "7" < o.least then return "short" end end }
END
"$SLUICE" try f.lua s.jsonl --sweep least=0..50:3 | clock | tail -n 6
echo '-- the page stands alone'
grep -c -i -e 'src=' -e 'href=' -e '@import' -e 'url(' page.html
grep -o -e '<rect' page.html | wc -l
grep -c '&lt;en&gt;' page.html
"$PYTHON" - <<'END'
import html.parser
open_tags = []
class Check(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "html"):
            open_tags.append(tag)
    def handle_endtag(self, tag):
        if tag == "html":
            assert not open_tags, open_tags
            return
        while open_tags and open_tags[-1] in ("td", "th", "tr") and tag not in (open_tags[-1],):
            open_tags.pop()
        assert open_tags.pop() == tag, tag
Check().feed(open("page.html").read())
END
echo "parsed: $?"
echo '-- labels alone, as JSON lines'
sed 's/^\([^\t]*\)\t\(.*\)$/{"id":"\1","label":"\2"}/' labels.tsv >labels.jsonl
"$SLUICE" try h.lua s.jsonl --labels labels.jsonl --examples 1 | clock
echo '-- mistakes'
for wrong in max max=1 max=0.5..0.1 max=a..b max=0.1..0.5:1 mx=0..1 over=0..1; do
    "$SLUICE" try h.lua s.jsonl --sweep "$wrong" 2>&1 >/dev/null
done
echo 'd1 keep' >bad.tsv
"$SLUICE" try h.lua s.jsonl --labels bad.tsv 2>&1 >/dev/null
"$SLUICE" try h.lua s.jsonl --labels none.tsv 2>&1 >/dev/null
echo "status $?"
