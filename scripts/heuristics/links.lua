-- links - drops pages that are little but addresses: link lists, sitemaps, indexes.
--
--   local links = require "heuristics.links"
--   docs | links { max = 0.1 }
local s = require "sluice"

return s.heuristic { "links",
  summary  = "Addresses (://) for each word",
  options  = { max = { "float", 0.2, min = 0, max = 1, doc = "Most addresses for each word." } },
  measure  = function(doc)
    local words = doc.text:n_words()
    return words == 0 and 0 or doc.text:count "://" / words
  end,
  drop     = { above = "max" },
  examples = {
    { "The manual is at https://www.debian.org/doc/ and in the package debian-reference.", keep = true },
    { "https://example.org/a https://example.org/b next https://example.org/c", keep = false },
  },
}
