-- Documents past NAME_HERE, which halts the run when too many of them are short.
--   sluice run pipeline.lua                       the sample
--   sluice run pipeline.lua input='data/*.zst'    your own files
local s = require "sluice"
local stage = STAGE_HERE
local a = s.args {
  input     = { "glob", "test/sample.jsonl", doc = "JSON lines to read" },
  out       = { "path", "out", doc = "dataset folder that is written" },
  max_share = { "float", 0.5, min = 0, max = 1, doc = "largest share of short documents" },
}

local docs = s.files(a.input) | s.read_jsonl {}

return s.pipeline { "NAME_HERE",
  docs | stage { min_bytes = 20, max_share = a.max_share } | s.write_jsonl { a.out, compression = "none" },
}
