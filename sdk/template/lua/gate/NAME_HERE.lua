-- NAME_HERE - a gate: halts the run when too large a share of its documents is short.
--
--   local NAME_HERE = require "NAME_HERE"
--   docs | NAME_HERE { max_share = 0.2 }
--
-- A gate lets all rows pass. Each task adds up what `measure` says, the host adds up the tasks, and `judge` decides before anything is
-- published. Measures are integers, so that the sum doesn't depend on the order.
local s = require "sluice"

return s.gate { "NAME_HERE",
  summary  = "Halts the run when too many documents are short",
  options  = {
    min_bytes = { "int", 20, min = 0, max = 1000000, doc = "Fewest bytes of a document that isn't short." },
    -- judge = true: only `judge` looks at it, so changing it counts nothing again.
    max_share = { "float", 0.5, min = 0, max = 1, doc = "Largest share of short documents.", judge = true },
  },
  sums     = { "short" },
  measure  = function(doc, o) return { short = #(doc.text or "") < o.min_bytes and 1 or 0 } end,
  -- "halt" or "warn" and a message, or nil. sums.rows is how many rows there were.
  judge    = function(sums, o)
    if sums.short > o.max_share * sums.rows then
      return "halt", ("%d of %d documents are short, expected max_share = %g or less. Likely cause: the input changed: see `sluice report`")
        :format(sums.short, sums.rows, o.max_share)
    end
  end,
  examples = {
    { "Home About Contact", measures = { short = 1 } },
    { "The tide rises and falls twice a day.", measures = { short = 0 } },
    { sums = { rows = 10, short = 5 }, judges = "pass" },
    { sums = { rows = 10, short = 6 }, judges = "halt" },
  },
}
