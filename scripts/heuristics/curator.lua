-- curator - the numeric heuristics of NeMo Curator 1.4 (nemo_curator/stages/text/filters/heuristic, Apache-2.0) with its names, measures
-- and thresholds. A document is dropped beyond the threshold, at it it is kept.
--
--   local curator = require "heuristics.curator"
--   docs | curator.numbers {} | curator.urls { max = 0.1 } | curator.word_count { min = 100 }
--
-- What differs: a measure of no words, lines or letters raises ZeroDivisionError there, and keeps or drops here as 0 would;
-- common_english counts all hits there are (there: as many as are needed); words_with_letters knows the letters L* ([[:alpha:]] there also
-- the few other alphabetic characters). Of several n-grams that are the most frequent ones, top_ngrams takes the first; there the order of a
-- set decides, which changes from process to process. Its filter by a substring is
-- one line of s.filter. tests/parity/curator.sh compares every number and decision with the package.
local s = require "sluice"

local M = {}

-- Lines that are not blank, as they are (Curator's "sentences"), and without white space around them; paragraphs.
local filled <const> = { at = "\n", drop = "blank" }
local stripped <const> = { at = "\n", strip = true, drop = "blank" }
local paragraphs <const> = { at = "\n\n" }

local function share(count, whole)
  return whole == 0 and 0 or count / whole
end

-- Share of the characters; an empty text has 1 and is dropped.
local function of_chars(text, count)
  local chars = text:chars()
  return chars == 0 and 1 or count / chars
end

local function max(default, doc)
  return { max = { "float", default, min = 0, max = 1e6, doc = doc } }
end

local prose = "It was a quiet morning, and the ferry had not yet come. On the pier stood a man with a cart of fish; he knew that it would be late."

M.non_alpha_numeric = s.heuristic { "curator_non_alpha_numeric",
  summary  = "Share of characters that are no ASCII letter or digit, newline or ? ! , .",
  options  = max(0.25, "Largest share of such characters."),
  measure  = function(doc)
    local text = doc.text
    return of_chars(text, text:chars() - text:count_in "a-zA-Z0-9\n?!,.")
  end,
  drop     = { above = "max" },
  examples = { { prose, keep = true }, { "* * * # # # a b c", keep = false }, { "", keep = false } },
}

local ellipses = { "...", "[...]", "…", "(...)", "[…]", "-»", "read more..", "read more" }

M.symbols = s.heuristic { "curator_symbols",
  summary  = "Share of words that are an ellipsis, or # more than by half",
  options  = max(0.1, "Largest share of such words."),
  measure  = function(doc)
    local words = doc.text:pieces "whitespace"
    local found = words:counter():count(ellipses)
    for _, word in ipairs(words:containing "#") do
      local _, runs = word:gsub("#+", "")
      if runs / word:chars() > 0.5 then found = found + 1 end
    end
    return share(found, #words)
  end,
  drop     = { above = "max" },
  examples = { { prose, keep = true }, { "# one # two ... three", keep = false } },
}

M.numbers = s.heuristic { "curator_numbers",
  summary  = "Share of characters that are digits 0 to 9",
  options  = max(0.15, "Largest share of digits."),
  measure  = function(doc) return of_chars(doc.text, doc.text:count_in "0-9") end,
  drop     = { above = "max" },
  examples = { { prose, keep = true }, { "1992 2031 17 4 and 12", keep = false } },
}

-- Calls found(first, last) for each https?://([A-Za-z0-9$-_@.&+/:=?#~!*(),]|%[0-9A-Fa-f][0-9A-Fa-f])+ until it returns true.
local function each_url(text, found)
  local from = 1
  while true do
    local first, scheme = text:find_plain("http", from)
    if not first then return end
    local at = text:match("^s?://()", scheme + 1)
    from = scheme + 1
    if at then
      local begin = at
      while true do
        at = text:match("^[A-Za-z0-9$%-_@.&+/:=?#~!*(),]+()", at) or text:match("^%%[0-9A-Fa-f][0-9A-Fa-f]()", at) or -at
        if at < 0 then break end
      end
      at = -at
      if at > begin then
        if found(first, at - 1) then return end
        from = at
      end
    end
  end
end

local function url_chars(text)
  local total = 0
  each_url(text, function(first, last) total = total + last - first + 1 end)
  return total
end

M.urls = s.heuristic { "curator_urls",
  summary  = "Share of characters in addresses",
  options  = max(0.2, "Largest share of characters in http:// and https:// addresses."),
  measure  = function(doc) return of_chars(doc.text, url_chars(doc.text)) end,
  drop     = { above = "max" },
  examples = { { prose .. " See https://example.org/a%20b.", keep = true }, { "see https://example.org/a%20b now", keep = false } },
}

M.pornographic_urls = s.heuristic { "curator_pornographic_urls",
  summary  = "1 if an address in the text holds \"porn\"",
  options  = { max = { "int", 0, min = 0, max = 1, doc = "1 keeps all." } },
  measure  = function(doc)
    local text, hit = doc.text, 0
    each_url(text, function(first, last)
      if text:sub(first, last):contains "porn" then hit = 1 end
      return hit == 1
    end)
    return hit
  end,
  drop     = { above = "max" },
  examples = { { prose, keep = true }, { "see https://porn.example.org/", keep = false }, { "the word porn, and https://example.org", keep = true } },
}

local bullets = { "•", "‣", "⁃", "⁌", "⁍", "∙", "○", "●", "◘", "◦", "⦾", "⦿" }

M.bullets = s.heuristic { "curator_bullets",
  summary  = "Share of lines that begin with a bullet",
  options  = max(0.9, "Largest share of such lines."),
  measure  = function(doc)
    local lines = doc.text:pieces(stripped)
    return share(#lines:starting(bullets), #lines)
  end,
  drop     = { above = "max" },
  examples = { { "• one\ntwo", keep = true }, { "• one\n  ● two\n", keep = false } },
}

M.white_space = s.heuristic { "curator_white_space",
  summary  = "Share of characters that are space, tab, newline, carriage return or backspace",
  options  = max(0.25, "Largest share of white space."),
  measure  = function(doc) return of_chars(doc.text, doc.text:count_in "\t\n\r\b ") end,
  drop     = { above = "max" },
  examples = { { prose, keep = true }, { "a b c d e f", keep = false } },
}

M.parentheses = s.heuristic { "curator_parentheses",
  summary  = "Share of characters that are brackets",
  options  = max(0.1, "Largest share of ( ) [ ] { } ⟨ ⟩."),
  measure  = function(doc) return of_chars(doc.text, doc.text:count_in "(){}[]⟨⟩") end,
  drop     = { above = "max" },
  examples = { { prose, keep = true }, { "f(g[{x}])", keep = false } },
}

M.long_word = s.heuristic { "curator_long_word",
  summary  = "Characters of the longest word",
  options  = { max = { "int", 1000, min = 0, max = 1000000000, doc = "Most characters of a word." } },
  measure  = function(doc, o)
    return #doc.text <= o.max and 0 or doc.text:pieces "whitespace":longest()
  end,
  drop     = { above = "max" },
  examples = { { prose, keep = true }, { ("x"):rep(1001) .. " y", keep = false } },
}

M.word_count = s.heuristic { "curator_word_count",
  summary  = "Words",
  options  = { min = { "int", 50, min = 0, max = 1000000000, doc = "Fewest words." },
               max = { "int", 100000, min = 0, max = 1000000000, doc = "Most words." } },
  measure  = function(doc) return doc.text:n_words() end,
  drop     = { below = "min", above = "max" },
  examples = { { ("word "):rep(50), keep = true }, { ("word "):rep(49), keep = false } },
}

local policies = {
  "terms of use", "privacy policy", "cookie policy", "uses cookies", "privacy overview", "use of cookies", "use cookies",
  "privacy & cookies policy", "privacy and cookies policy",
  "necessary cookies are absolutely essential for the website to function properly. this category only includes cookies that ensures " ..
  "basic functionalities and security features of the website. these cookies do not store any personal information.",
  "any cookies that may not be particularly necessary for the website to function and is used specifically to collect user personal data " ..
  "via analytics, ads, other embedded contents are termed as non-necessary cookies. it is mandatory to procure user consent prior to " ..
  "running these cookies on your website.",
  "if you continue to browse this site without changing your cookie settings, you agree to this use. acceptread more",
}

M.boilerplate = s.heuristic { "curator_boilerplate",
  summary  = "Share of paragraphs with a phrase about cookies and terms; 1 with lorem ipsum",
  options  = max(0.4, "Largest share of such paragraphs."),
  measure  = function(doc)
    local text = doc.text:lower_unicode()
    if text:contains "lorem ipsum" then return 1 end
    local list = text:pieces(paragraphs)
    return share(#list:containing(policies), #list)
  end,
  drop     = { above = "max" },
  examples = { { "Our privacy policy.\n\nOne.\n\nTwo.", keep = true }, { "Privacy Policy\n\nTwo.", keep = false }, { "A\n\nB\n\nLorem ipsum", keep = false } },
}

M.mean_word_length = s.heuristic { "curator_mean_word_length",
  summary  = "Mean length of a word in characters",
  options  = { min = { "float", 3, min = 0, max = 1e6, doc = "Smallest mean length." }, max = { "float", 10, min = 0, max = 1e6, doc = "Largest mean length." } },
  measure  = function(doc) return doc.text:mean_word_length() end,
  drop     = { below = "min", above = "max" },
  examples = { { prose, keep = true }, { "a b c d", keep = false }, { "antidisestablishmentarianism", keep = false } },
}

local ends = { ".", "?", "!", '"', "'" }

M.punctuation = s.heuristic { "curator_punctuation",
  summary  = "Share of lines that do not end in . ? ! or a quotation mark",
  options  = max(0.85, "Largest share of such lines."),
  measure  = function(doc)
    local lines = doc.text:pieces(stripped)
    return share(#lines - #lines:ending(ends), #lines)
  end,
  drop     = { above = "max" },
  examples = { { "Home\nAbout\nIt works.", keep = true }, { "Home\nAbout\nImprint", keep = false } },
}

M.ellipsis = s.heuristic { "curator_ellipsis",
  summary  = "Share of lines that end in an ellipsis or in \"read more\"",
  options  = max(0.3, "Largest share of such lines."),
  measure  = function(doc)
    local lines = doc.text:lower_unicode():pieces(stripped)
    return share(#lines:ending(ellipses), #lines)
  end,
  drop     = { above = "max" },
  examples = { { "One.\nTwo...\nThree.\nFour.", keep = true }, { "One…\nRead more\nThree.", keep = false } },
}

local common = { "the", "be", "to", "of", "and", "that", "have", "with" }

M.common_english = s.heuristic { "curator_common_english",
  summary  = "How often the words the, be, to, of, and, that, have, with occur",
  options  = { min = { "int", 2, min = 0, max = 1000000000, doc = "Fewest of them; upper case doesn't count." } },
  measure  = function(doc) return doc.text:counter():count(common) end,
  drop     = { below = "min" },
  examples = { { prose, keep = true }, { "THE BEST OF THE BEST and only", keep = false } },
}

M.words_with_letters = s.heuristic { "curator_words_with_letters",
  summary  = "Share of words that have a letter",
  options  = { min = { "float", 0.8, min = 0, max = 1, doc = "Smallest share of such words." } },
  measure  = function(doc)
    local stats = doc.text:word_stats()
    return share(stats.alphabetic, stats.words)
  end,
  drop     = { below = "min" },
  examples = { { prose, keep = true }, { "a 1 2 b", keep = false } },
}

-- A heuristic of distinct pieces by all pieces: counted, or by their characters.
local function unique(name, what, default, how, by_chars)
  return s.heuristic { name,
    summary  = "Share of " .. what .. " that is left without repeated ones",
    options  = { min = { "float", default, min = 0, max = 1, doc = "Smallest share that is left." } },
    measure  = function(doc)
      local all = doc.text:pieces(how)
      local left = all:distinct()
      local whole = by_chars and all:chars() or #all
      return whole == 0 and 1 or (by_chars and left:chars() or #left) / whole
    end,
    drop     = { below = "min" },
    examples = { { "one\n\ntwo\n\nthree\n\nthree and a half", keep = true }, { "Buy now.\n\nBuy now.\n\nBuy now.", keep = false } },
  }
end

M.repeated_lines = unique("curator_repeated_lines", "lines", 0.7, filled, false)
M.repeated_paragraphs = unique("curator_repeated_paragraphs", "paragraphs", 0.7, paragraphs, false)
M.repeated_lines_char = unique("curator_repeated_lines_char", "the characters of lines", 0.8, filled, true)
M.repeated_paragraphs_char = unique("curator_repeated_paragraphs_char", "the characters of paragraphs", 0.8, paragraphs, true)

M.top_ngrams = s.heuristic { "curator_top_ngrams",
  summary  = "Share of the characters that the most frequent n-gram of words covers; 1 for a text of fewer words",
  options  = { n = { "int", 2, min = 1, max = 100, doc = "Words of an n-gram." }, max = { "float", 0.2, min = 0, max = 1, doc = "Largest share." } },
  measure  = function(doc, o)
    local text = doc.text
    local best = text:pieces "whitespace":top_ngram(o.n)
    return best and of_chars(text, text:count(best) * best:chars()) or 1
  end,
  drop     = { above = "max" },
  examples = { { prose, keep = true }, { ("so it "):rep(10), keep = false }, { "one", keep = false } },
}

M.duplicate_ngrams = s.heuristic { "curator_duplicate_ngrams",
  summary  = "Share of the characters in n-grams of words that occurred before; 1 for a text of fewer words",
  options  = { n = { "int", 2, min = 1, max = 100, doc = "Words of an n-gram." }, max = { "float", 0.2, min = 0, max = 1, doc = "Largest share." } },
  measure  = function(doc, o)
    local words = doc.text:pieces "whitespace"
    return #words < o.n and 1 or of_chars(doc.text, words:dup_ngram_chars(o.n))
  end,
  drop     = { above = "max" },
  examples = { { prose, keep = true }, { ("so it goes "):rep(10), keep = false }, { "one", keep = false } },
}

return M
