-- NAME_HERE - a filter: drops documents that have fewer words than `min_words`.
--
--   local NAME_HERE = require "NAME_HERE"
--   docs | NAME_HERE { min_words = 5 }
local s = require "sluice"

return s.filter { "NAME_HERE",
  summary  = "Drops documents of few words",
  options  = { min_words = { "int", 5, min = 0, max = 1000000, doc = "Fewest words of a document that is kept." } },
  -- A reason ([a-z0-9_]+) drops the document, nil keeps it; then what was measured, and what it was compared with.
  row      = function(doc, o)
    local words = (doc.text or ""):n_words() -- a null is nil
    if words < o.min_words then return "too_short", words, o.min_words end
  end,
  examples = {
    { "The tide rises and falls twice a day.", keep = true },
    { "Home About Contact", keep = false, reason = "too_short" },
  },
}
