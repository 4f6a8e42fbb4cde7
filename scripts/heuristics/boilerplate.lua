-- boilerplate - drops pages made of what surrounds text on the web: cookie banners, menus, legal notices.
--
--   local boilerplate = require "heuristics.boilerplate"
--   docs | boilerplate { max = 0.02, phrases = { "alle rechte vorbehalten" } }
local s = require "sluice"

return s.heuristic { "boilerplate",
  summary  = "Phrases of web page furniture for each word",
  options  = {
    max     = { "float", 0.04, min = 0, max = 1, doc = "Most phrases for each word." },
    phrases = { "list", { "all rights reserved", "privacy policy", "terms of use", "terms of service", "cookie", "javascript",
                          "sign in", "log in", "sign up", "subscribe", "click here", "read more", "skip to content" },
                doc = "What counts, in lower case." },
  },
  measure  = function(doc, o)
    local words = doc.text:n_words()
    if words == 0 then return 0 end
    local text, found = doc.text:lower_unicode(), 0
    for _, phrase in ipairs(o.phrases) do found = found + text:count(phrase) end
    return found / words
  end,
  drop     = { above = "max" },
  examples = {
    { "The committee met on Tuesday to discuss the budget. Members asked how the new library would be paid for, and " ..
      "the treasurer said that a cookie sale alone would not do.", keep = true },
    { "Skip to content\nHome\nSign in\nSign up\nWe use cookies. Read more in our Privacy Policy.\n© All rights reserved", keep = false },
  },
}
