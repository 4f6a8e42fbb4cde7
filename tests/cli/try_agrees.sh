# sluice try says of each document what a run does with it: kept, dropped for which reason with which value, or quarantined.
"$PYTHON" - <<'END'
import json, random
random.seed(2)
words = "the quick brown fox and that lazy dog have met to be of use with 2024 77 x9 lorem ipsum".split()
with open("s.jsonl", "w") as out:
    for n in range(1500):
        lines = [" ".join(random.choices(words, k=random.randint(1, 40))) + random.choice([".", "", " ..."]) for _ in range(random.randint(1, 9))]
        lines += [lines[0]] * random.randint(0, 3)
        row = {"id": f"d{n}", "text": "\n".join(lines), "lang": "en" if n % 3 else "de", "n": n, "share": n / 7, "site": "blog"}
        if n % 11 == 0:
            del row["lang"]
        out.write(json.dumps(row)[:-1] + (', "mark": 1.50' if n % 13 == 0 else "") + "}\n")
END
cat >rules.lua <<'END'
local s = require "sluice"
return s.filter { "rules", function(doc)
    if doc.n % 200 == 7 then return doc.text + 1 end
    if doc.share > 180 then return "large", doc.share, 180 end
    if doc.metadata:find('"lang":"de"', 1, true) then return "german" end
    if doc.metadata:find('"mark":1.50', 1, true) then return "marked" end -- byte by byte
  end }
END
cat >p.lua <<'END'
local s = require "sluice"
local a = s.args { stage = { "string", "" } }
local stages = {
  rules = function(docs) return docs | require "rules" {} end,
  gopher_quality = function(docs) return docs | s.gopher_quality { min_doc_words = 30 } end,
  gopher_repetition = function(docs) return docs | s.gopher_repetition {} end,
  fineweb_quality = function(docs) return docs | s.fineweb_quality {} end,
  c4_quality = function(docs) return docs | s.c4_quality {} end,
}
local columns = { n = "int64", share = "float64" }
local out = stages[a.stage](s.files "s.jsonl" | s.read_jsonl { columns = columns })
return s.pipeline { "p", max_bad = "100%",
  out | s.write_jsonl { "out", compression = "none" }, out.dropped | s.write_jsonl { "dropped", compression = "none" } }
END
cat >agree.py <<'END'
import glob, json, sys
def rows(folder):
    return [json.loads(line) for name in sorted(glob.glob(folder + "/latest/*.jsonl")) for line in open(name)]
ran = {r["id"]: ("kept", None, None, None) for r in rows("out")}
ran.update({r["id"]: ("dropped", r["drop_reason"], r["drop_value"], r["drop_limit"]) for r in rows("dropped")})
tried = {}
for line in sys.stdin:
    e = json.loads(line)
    if e["event"] == "example":
        dropped = e["fate"] == "dropped"
        tried[e["id"]] = (e["fate"], e.get("reason") if dropped else None, e.get("value", 0.0) if dropped else None,
                          e.get("limit", 0.0) if dropped else None)
bad = {id for id, fate in tried.items() if fate[0] == "quarantined"}
for id in tried:
    want = ran.get(id, ("quarantined", None, None, None))
    if want != tried[id]:
        print(id, "ran", want, "tried", tried[id])
count = lambda what: sum(fate[0] == what for fate in tried.values())
print(sys.argv[1] + ":", len(tried), "documents,", "some kept," if count("kept") else "none kept,",
      "some dropped," if count("dropped") else "none dropped,", len(bad), "quarantined")
END
for stage in rules gopher_quality gopher_repetition fineweb_quality c4_quality; do
    rm -rf out dropped
    "$SLUICE" run p.lua stage=$stage --fresh --quiet 2>/dev/null || echo "$stage: status $?"
    "$SLUICE" try p.lua s.jsonl stage=$stage --stage $stage --json --examples 100000 --workers 3 | "$PYTHON" agree.py $stage
done
cat >explode.lua <<'END'
local s = require "sluice"
local explode = s.transform { "explode", gives = { word = "utf8", of = "utf8" }, row = function(doc, o, emit)
    if doc.id == "d99" then error "no words here" end
    for word in doc.text:gmatch "%S+" do emit { word = word, of = doc.id } end
  end }
return s.pipeline { "explode", max_bad = "100%",
  s.files "s.jsonl" | s.read_jsonl {} | explode | s.write_jsonl { "words", compression = "none" } }
END
"$SLUICE" run explode.lua --fresh --quiet || echo "explode: status $?"
made=$("$SLUICE" try explode.lua s.jsonl --json --examples 0 | sed -n 's/.*"made":\([0-9]*\),.*"quarantined":\([0-9]*\),.*/\1 made, \2 quarantined/p')
[ "$made" = "$(cat words/latest/*.jsonl | wc -l) made, 1 quarantined" ] || echo "the run made $(cat words/latest/*.jsonl | wc -l), tried: $made"
