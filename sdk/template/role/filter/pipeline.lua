-- Documents through NAME_HERE; what it keeps is written.
--   sluice run pipeline.lua                       the sample
--   sluice run pipeline.lua input='data/*.zst'    your own files
local s = require "sluice"
local stage = STAGE_HERE
local a = s.args {
  input = { "glob", "test/sample.jsonl", doc = "JSON lines to read" },
  out   = { "path", "out", doc = "dataset folder that is written" },
}

local docs = s.files(a.input) | s.read_jsonl {}
local kept = docs | stage { min_words = 5 }

return s.pipeline { "NAME_HERE",
  kept | s.write_jsonl { a.out, compression = "none" },
}
