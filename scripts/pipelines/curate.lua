-- curate - JSON Lines in, the good and unique ones out, as JSON Lines.
--
--   sluice run scripts/pipelines/curate.lua input='corpus/*.jsonl.zst' out=out
--
-- Copy it to your data and change it; its run is kept in .sluice/ beside the script, or in --run-dir.
--
-- Every other member of a record passes through untouched. out/dropped has what was dropped, with
-- stage, reason, value and limit.
local s = require "sluice"
local shouting = require "heuristics.shouting"
local links = require "heuristics.links"

local a = s.args {
  input = { "glob", "corpus/*.jsonl*", doc = "JSON Lines to read: plain, gzip or zstd" },
  out   = { "path", "out", doc = "folder of the datasets" },
  text  = { "string", "text", doc = "member that holds the text" },
  id    = { "string", "id", doc = "member that names the record" },
}

local docs   = s.files(a.input) | s.read_jsonl { text = a.text, id = a.id }
local good   = docs
             | s.gopher_repetition {}
             | s.gopher_quality {}
             | s.fineweb_quality {}
             | shouting {}
             | links {}
local unique = good | s.exact {} | s.minhash { ngram = 5, bands = 14, rows = 8 }

return s.pipeline { "curate",
  s.named("kept", unique | s.write_jsonl { a.out .. "/kept" }),
  s.named("dropped", unique.dropped | s.write_jsonl { a.out .. "/dropped" }),
  max_bad = "0.1%",
}
