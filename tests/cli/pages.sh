# pages.sh - report, try, diff --html and label --html: pages that load nothing, whose markup is whole, which say what the commands say and in which
# a text from outside is text.
. "$SRC/tests/lib.sh"

mkdir in
"$PYTHON" - <<'P'
import json
with open("in/a.jsonl", "w") as out:
    for n in range(400):
        out.write(json.dumps({"id": f"<i>{n}", "text": "<script>alert(1)</script> " + "7" * (n % 100) + "x" * (100 - n % 100)}) + "\n")
P
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { max = { "float", 0.5 } }
local docs = s.files "in/*" | s.read_jsonl {}
local kept = docs | s.heuristic { "digits", options = { max = { "float", 0.5, min = 0, max = 1 } },
  measure = function(doc) return doc.text:share "digit" end, drop = { above = "max" } } { max = a.max }
return s.pipeline { "p", kept | s.write_jsonl { "out", compression = "none" }, kept.dropped | s.write_jsonl { "dropped", compression = "none" } }
L

# page FILE: whole markup, nothing loaded, no text as markup; its text in FILE.txt
page() {
    "$PYTHON" - "$1" <<'P' || fail "$1 is no page that stands alone"
import html.parser, re, sys
raw = open(sys.argv[1], encoding="utf-8").read()
assert len(raw) < 2_000_000, len(raw)
assert not re.search(r"(?i)\b(src|href)=|@import|url\(|https?://(?!www\.w3\.org/2000/svg)", raw.split("<script>", 1)[0]), "something is loaded"
assert "default-src 'none'" in raw
assert "alert(1)</script>" not in raw.replace("&lt;", "\0")
text, stack = [], []
class Page(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "html"):
            stack.append(tag)
    def handle_endtag(self, tag):
        if tag != "html":
            assert stack and stack.pop() == tag, (tag, self.getpos())
    def handle_startendtag(self, tag, attrs):
        pass
    def handle_data(self, data):
        if stack and stack[-1] not in ("style", "script"):
            text.append(data)
Page().feed(raw)
assert not stack, stack
open(sys.argv[1] + ".txt", "w").write(" ".join(" ".join(text).split()))
P
}

# has FILE TEXT...
has() {
    _page=$1
    shift
    for _text in "$@"; do
        grep -qF -e "$_text" "$_page.txt" || fail "$_page does not say '$_text'"
    done
}

expect 0 "$SLUICE" run p.lua --quiet
expect 0 "$SLUICE" report p --html report.html --price 0.05
[ ! -s "$TMP/stdout" ] || fail 'report --html printed something'
page report.html
has report.html 'The run finished' '400 records read, 252 rows in out, 148 rows in dropped.' 'read_jsonl 400 rows' '400 in, 252 out' 'digits: digits, 148 rows' 'limit 0.5' \
    '4 documents nearest to the limit' "alert(1)</script>" 'Bound by'
grep -q 'class="edge"' report.html || fail 'the graph has no edges'
grep -q 'stroke-dasharray="6 4"' report.html || fail 'the graph has no edge of dropped rows'
is "$(grep -c 'class="bar"' report.html)" 37 'bars of the histogram'

expect 0 "$SLUICE" sample p.lua --at digits -n 200 -o s.jsonl --quiet
expect 0 "$SLUICE" try p.lua s.jsonl --stage digits --html try.html
page try.html
has try.html 'Why documents were dropped' 'What was measured' 'dropped, nearest to the limit first' 'kept, nearest to the limit first'
cat >edit.lua <<'L'
local s = require "sluice"
return s.annotate { "edit", adds = { text = "utf8" }, function(doc) return { text = (doc.text:gsub("alert", "calm")) } end }
L
if ! "$SLUICE" try edit.lua s.jsonl --html edit.html >edit.txt 2>&1; then cat edit.txt >&2; fail 'a stage that edits'; fi
page edit.html
grep -q '200 texts changed' edit.txt || fail "try does not count texts: $(head -n 3 edit.txt)"
grep -qF '[-<script>alert(1)</script> -]{+<script>calm(1)</script> +}' edit.txt || fail 'try shows no edits'
has edit.html 'texts changed 200 (100.0 %)'
grep -q '<del>.*</del><ins>' edit.html || fail 'the page shows no edits'

expect 0 "$SLUICE" run p.lua max=0.25 --quiet
expect 0 "$SLUICE" diff out@1 out@2 --key id --html diff.html
page diff.html
has diff.html 'What differs' 'Rows by id' 'digits' '-50.8 %' '+86.5 %'

printf '<i>0\tkeep\n' >labels.tsv
expect 0 "$SLUICE" label s.jsonl --labels labels.tsv --html label.html -n 50
page label.html
is "$(grep -c '<article ' label.html)" 50 'documents to label'
has label.html 'more documents are not here'
expect 2 "$SLUICE" label s.jsonl
says 'give --labels FILE'
expect 2 "$SLUICE" label s.jsonl --labels labels.tsv
says 'label --html'

# Ten thousand reasons: a line each, in a page that is not larger than it may be.
cat >many.lua <<'L'
local s = require "sluice"
local names = {}
for n = 0, 9999 do names[#names + 1] = "reason_number_" .. n end
local kept = s.files "texts/*" | s.read_jsonl {} | s.filter { "many", reasons = names, function(doc) return "reason_number_" .. doc.id, #doc.text, 300 end }
return s.pipeline { "many", kept | s.write_jsonl { "many_out", compression = "none" } }
L
mkdir texts
"$PYTHON" -c '
import json
with open("texts/a.jsonl", "w") as out:
    for n in range(10000): out.write(json.dumps({"id": str(n), "text": "x" * (n % 299 + 1)}) + "\n")'
expect 0 "$SLUICE" run many.lua --quiet
expect 0 "$SLUICE" report many --html many.html
page many.html
has many.html '10000 rows were dropped for 10000 reasons.' 'reason_number_0 ' 'reason_number_9999 ' '(40 of 10000 reasons)'
if [ -n "${PAGES_TO-}" ]; then cp ./*.html "$PAGES_TO/"; fi
