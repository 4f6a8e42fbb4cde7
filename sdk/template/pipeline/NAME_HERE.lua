-- NAME_HERE - documents of JSON Lines: the good ones, without near-duplicates, and beside them the dropped ones with the reason.
--
--   sluice check NAME_HERE.lua input='data/*.jsonl*'      finds what is wrong before any data is read
--   sluice run NAME_HERE.lua input='data/*.jsonl*'        and again after a change: only what depends on it runs
--
-- `sluice inspect` lists all stages, `sluice inspect gopher_quality` their options; `sluice plugins` what is installed.
local s = require "sluice"

local a = s.args {
  input = { "glob", "data/*.jsonl*", doc = "files with one JSON object a line, plain or compressed by gzip or zstd" },
  text  = { "string", "text", doc = "member that holds a document's text" },
  id    = { "string", "id", doc = "member that names a document" },
  out   = { "path", "out", doc = "folder of the datasets" },
}

local docs = s.files(a.input) | s.read_jsonl { text = a.text, id = a.id }

local good = docs
  | s.gopher_quality { min_doc_words = 50 }
  | s.gopher_repetition {}
  -- A rule of your own: a text drops the document for that reason, nil keeps it.
  | s.filter { "placeholder", function(doc)
      if doc.text:contains "lorem ipsum" then return "placeholder" end
    end }

local unique = good | s.minhash {}

return s.pipeline { "NAME_HERE",
  unique         | s.write_jsonl { a.out .. "/kept" },
  unique.dropped | s.write_jsonl { a.out .. "/dropped" },
}
