-- refinedweb - RefinedWeb from extracted text (JSON Lines) onwards: URL lists, language, repetition, document and line rules, deduplication.
--
--   sluice run scripts/pipelines/refinedweb.lua input='text/*.jsonl.zst' languages=lid.176.bin domains=domains.txt strict=strict.txt \
--     hard=hard.txt soft=soft.txt out=out
--
-- Source: Penedo et al. 2023 (arXiv:2306.01116, appendices G.1 and G.2). RefinedWeb's own code is not public: rules and their definitions are those
-- of DCLM's reproduction (baselines/baselines_configs/refinedweb.yaml), in the paper's order: language before quality, then deduplication.
--
-- Assets, none of which is fetched:
--   languages   lid.176.bin of fasttext.cc, CC-BY-SA 3.0, SHA-256 7e69ec5451bc261cc7844e49e4792a85d7f09c06789ec800fc4a44aec362764e
--   domains     the blacklists of the university of Toulouse (CC-BY-SA 4.0); the paper leaves out some categories (its appendix G.1)
--   strict, hard, soft  baselines/mappers/banlists/refinedweb_banned_words_*_reverse_engineered.txt of DCLM, MIT
--
-- What differs: the paper uses CCNet's language classifier and 9,000 hashes (20 x 450 of them) for MinHash, then exact substrings of 50 tokens; here
-- lid.176, 14 x 8 hashes, and repeated paragraphs. URL words are matched as `url_filter` does. Text is extracted already (Trafilatura).
local s = require "sluice"

local a = s.args {
  input     = { "glob", "text/*.jsonl*", doc = "JSON Lines with text, id and url" },
  out       = { "path", "out", doc = "folder of the datasets" },
  languages = { "path", required = true, doc = "lid.176.bin" },
  domains   = { "path", required = true, doc = "list of domains" },
  strict    = { "path", required = true, doc = "list of strings that no URL may hold" },
  hard      = { "path", required = true, doc = "list of words that no URL may hold" },
  soft      = { "path", required = true, doc = "list of words of which no URL may hold two" },
}

local docs   = s.files(a.input) | s.read_jsonl { columns = { url = "utf8" } }
local good   = docs
             | s.url_filter { domains = a.domains, banned_subwords = a.strict, banned_words = a.hard, soft_banned_words = a.soft,
                              lower_host = true, lower_words = true, skip_empty = true, missing = "drop" }
             | s.language { a.languages, languages = "en", threshold = 0.65 }
             | s.web_newlines {}
             | s.web_repetition {}
             | s.web_quality {}
             | s.web_lines {}
local unique = good | s.minhash { ngram = 5, bands = 14, rows = 8 } | s.paragraph_dedup {}

return s.pipeline { "refinedweb",
  s.named("kept", unique | s.write_jsonl { a.out .. "/kept" }),
  s.named("dropped", unique.dropped | s.write_jsonl { a.out .. "/dropped" }),
}
