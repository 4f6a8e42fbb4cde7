-- dolma_cc - the mixing rules of Dolma v1.5 for Common Crawl, as data for s.dolma_mix.
--
--   local cc = require "policies.dolma_cc"
--   local tagged = docs | s.dolma_tag { cc.taggers }
--   local mixed  = tagged | s.dolma_mix { exclude = cc.exclude(), replace = cc.replace() }
--
-- Source: configs/dolma-v1_5/mixing/cc-head.yaml of allenai/dolma (Apache-2.0), whose thresholds these are. Other than there: the three
-- rules on the most common 2-, 3- and 4-grams fire. The configuration names ..._2gram where the tagger gives ..._2grams, so that they
-- never did; exclude { as_published = true } leaves them out. Rules on duplicate paragraphs, toxic and obscene sentences need
-- attributes of other stages: replace { duplicate_paragraphs = "NAME", toxic = "NAME", nsfw = "NAME" } adds them.
local M = {}

M.taggers = { "gopher_v1", "pii_regex_with_counts_fast_v2" }

-- Type, comparison at which a document goes, limit.
M.gopher = {
  { "word_count", "<", 50 },
  { "word_count", ">", 100000 },
  { "median_word_length", "<", 3 },
  { "median_word_length", ">", 10 },
  { "symbol_to_word_ratio", ">", 0.1 },
  { "fraction_of_words_with_alpha_character", "<", 0.8 },
  { "required_word_count", "<", 2 },
  { "fraction_of_lines_starting_with_bullet_point", ">", 0.9 },
  { "fraction_of_lines_ending_with_ellipsis", ">", 0.3 },
  { "fraction_of_duplicate_lines", ">", 0.3 },
  { "fraction_of_characters_in_duplicate_lines", ">", 0.3 },
  { "fraction_of_characters_in_most_common_2grams", ">", 0.2, unpublished = true },
  { "fraction_of_characters_in_most_common_3grams", ">", 0.18, unpublished = true },
  { "fraction_of_characters_in_most_common_4grams", ">", 0.16, unpublished = true },
  { "fraction_of_characters_in_duplicate_5grams", ">", 0.15 },
  { "fraction_of_characters_in_duplicate_6grams", ">", 0.14 },
  { "fraction_of_characters_in_duplicate_7grams", ">", 0.13 },
  { "fraction_of_characters_in_duplicate_8grams", ">", 0.12 },
  { "fraction_of_characters_in_duplicate_9grams", ">", 0.11 },
  { "fraction_of_characters_in_duplicate_10grams", ">", 0.10 },
}

-- A document with more PII than this goes; in others it is replaced.
M.most_pii = 5

-- Beginning of an attribute's name: dolma_tag's `experiment`, or the tagger's name.
local function prefix(options, tagger)
  return (options and options.experiment or tagger) .. "__" .. tagger .. "__"
end

function M.exclude(options)
  local gopher = prefix(options, "gopher_v1")
  local rules = {}
  for _, rule in ipairs(M.gopher) do
    if not (rule.unpublished and options and options.as_published) then
      rules[#rules + 1] = string.format("$.attributes[?(@.%s%s[0][2] %s %s)]", gopher, rule[1], rule[2], rule[3])
    end
  end
  rules[#rules + 1] = string.format("$.attributes[?(@.%sdoc_count[0][2] > %d)]", prefix(options, "pii_regex_with_counts_fast_v2"), M.most_pii)
  return rules
end

local function entry(name, score, replacement)
  return string.format('{"span": "$.attributes.%s", "min_score": %s, "replacement": "%s"}', name, score, replacement)
end

function M.replace(options)
  local pii = prefix(options, "pii_regex_with_counts_fast_v2")
  local spans = {}
  for _, other in ipairs { { "duplicate_paragraphs", 0.5 }, { "toxic", 0.4 }, { "nsfw", 0.4 } } do
    local name = options and options[other[1]]
    if name then
      spans[#spans + 1] = entry(name, other[2], "")
    end
  end
  for _, kind in ipairs { "EMAIL_ADDRESS", "PHONE_NUMBER", "IP_ADDRESS" } do
    spans[#spans + 1] = entry(pii .. kind, 0.5, " |||" .. kind .. "||| ")
  end
  return spans
end

return M
