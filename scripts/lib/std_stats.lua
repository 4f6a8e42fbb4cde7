-- s.statistics: what a corpus is made of, in one pass: documents, characters, words, lines, paragraphs, sentences, tokens, by groups.
--
--   docs | s.statistics { groups = { "summary", "histogram", "fqdn", "suffix", "language" } } | s.write_stats { "out/statistics" }
--
-- Every statistic of s.doc_stats, and every number column that the documents have already (token_count, a score, a perplexity), is gathered.

local s = ...

return s.composite {
  "statistics",
  doc = "What a corpus is made of: rows of statistics by group, for s.write_stats.",
  example = [[docs | s.statistics { groups = { "summary", "histogram" } } | s.write_stats { "out/statistics" }]],
  options = {
    over = { "column", "text", doc = "Column that holds the text." },
    blocks = { "list", "doc,word,line,paragraph,sentence", doc = "Groups of statistics of the text (s.doc_stats); none: only the number columns there are." },
    groups = { "list", "summary,histogram", doc = "summary, histogram, and text columns by whose values documents are grouped (fqdn, suffix, language)." },
    words = { "enum", "spacy-en", choices = "whitespace|uax29|spacy-en", doc = "Rule that cuts the text into words." },
    sentences = { "enum", "spacy-en", choices = "spacy-en|marks|lines|uax29", doc = "Rule that cuts the text into sentences." },
    contamination = { "list", "", doc = "Words whose share of the simplified text is a statistic of its own." },
    round = { "int", 3, min = 0, max = 9, doc = "Digits behind the point to which values are rounded for histograms." },
    partitions = { "int", 32, min = 1, max = 65536, doc = "Virtual partitions of the exchange." },
  },
  build = function(input, o)
    local measured = input
    if #o.blocks > 0 or #o.contamination > 0 then
      measured = s.stage("doc_stats", {
        over = o.over, blocks = o.blocks, words = o.words, sentences = o.sentences, contamination = o.contamination,
      }, input)
    end
    local records = s.stage("stats_collect", { groups = o.groups, round = o.round }, measured)
    return s.stage("stats_merge", {}, records, nil, o.partitions)
  end,
}
