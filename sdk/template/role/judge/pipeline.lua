-- Documents through NAME_HERE, which asks a server about each of them.
--   sluice run pipeline.lua                               the sample; a server must be at localhost:8000
--   sluice run pipeline.lua server=HOST:PORT input='data/*.zst'
local s = require "sluice"
local stage = STAGE_HERE
local a = s.args {
  input  = { "glob", "test/sample.jsonl", doc = "JSON lines to read" },
  server = { "string", "localhost:8000", doc = "who is asked, HOST:PORT" },
  out    = { "path", "out", doc = "dataset folder that is written" },
}

local docs = s.files(a.input) | s.read_jsonl {}
-- Nobody else is asked; so many requests at once, and so many tries before the run fails.
local scored = docs | stage { url = "http://" .. a.server .. "/score", ask = { hosts = { a.server }, in_flight = 16, tries = 8 } }

return s.pipeline { "NAME_HERE",
  scored | s.write_jsonl { a.out, compression = "none" },
}
