-- NAME_HERE - drops documents in which too many words are long.
--
--   local NAME_HERE = require "NAME_HERE"
--   docs | NAME_HERE { max = 0.4 }
--
-- A heuristic measures, and an option says what is too much: so the threshold can be swept (`sluice try NAME_HERE.lua SAMPLE
-- --sweep max=0.1..0.9`) and every verdict keeps the number. `sluice test NAME_HERE.lua` runs the examples.
local s = require "sluice"

return s.heuristic { "NAME_HERE",
  summary  = "Share of words of ten characters or more",
  options  = { max = { "float", 0.5, min = 0, max = 1, doc = "Largest share of words that are long." } },
  measure  = function(doc)
    local n, long = 0, 0
    for word in (doc.text or ""):gmatch "%S+" do
      n = n + 1
      if #word >= 10 then long = long + 1 end
    end
    return n == 0 and 0 or long / n
  end,
  drop     = { above = "max" },
  examples = {
    { "The order of the lines is not significant.", keep = true },
    { "Internationalisation considerations notwithstanding", keep = false },
  },
}
