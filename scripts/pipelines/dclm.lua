-- dclm - DCLM-Baseline from extracted text (JSON Lines) onwards: RefinedWeb's rules as DCLM runs them, Bloom deduplication, fastText quality.
--
--   sluice run scripts/pipelines/dclm.lua input='text/*.jsonl.zst' languages=lid.176.bin quality=openhermes_reddit_eli5.bin \
--     domains=domains.txt strict=strict.txt hard=hard.txt soft=soft.txt out=out
--
-- Source: Li et al. 2024 (arXiv:2406.11794) and baselines/baselines_configs/dclm_baseline_refinedweb.yaml of mlfoundations/dclm, then BFF (13-grams,
-- threshold 0.8) and the classifier's top 10 %.
--
-- Assets, none of which is fetched:
--   languages   lid.176.bin of fasttext.cc, CC-BY-SA 3.0, SHA-256 7e69ec5451bc261cc7844e49e4792a85d7f09c06789ec800fc4a44aec362764e
--   quality     openhermes_reddit_eli5_vs_rw_v2_bigram_200k_train.bin (mlfoundations/fasttext-oh-eli5, MIT; check its hash where you get it)
--   domains     refinedweb_banned_domains_curated.txt: DCLM's curated list of the blacklists of the university of Toulouse (CC-BY-SA 4.0)
--   strict, hard, soft  baselines/mappers/banlists/refinedweb_banned_words_*_reverse_engineered.txt of DCLM, MIT
--
-- What differs: URLs inside the text stay (DCLM's url_removal_modifier only looks at texts that begin with a top-level domain); URL words are matched as
-- `url_filter` does; BFF's result depends on the order of its threads, this one's on the input's order alone. Set `expected` to the number of
-- different 13-grams (about one a word).
local s = require "sluice"

local a = s.args {
  input     = { "glob", "text/*.jsonl*", doc = "JSON Lines with text, id and url" },
  out       = { "path", "out", doc = "folder of the datasets" },
  languages = { "path", required = true, doc = "lid.176.bin" },
  quality   = { "path", required = true, doc = "the OH-2.5 + ELI5 classifier" },
  label     = { "string", "hq", doc = "the label of what is good" },
  threshold = { "float", 0.018112, doc = "smallest score of the label: DCLM's for the top 10 %" },
  domains   = { "path", required = true, doc = "list of domains" },
  strict    = { "path", required = true, doc = "list of strings that no URL may hold" },
  hard      = { "path", required = true, doc = "list of words that no URL may hold" },
  soft      = { "path", required = true, doc = "list of words of which no URL may hold two" },
  expected  = { "int", 100000000, doc = "different 13-grams that the Bloom filter is made for" },
}

local docs   = s.files(a.input) | s.read_jsonl { columns = { url = "utf8" } }
local good   = docs
             | s.url_filter { domains = a.domains, banned_subwords = a.strict, banned_words = a.hard, soft_banned_words = a.soft,
                              lower_host = true, lower_words = true, skip_empty = true, missing = "drop" }
             | s.web_newlines { max_newlines = 2 }
             | s.language { a.languages, languages = "en", threshold = 0.65 }
             | s.web_quality { peer = "dclm" }
             | s.web_repetition { peer = "dclm" }
             | s.web_lines { peer = "dclm", cut_max_words = 10 }
local unique = good | s.bloom_paragraphs { mode = "bff", ngram = 13, threshold = 0.8, expected = a.expected, false_positives = 0.01 }
local best   = unique | s.fasttext_filter { a.quality, keep_labels = { [a.label] = a.threshold }, newline_replacement = " " }

return s.pipeline { "dclm",
  s.named("kept", best | s.write_jsonl { a.out .. "/kept" }),
  s.named("dropped", best.dropped | s.write_jsonl { a.out .. "/dropped" }),
}
