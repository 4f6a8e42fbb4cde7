-- NAME_HERE - a transform: makes a row of each line of a document that has `min_bytes` or more.
--
--   local NAME_HERE = require "NAME_HERE"
--   docs | NAME_HERE { min_bytes = 10 }
--
-- A transform gives whole rows: the columns of `gives` are all there are. The host keeps from which document each row came.
local s = require "sluice"

return s.transform { "NAME_HERE",
  summary  = "A row for each line of a document",
  options  = { min_bytes = { "int", 10, min = 1, max = 1000000, doc = "Fewest bytes of a line that becomes a row." } },
  gives    = { text = "utf8", line = "int64" },
  row      = function(doc, o, emit)
    local line = 0
    for text in ((doc.text or "") .. "\n"):gmatch "([^\n]*)\n" do
      line = line + 1
      if #text >= o.min_bytes then emit { text = text, line = line } end
    end
  end,
  examples = {
    { "The tide comes in.\nYes.\nThe tide goes out.", gives = { { text = "The tide comes in.", line = 1 }, { text = "The tide goes out.", line = 3 } } },
    { "No.", gives = {} },
  },
}
