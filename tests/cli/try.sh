# sluice try: a stage on a sample, by file, by pipeline and by name; errors; what changed against an older version.
"$PYTHON" - <<'END'
import json
with open("s.jsonl", "w") as out:
    for n in range(40):
        digits = "7" * n
        out.write(json.dumps({"id": f"d{n}", "text": "x" * (100 - n) + digits, "lang": "en" if n % 3 else "de", "n": n,
                              "big": 1e20, "deep": {"a": [n]}}) + "\n")
END
cat >h.lua <<'END'
local s = require "sluice"
return s.heuristic { "digits", options = { max = { "float", 0.25, min = 0, max = 1 } },
  measure = function(doc) return doc.text:share "digit" end, drop = { above = "max" } }
END
clock() { sed -e 's/^  [0-9.]* s: .*/  SPEED/' -e 's/"seconds":[0-9.e-]*/"seconds":0/'; }
echo '-- side by side, and by a column'
"$SLUICE" try h.lua s.jsonl --by lang --examples 2 | clock
echo '-- a narrow terminal'
COLUMNS=60 "$SLUICE" try h.lua s.jsonl --examples 1 --option max=0.1 | clock
echo '-- for programs'
"$SLUICE" try h.lua s.jsonl --examples 1 --json --by lang | clock
echo '-- a filter with several reasons, values and errors'
cat >f.lua <<'END'
local s = require "sluice"
return s.filter { "rules", function(doc)
    if doc.n == 3 or doc.n == 5 then return doc.text + 1 end
    if doc.lang == "de" then return "german" end
    if doc.n > 30 then return "late", doc.n, 30 end
  end }
END
"$SLUICE" try f.lua s.jsonl --examples 2 | clock
echo '-- a pipeline: its stage, with its options'
cat >p.lua <<'END'
local s = require "sluice"
local a = s.args { min = { "int", 5 } }
local short = s.annotate { "lengths", adds = { length = "int64", kind = "utf8" },
  function(doc) return { length = #doc.text, kind = doc.lang } end }
local docs = s.files "in/*.jsonl" | s.read_jsonl {} | short {} | s.gopher_quality { min_doc_words = a.min, min_stop_words = 0 } | s.exact {}
return s.pipeline { "p", docs | s.write_jsonl { "out" } }
END
"$SLUICE" try p.lua s.jsonl min=2 --stage gopher_quality --examples 1 | clock
"$SLUICE" try p.lua s.jsonl --stage lengths --examples 1 | clock
echo '-- a stage by name, which asks for words'
"$SLUICE" try gopher_quality s.jsonl --option min_doc_words=1 --option min_stop_words=0 --examples 0 | clock
echo '-- compared'
sed 's/0.25/0.3/' h.lua >old.lua
"$SLUICE" try h.lua s.jsonl --compare old.lua --examples 2 | clock
"$SLUICE" try old.lua s.jsonl --compare h.lua --examples 1 --json | clock
"$SLUICE" try h.lua s.jsonl --compare h.lua | clock
echo '-- compared with a revision'
if command -v git >/dev/null; then
    mkdir repo
    cp old.lua repo/h.lua
    (cd repo && git init -q . && git add h.lua && git -c user.name=t -c user.email=t@example.org commit -qm one) || exit 1
    cp h.lua repo/h.lua
    "$SLUICE" try repo/h.lua s.jsonl --compare git:HEAD --examples 1 | clock >git.out
    "$SLUICE" try repo/h.lua s.jsonl --compare git:nothing 2>/dev/null
    echo "status $?"
    sed 's/git:HEAD/old.lua/' git.out >git.same
    "$SLUICE" try h.lua s.jsonl --compare old.lua --examples 1 | clock | cmp - git.same
else
    echo 'status 2'
fi
echo '-- mistakes'
cut -c1-20 s.jsonl >cut.jsonl
echo '{"id":"a","text":"no number that a reader takes","n":100000000000000000000}' >huge.jsonl
echo '{"id":"a","body":"another name"}' >textless.jsonl
: >empty.jsonl
sed 's/doc.lang/doc.lnag/' f.lua >field.lua
echo 'return 1 +' >broken.lua
try() {
    "$SLUICE" try "$@" >result 2>&1
    status=$?
    clock <result | sed "s/ Nothing found in .*//"
    echo "status $status"
}
try h.lua
try h.lua cut.jsonl
try h.lua huge.jsonl
try h.lua textless.jsonl
try h.lua empty.jsonl
try h.lua absent.jsonl
try absent.lua s.jsonl
try field.lua s.jsonl
try broken.lua s.jsonl
try p.lua s.jsonl --examples 1
try p.lua s.jsonl --json --stage lengths --examples 0
try p.lua s.jsonl --stage length
try p.lua s.jsonl --stage exact
try p.lua s.jsonl --stage read_jsonl
try h.lua s.jsonl --option mx=1
try h.lua s.jsonl --option max=2
try h.lua s.jsonl --by lnag
try gopher_qualty s.jsonl
try h.lua s.jsonl --label
try h.lua s.jsonl --watch --compare h.lua
try gopher_quality s.jsonl --watch
try gopher_quality s.jsonl min=3
try gopher_quality s.jsonl --stage words
cat >two.lua <<'END'
local s = require "sluice"
local M = {}
M.a = s.filter { "a", function(doc) end }
M.b = s.filter { "b", function(doc) if doc.n > 20 then return "b" end end }
return M
END
try two.lua s.jsonl
try two.lua s.jsonl --stage b --examples 0
