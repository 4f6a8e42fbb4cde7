-- Files through NAME_HERE, which makes documents of those parts of them that are asked for.
--   sluice run pipeline.lua                       the sample
--   sluice run pipeline.lua input='data/*.shelf'  your own files
local s = require "sluice"
local stage = STAGE_HERE
local a = s.args {
  input = { "glob", "test/sample.shelf", doc = "what to read" },
  out   = { "path", "out", doc = "dataset folder that is written" },
}

local docs = s.files(a.input) | stage { least = 10 }

return s.pipeline { "NAME_HERE",
  docs | s.write_jsonl { a.out, compression = "none" },
  max_bad = "50%",
}
