-- olmo3_web - the web part of Olmo 3 from extracted text (JSON Lines) onwards: URL lists, heuristics, language, MADLAD's rules, deduplication.
--
--   sluice run scripts/pipelines/olmo3_web.lua input='text/*.jsonl.zst' languages=lid.176.bin cursed=madlad400_cursed.txt.gz \
--     refinedweb_domains=r_domains.txt strict=strict.txt hard=hard.txt soft=soft.txt fineweb_domains=f_domains.txt urls=urls.txt \
--     words=words.txt soft_words=soft_words.txt subwords=subwords.txt out=out
--
-- Source: the Olmo 3 report (2025) and configs/all_dressed/all_dressed_config.yaml of allenai/datamap-rs, in its order and with its definitions
-- (peer = "datamap"), also as to its two silent errors: cuts have no limit of words, and the built-in counter pattern runs.
--
-- Assets, none of which is fetched:
--   languages   lid.176.bin of fasttext.cc, CC-BY-SA 3.0, SHA-256 7e69ec5451bc261cc7844e49e4792a85d7f09c06789ec800fc4a44aec362764e
--   the lists   banlists/ of datamap-rs (Apache-2.0; the domains are from the blacklists of the university of Toulouse, CC-BY-SA 4.0, the words of
--               RefinedWeb from DCLM, MIT); check their hashes where you get them
--
-- What differs: URL lists are matched as `url_filter` does (datatrove's meaning: a registered domain or the whole host), while datamap-rs compares whole hosts and
-- first labels; MinHash is 26 x 11 of words instead of tokens, verified at a Jaccard similarity of 0.8, and of near-duplicates the first stays (Olmo 3:
-- the newest crawl; `keep = "newest", by = COLUMN`); repeated stretches of 500 bytes are not cut (suffix array).
local s = require "sluice"

local a = s.args {
  input              = { "glob", "text/*.jsonl*", doc = "JSON Lines with text, id and url" },
  out                = { "path", "out", doc = "folder of the datasets" },
  languages          = { "path", required = true, doc = "lid.176.bin" },
  cursed             = { "path", required = true, doc = "madlad400_cursed.txt: strings, the last four lines regular expressions" },
  refinedweb_domains = { "path", required = true, doc = "refinedweb_banned_domains_curated.txt" },
  strict             = { "path", required = true, doc = "refinedweb_banned_words_strict_reverse_engineered.txt" },
  hard               = { "path", required = true, doc = "refinedweb_banned_words_hard_reverse_engineered.txt" },
  soft               = { "path", required = true, doc = "refinedweb_banned_words_soft_reverse_engineered.txt" },
  fineweb_domains    = { "path", required = true, doc = "fineweb_url_filters/domains.txt" },
  urls               = { "path", required = true, doc = "fineweb_url_filters/urls.txt" },
  words              = { "path", required = true, doc = "fineweb_url_filters/banned_words.txt" },
  soft_words         = { "path", required = true, doc = "fineweb_url_filters/soft_banned_words.txt" },
  subwords           = { "path", required = true, doc = "fineweb_url_filters/banned_subwords.txt" },
}

local docs   = s.files(a.input) | s.read_jsonl { columns = { url = "utf8" } }
local good   = docs
             | s.named("url_refinedweb", s.url_filter { domains = a.refinedweb_domains, banned_subwords = a.strict, banned_words = a.hard,
                 soft_banned_words = a.soft, lower_host = true, lower_words = true, skip_empty = true, missing = "drop" })
             | s.named("url_fineweb", s.url_filter { domains = a.fineweb_domains, urls = a.urls, banned_words = a.words,
                 soft_banned_words = a.soft_words, banned_subwords = a.subwords, lower_host = true, lower_words = true, skip_empty = true, missing = "drop" })
             | s.web_quality { peer = "datamap", min_chars = 150 }
             | s.web_newlines { max_newlines = 2 }
             | s.web_repetition { peer = "datamap" }
             | s.web_lines { peer = "datamap", cut_max_words = -1 }
             | s.web_newlines { max_newlines = 2 }
             | s.language { a.languages, languages = "en", threshold = 0.65 }
             | s.web_madlad { rules = { "2", "5" }, cursed = a.cursed }
local unique = good | s.exact {} | s.minhash { ngram = 5, bands = 26, rows = 11, verify = 0.8 }

return s.pipeline { "olmo3_web",
  s.named("kept", unique | s.write_jsonl { a.out .. "/kept" }),
  s.named("dropped", unique.dropped | s.write_jsonl { a.out .. "/dropped" }),
}
