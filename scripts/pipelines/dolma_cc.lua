-- dolma_cc - Dolma's Common Crawl part from extracted text (JSON Lines) onwards: language, Gopher rules, C4's terminal punctuation, toxicity,
-- PII, deduplication by URL, document and paragraph.
--
--   sluice run scripts/pipelines/dolma_cc.lua input='text/*.jsonl.zst' languages=lid.176.bin toxic=jigsaw_hatespeech.bin \
--     nsfw=jigsaw_nsfw.bin out=out
--
-- Source: Soldaini et al. 2024 (arXiv:2402.00159, section 4 and appendix) and configs/dolma-v1_5 of allenai/dolma.
--
-- Assets, none of which is fetched:
--   languages   lid.176.bin of fasttext.cc, CC-BY-SA 3.0, SHA-256 7e69ec5451bc261cc7844e49e4792a85d7f09c06789ec800fc4a44aec362764e
--   toxic, nsfw the sentence classifiers of Dolma on Jigsaw's comments (allenai, with the licence ODC-BY; check their hashes where you get them)
--
-- What differs: the Gopher rules are those of datatrove with white-space words and Dolma's numbers, not the taggers, whose definitions are others
-- (median word length, all copies of a line; the plugin dolma has them); the three top-n-gram rules, which never fire in Dolma's v1.5 and
-- v1.6 configurations because their names are misspelt, do fire here; toxic sentences are cut from the text rather than spans by
-- character; PII is replaced, and no document is dropped for six or more of them; repeated lines are found exactly, not by a Bloom filter whose
-- answers depend on the order of threads.
local s = require "sluice"

local a = s.args {
  input     = { "glob", "text/*.jsonl*", doc = "JSON Lines with text, id and url" },
  out       = { "path", "out", doc = "folder of the datasets" },
  languages = { "path", required = true, doc = "lid.176.bin" },
  toxic     = { "path", required = true, doc = "classifier of toxic sentences" },
  nsfw      = { "path", required = true, doc = "classifier of obscene sentences" },
  toxic_label = { "string", "toxic", doc = "its label of those" },
  nsfw_label  = { "string", "nsfw", doc = "its label of those" },
}

local docs   = s.files(a.input) | s.read_jsonl { columns = { url = "utf8" } }
local good   = docs
             | s.exact { over = "url" }
             | s.language { a.languages, languages = "en", threshold = 0.5 }
             | s.exact {}
             | s.gopher_quality { words = "whitespace", min_doc_words = 50, max_doc_words = 100000, min_avg_word_length = 3, max_avg_word_length = 10 }
             | s.gopher_repetition { words = "whitespace", dup_para_frac = 0, dup_para_char_frac = 0, dup_line_char_frac = 0.3 }
local clean  = good
             | s.fasttext_filter { a.toxic, by = "sentence", remove_labels = { [a.toxic_label] = 0.4 }, save_labels = false }
             | s.fasttext_filter { a.nsfw, by = "sentence", remove_labels = { [a.nsfw_label] = 0.4 }, save_labels = false }
             | s.pii { email_replacement = { " |||EMAIL_ADDRESS||| " }, ip_replacement = { " |||IP_ADDRESS||| " } }
local unique = clean | s.paragraph_dedup { unit = "lines" }

return s.pipeline { "dolma_cc",
  s.named("kept", unique | s.write_jsonl { a.out .. "/kept" }),
  s.named("dropped", unique.dropped | s.write_jsonl { a.out .. "/dropped" }),
}
