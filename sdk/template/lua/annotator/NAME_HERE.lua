-- NAME_HERE - an annotator: adds the column `long_words`, how many words of a document have `min_length` bytes or more.
--
--   local NAME_HERE = require "NAME_HERE"
--   docs | NAME_HERE { min_length = 7 }
local s = require "sluice"

return s.annotate { "NAME_HERE",
  summary  = "Counts the long words of a document",
  options  = { min_length = { "int", 7, min = 1, max = 1000, doc = "Fewest bytes of a word that counts." } },
  adds     = { long_words = "int64" },
  row      = function(doc, o)
    local long = 0
    for word in (doc.text or ""):gmatch "%S+" do
      if #word >= o.min_length then long = long + 1 end
    end
    return { long_words = long }
  end,
  examples = {
    { "Currents follow whatever coastline there is.", gives = { long_words = 3 } },
    { "", gives = { long_words = 0 } },
  },
}
