-- NAME_HERE - a reader: lines of an id, a tab and a text become documents.
--
--   local NAME_HERE = require "NAME_HERE"
--   local docs = s.files "data/*.tsv.zst" | NAME_HERE {}
--
-- The host finds, opens, decompresses and cuts the files. A line that is no record is quarantined with its bytes, and the run goes on.
local s = require "sluice"

return s.reader { "NAME_HERE",
  summary  = "Lines of an id, a tab and a text",
  options  = { max_id_bytes = { "int", 200, min = 1, max = 10000, doc = "Longest id; a line with a longer one is no record." } },
  gives    = { text = "utf8", id = "utf8" },
  -- A row; or false: nothing is there; or nil, a reason ([a-z0-9_]+) and a detail for people.
  record   = function(line, o)
    if line == "" then return false end
    local id, text = line:match "^([^\t]*)\t(.*)$"
    if id == nil then return nil, "no_tab", "the line has no tab between id and text" end
    if #id > o.max_id_bytes then return nil, "long_id", "the id is longer than max_id_bytes" end
    return { id = id, text = text }
  end,
  examples = {
    { "tides\tTwice a day.", gives = { id = "tides", text = "Twice a day." } },
    { "", skips = true },
    { "no tab in this line", bad = "no_tab" },
  },
}
