-- Documents into files by NAME_HERE.
--   sluice run pipeline.lua                       the sample
--   sluice run pipeline.lua input='data/*.zst'    your own files
local s = require "sluice"
local stage = STAGE_HERE
local a = s.args {
  input = { "glob", "test/sample.jsonl", doc = "JSON lines to read" },
  out   = { "path", "out", doc = "dataset folder that is written" },
}

local docs = s.files(a.input) | s.read_jsonl {}

return s.pipeline { "NAME_HERE",
  docs | stage { a.out, compression = "none" },
}
