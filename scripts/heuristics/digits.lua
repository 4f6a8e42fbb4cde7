-- digits - drops text that is mostly numbers: tables, logs, dumps.
--
--   local digits = require "heuristics.digits"
--   docs | digits { max = 0.15 }
local s = require "sluice"

return s.heuristic { "digits",
  summary  = "Share of digits among all characters",
  options  = { max = { "float", 0.25, min = 0, max = 1, doc = "Largest share of characters that are digits." } },
  measure  = function(doc) return doc.text:share "digit" end,
  drop     = { above = "max" },
  examples = {
    { "In 1969 two people walked on the moon.", keep = true },
    { "2024-01-03 17:04:55 0x00 200 1532 10.0.0.7", keep = false },
  },
}
