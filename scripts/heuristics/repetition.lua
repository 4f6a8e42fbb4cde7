-- repetition - Gopher's repetition rules (Rae et al. 2021, arXiv:2112.11446, appendix A1.1) from text primitives: repeated lines,
-- paragraphs and n-grams. The stage gopher_repetition decides the same, a little faster; this one is here to be changed.
--
--   local repetition = require "heuristics.repetition"
--   docs | repetition { line = 0.2 }
--
-- What is measured is how far the text goes beyond the first limit that it breaks, in parts of the limit; 0 if it breaks none.
local s = require "sluice"

local top = { [2] = "top_2", [3] = "top_3", [4] = "top_4" }
local dup = { [5] = "dup_5", [6] = "dup_6", [7] = "dup_7", [8] = "dup_8", [9] = "dup_9", [10] = "dup_10" }

return s.heuristic { "repetition",
  summary  = "Repeated lines, paragraphs and n-grams, in parts of their limits",
  options  = {
    max        = { "float", 1, min = 0, max = 100, doc = "How much of a limit may be used; 1.5 makes all limits half as large again." },
    line       = { "float", 0.3, min = 0, max = 1, doc = "Limit of the share of lines that repeat an earlier one." },
    paragraph  = { "float", 0.3, min = 0, max = 1, doc = "Limit of the share of paragraphs that repeat an earlier one." },
    line_chars = { "float", 0.2, min = 0, max = 1, doc = "Limit of the share of characters in repeated lines." },
    paragraph_chars = { "float", 0.2, min = 0, max = 1, doc = "Limit of the share of characters in repeated paragraphs." },
    top_2 = { "float", 0.20, min = 0, max = 1, doc = "Limit of the share of characters in the most frequent 2-gram." },
    top_3 = { "float", 0.18, min = 0, max = 1, doc = "Limit for the most frequent 3-gram." },
    top_4 = { "float", 0.16, min = 0, max = 1, doc = "Limit for the most frequent 4-gram." },
    dup_5 = { "float", 0.15, min = 0, max = 1, doc = "Limit of the share of characters in repeated 5-grams." },
    dup_6 = { "float", 0.14, min = 0, max = 1, doc = "Limit for repeated 6-grams." },
    dup_7 = { "float", 0.13, min = 0, max = 1, doc = "Limit for repeated 7-grams." },
    dup_8 = { "float", 0.12, min = 0, max = 1, doc = "Limit for repeated 8-grams." },
    dup_9 = { "float", 0.11, min = 0, max = 1, doc = "Limit for repeated 9-grams." },
    dup_10 = { "float", 0.10, min = 0, max = 1, doc = "Limit for repeated 10-grams." },
  },
  measure  = function(doc, o)
    local text, max = doc.text, o.max
    local function broken(share, limit) return limit > 0 and share > max * limit end
    local share = text:dup_para_share()
    if broken(share, o.paragraph) then return share / o.paragraph end
    share = text:dup_para_char_share()
    if broken(share, o.paragraph_chars) then return share / o.paragraph_chars end
    share = text:dup_line_share()
    if broken(share, o.line) then return share / o.line end
    share = text:dup_line_char_share()
    if broken(share, o.line_chars) then return share / o.line_chars end
    for n = 2, 4 do
      local limit = o[top[n]]
      if limit > 0 then
        share = text:top_ngram_share(n, max * limit)
        if share > 0 then return share / limit end
      end
    end
    for n = 5, 10 do
      local limit = o[dup[n]]
      if limit > 0 then
        share = text:dup_ngram_share(n, max * limit)
        if share > 0 then return share / limit end
      end
    end
    return 0
  end,
  drop     = { above = "max" },
  examples = {
    { "The river rose in the night and by morning the lower fields stood under water. Nobody had seen it come, and the " ..
      "dogs, who might have warned us, slept through everything in the barn above the road.", keep = true },
    { "Buy now!\nBuy now!\nBuy now!\nBuy now!\nOnly today.\n", keep = false },
  },
}
