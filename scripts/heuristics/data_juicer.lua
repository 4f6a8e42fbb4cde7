-- data_juicer - the numeric text filters of Data-Juicer 1.6 (data_juicer/ops/filter, Apache-2.0) with its measures and default thresholds, which
-- are those of BigScience's ROOTS. A document is dropped beyond a threshold, at it it is kept.
--
--   local juicer = require "heuristics.data_juicer"
--   docs | juicer.alphanumeric {} | juicer.special_characters {} | juicer.word_repetition { max = 0.3 }
--
-- What differs: the peer fetches its lists of stop words and flagged words; here they are the options `words`: stop words have a default of our
-- own, flagged words a short one. Its filters by a model (language, perplexity, tokens) are not here: see the stages language and
-- fasttext_filter. tests/parity/curator.sh compares every number and decision with the package.
local s = require "sluice"

local M = {}

-- Data-Juicer's special characters outside ASCII (from BigScience) with the emoji of one code point (emoji 2.2.0), in hexadecimal.
local special_ranges = [[
  81-85 91-93 95-99 9c-9d a1-ab ad-b4 b7-bf d7 f7-f8 131 26a 2ba-2bc 2c8 2cc 2d0 2d8 2da 2dc 3c0 413 60c 647 66a 66c 6e9 93e 940 947
  94d 97d 9be e51 2002-2003 2005 2008-200b 2010-2011 2013-2016 2018-201a 201c-2020 2022 2024 2026 202f-2030 2032-2033 2039-203a 203c
  203f 2043-2044 2049 20a8 20aa 20ac 2103 2122 2139 2190-2199 21a9-21aa 21d3 2206 2208 2212 221a 221e-221f 223c 2248 2256 2264-2265
  2295 22c5 231a-231b 2328 23cf 23e9-23f3 23f8-23fa 24c2 2550 25a0 25aa-25ac 25b2 25b4 25b6-25b7 25ba-25bc 25c0 25c6 25cf 25e6
  25fb-25fe 2600-2606 260e 2611 2614-2615 2618 261b 261d 2620 2622-2623 2626 262a 262e-262f 2638-263b 2640 2642 2648-2653 265f-2661
  2663 2665-2666 2668 266b 267b 267e-267f 2692-2697 2699 269b-269c 26a0-26a1 26a7 26aa-26ab 26b0-26b1 26bd-26be 26c4-26c5 26c8
  26ce-26cf 26d1 26d3-26d4 26e9-26ea 26f0-26f5 26f7-26fa 26fd 2702 2705 2708-270d 270f 2712-2714 2716 271d 2721 2726 2728 2731
  2733-2734 2744 2747 274c 274e 2753-2757 2763-2764 2795-2797 27a1 27a4 27a9 27b0 27bf 2800 2934-2935 2b05-2b07 2b1b-2b1c 2b50 2b55
  3000-3002 300a-300d 3010-3011 3030 303d 309c 30b7 30c3-30c4 30f3 30fb-30fc 3297 3299 4e00 4e0a 58eb fd3e-fd3f feff ff01 ff08-ff09
  ff0c ff0e ff11 ff1a-ff1b ff1f ff3e ff5e fffc-fffd 1f004 1f0cf 1f170-1f171 1f17e-1f17f 1f18e 1f191-1f19a 1f201-1f202 1f21a 1f22f
  1f232-1f23a 1f250-1f251 1f300-1f321 1f324-1f393 1f396-1f397 1f399-1f39b 1f39e-1f3f0 1f3f3-1f3f5 1f3f7-1f4fd 1f4ff-1f53d
  1f549-1f54e 1f550-1f567 1f56f-1f570 1f573-1f57a 1f587 1f58a-1f58d 1f590 1f595-1f596 1f5a4-1f5a5 1f5a8 1f5b1-1f5b2 1f5bc
  1f5c2-1f5c4 1f5d1-1f5d3 1f5dc-1f5de 1f5e1 1f5e3 1f5e8 1f5ef 1f5f3 1f5fa-1f64f 1f680-1f6c5 1f6cb-1f6d2 1f6d5-1f6d7 1f6dc-1f6e5
  1f6e9 1f6eb-1f6ec 1f6f0 1f6f3-1f6fc 1f7e0-1f7eb 1f7f0 1f90c-1f93a 1f93c-1f945 1f947-1f9ff 1fa70-1fa7c 1fa80-1fa88 1fa90-1fabd
  1fabf-1fac5 1face-1fadb 1fae0-1fae8 1faf0-1faf8
]]

local function special_set()
  local parts = { "\t-\r !-@[-`{-~" }
  for first, last in special_ranges:gmatch "(%x+)%-?(%x*)" do
    parts[#parts + 1] = utf8.char(tonumber(first, 16)) .. (last ~= "" and "-" .. utf8.char(tonumber(last, 16)) or "")
  end
  return table.concat(parts)
end

local special <const> = special_set()

local function share(count, whole)
  return whole == 0 and 0 or count / whole
end

local function bounds(kind, low, high, what)
  return { min = { kind, low, min = 0, max = 1e15, doc = "Smallest " .. what .. "." }, max = { kind, high, min = 0, max = 1e15, doc = "Largest " .. what .. "." } }
end

local both = { below = "min", above = "max" }
local prose = "It was a quiet morning, and the ferry had not yet come. On the pier stood a man with a cart of fish; he knew that it would be late."

M.alphanumeric = s.heuristic { "juicer_alphanumeric",
  summary  = "Share of characters that are letters or numbers",
  options  = bounds("float", 0.25, 1, "share"),
  measure  = function(doc) return doc.text:share "alnum" end,
  drop     = both,
  examples = { { prose, keep = true }, { "a + b - c * ( / ) ...", keep = false } },
}

M.average_line_length = s.heuristic { "juicer_average_line_length",
  summary  = "Characters of the text by its lines",
  options  = bounds("float", 10, 1e15, "mean length"),
  measure  = function(doc) return share(doc.text:chars(), doc.text:n_lines()) end,
  drop     = both,
  examples = { { prose, keep = true }, { "Home\nAbout\nHelp", keep = false } },
}

M.maximum_line_length = s.heuristic { "juicer_maximum_line_length",
  summary  = "Characters of the longest line",
  options  = bounds("int", 10, 1000000000000000, "length"),
  measure  = function(doc) return doc.text:pieces "lines":longest() end,
  drop     = both,
  examples = { { prose, keep = true }, { "Home\nAbout\nHelp", keep = false } },
}

M.text_length = s.heuristic { "juicer_text_length",
  summary  = "Characters",
  options  = bounds("int", 10, 1000000000000000, "length"),
  measure  = function(doc) return doc.text:chars() end,
  drop     = both,
  examples = { { prose, keep = true }, { "Home", keep = false } },
}

M.special_characters = s.heuristic { "juicer_special_characters",
  summary  = "Share of characters that are white space, digits, punctuation, symbols or emoji",
  options  = bounds("float", 0, 0.25, "share"),
  measure  = function(doc) return share(doc.text:count_in(special), doc.text:chars()) end,
  drop     = both,
  examples = { { "Where the river turns it is deep", keep = true }, { "1 + 2 = 3 \u{2605} yes", keep = false } },
}

-- Words between spaces, newlines and tabs, without special characters at their ends; those of nothing else left out.
local refined <const> = { between = " \n\t", strip = special, drop = "empty" }

M.words_num = s.heuristic { "juicer_words_num",
  summary  = "Words that are not special characters alone",
  options  = bounds("int", 10, 1000000000000000, "number"),
  measure  = function(doc) return #doc.text:pieces(refined) end,
  drop     = both,
  examples = { { prose, keep = true }, { "one two ... 3 4 5 6 7 8 9 10 ( * )", keep = false } },
}

M.word_repetition = s.heuristic { "juicer_word_repetition",
  summary  = "Share of the n-grams of words that occur more than once",
  options  = { n = { "int", 10, min = 1, max = 100, doc = "Words of an n-gram." },
               min = { "float", 0, min = 0, max = 1, doc = "Smallest share." }, max = { "float", 0.5, min = 0, max = 1, doc = "Largest share." } },
  measure  = function(doc, o)
    local words, all, repeated = doc.text:lower_unicode():pieces(refined), 0, 0
    for _, group in ipairs(words:ngrams(o.n)) do
      all = all + group.times * group.ngrams
      if group.times > 1 then repeated = all end
    end
    return share(repeated, all)
  end,
  drop     = both,
  examples = { { prose, keep = true }, { ("row the boat and "):rep(8), keep = false } },
}

M.character_repetition = s.heuristic { "juicer_character_repetition",
  summary  = "Share of the n-grams of characters that are among the most frequent ones (as many as the square root of their number)",
  options  = { n = { "int", 10, min = 1, max = 1000, doc = "Characters of an n-gram." },
               min = { "float", 0, min = 0, max = 1, doc = "Smallest share." }, max = { "float", 0.5, min = 0, max = 1, doc = "Largest share." } },
  measure  = function(doc, o)
    local groups, all, distinct, found = doc.text:char_ngrams(o.n), 0, 0, 0
    for _, group in ipairs(groups) do
      all = all + group.times * group.ngrams
      distinct = distinct + group.ngrams
    end
    local once = #groups > 0 and groups[#groups].times == 1 and groups[#groups].ngrams or 0
    local left = math.min(math.floor(math.sqrt(distinct)), distinct - once)
    for _, group in ipairs(groups) do
      local take = math.min(left, group.ngrams)
      found, left = found + take * group.times, left - take
    end
    return share(found, all)
  end,
  drop     = both,
  examples = { { prose, keep = true }, { ("ha"):rep(30), keep = false }, { "short", keep = true } },
}

local function share_of_words(doc, o)
  local words = doc.text:lower_unicode():pieces(refined)
  return share(words:counter():count(o.words), #words)
end

M.flagged_words = s.heuristic { "juicer_flagged_words",
  summary  = "Share of words that are flagged",
  options  = {
    words = { "list", { "porn", "porno", "pornography", "pornographic", "xxx", "nude", "nudes", "milf", "hentai", "blowjob", "cumshot", "gangbang" },
              doc = "Flagged words, in lower case." },
    min = { "float", 0, min = 0, max = 1, doc = "Smallest share." }, max = { "float", 0.045, min = 0, max = 1, doc = "Largest share." },
  },
  measure  = share_of_words,
  drop     = both,
  examples = { { prose, keep = true }, { "Free porn here, xxx!", keep = false } },
}

M.stopwords = s.heuristic { "juicer_stopwords",
  summary  = "Share of words that are stop words",
  options  = {
    min = { "float", 0.3, min = 0, max = 1, doc = "Smallest share." }, max = { "float", 1, min = 0, max = 1, doc = "Largest share." },
    words = { "list", { "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "because", "been", "before", "but", "by", "can",
                        "could", "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "here", "him", "his", "how", "i", "if", "in", "into",
                        "is", "it", "its", "just", "like", "made", "make", "many", "may", "me", "more", "most", "much", "must", "my", "no", "not", "now",
                        "of", "off", "on", "one", "only", "or", "other", "our", "out", "over", "own", "she", "should", "since", "so", "some", "such",
                        "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "through", "to", "too", "under",
                        "until", "up", "us", "very", "was", "we", "were", "what", "when", "where", "which", "while", "who", "why", "will", "with",
                        "would", "yet", "you", "your" },
              doc = "Stop words, in lower case." },
  },
  measure  = share_of_words,
  drop     = both,
  examples = { { prose, keep = true }, { "Buy shoes online cheap shoes sale", keep = false } },
}

return M
