-- fineweb - FineWeb from extracted text (JSON Lines) onwards: URL lists, language, Gopher, C4 and FineWeb rules, MinHash within each crawl, PII.
--
--   sluice run scripts/pipelines/fineweb.lua input='text/*.jsonl.zst' languages=lid.176.bin domains=domains.txt urls=urls.txt \
--     words=banned_words.txt soft_words=soft_banned_words.txt subwords=banned_subwords.txt out=out
--
-- Source: Penedo et al. 2024 (arXiv:2406.17557) and datatrove's examples/fineweb.py, whose order and settings these are.
--
-- Assets, none of which is fetched; their content is part of what decides whether a task runs again:
--   languages   lid.176.bin of fasttext.cc, CC-BY-SA 3.0, SHA-256 7e69ec5451bc261cc7844e49e4792a85d7f09c06789ec800fc4a44aec362764e
--               (lid.176.ftz, SHA-256 8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83, decides a little otherwise)
--   domains, urls  the blacklists of the university of Toulouse (dsi.ut-capitole.fr/blacklists, CC-BY-SA 4.0), as datatrove's releases pack them
--   words, soft_words, subwords  src/datatrove/assets/{banned_words,soft_banned_words,banned_subwords}.txt of datatrove, Apache-2.0
--
-- What differs: text is extracted already (the paper: Trafilatura from WARC); `crawl` names the column of a record that tells its crawl, as
-- FineWeb ran MinHash apart for each; PII is replaced by what the text says, not by a counter (`s.pii_datatrove` is datatrove's); of
-- near-duplicates the first stays (datatrove: `keep = "peer"`). The example counts tokens before MinHash, and as it stands in the repository it does not
-- redact (the paper does); both leave the choice of documents as it is.
local s = require "sluice"

local a = s.args {
  input      = { "glob", "text/*.jsonl*", doc = "JSON Lines with text, id, url and a column that names the crawl" },
  out        = { "path", "out", doc = "folder of the datasets" },
  crawl      = { "string", "dump", doc = "column that names the crawl" },
  languages  = { "path", required = true, doc = "lid.176.bin" },
  domains    = { "path", required = true, doc = "list of registered domains" },
  urls       = { "path", required = true, doc = "list of URLs" },
  words      = { "path", required = true, doc = "list of banned words in URLs" },
  soft_words = { "path", required = true, doc = "list of words in URLs of which two are too many" },
  subwords   = { "path", required = true, doc = "list of banned parts of URLs" },
}

local docs   = s.files(a.input) | s.read_jsonl { columns = { url = "utf8", [a.crawl] = "utf8" } }
local good   = docs
             | s.url_filter { domains = a.domains, urls = a.urls, banned_words = a.words, soft_banned_words = a.soft_words,
                              banned_subwords = a.subwords, missing = "drop" }
             | s.language { a.languages, languages = "en", threshold = 0.65 }
             | s.gopher_repetition {}
             | s.gopher_quality {}
             | s.c4_quality { filter_no_terminal_punct = false }
             | s.fineweb_quality {}
local unique = good | s.minhash { ngram = 5, bands = 14, rows = 8, hash = "sha1", within = a.crawl }

return s.pipeline { "fineweb",
  s.named("kept", unique | s.pii {} | s.write_jsonl { a.out .. "/kept" }),
  s.named("dropped", unique.dropped | s.write_jsonl { a.out .. "/dropped" }),
}
