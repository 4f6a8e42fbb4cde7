-- shouting - drops text in which too many letters are upper-case.
--
--   local shouting = require "heuristics.shouting"
--   docs | shouting { max = 0.3 }
local s = require "sluice"

return s.heuristic { "shouting",
  summary  = "Share of upper-case letters among all letters",
  options  = { max = { "float", 0.3, min = 0, max = 1, doc = "Largest share of letters that are upper-case." } },
  measure  = function(doc)
    local letters = doc.text:count_class "letter"
    return letters == 0 and 0 or doc.text:count_class "upper" / letters
  end,
  drop     = { above = "max" },
  examples = {
    { "The Order of the Lines is not significant.", keep = true },
    { "BUY NOW AND SAVE, ONLY TODAY", keep = false },
  },
}
