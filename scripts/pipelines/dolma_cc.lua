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
-- What differs: the three top-n-gram rules, which never fire in Dolma's v1.5 and v1.6 configurations because their names are misspelt, fire here
-- (as_published=true leaves them out); the language is judged on the text as it is (CCNet did that for the published set; the tagger
-- ft_lang_id_en_doc_v2 lower-cases it: `dolma_fasttext`); toxic sentences are cut out of the text as the classifier finds them, where Dolma writes spans first and
-- cuts them with all others; repeated lines are found exactly, not by a Bloom filter whose answers depend on the order of threads (bloom=N takes
-- one made for N different lines, whose size and rate `sluice plan` states).
local s = require "sluice"
local cc = require "policies.dolma_cc"

local a = s.args {
  input     = { "glob", "text/*.jsonl*", doc = "JSON Lines with text, id and url" },
  out       = { "path", "out", doc = "folder of the datasets" },
  languages = { "path", required = true, doc = "lid.176.bin" },
  toxic     = { "path", required = true, doc = "classifier of toxic sentences" },
  nsfw      = { "path", required = true, doc = "classifier of obscene sentences" },
  toxic_label = { "string", "toxic", doc = "its label of those" },
  nsfw_label  = { "string", "nsfw", doc = "its label of those" },
  as_published = { "bool", false, doc = "without the three rules that never fired" },
  bloom     = { "int", 0, doc = "different lines that a Bloom filter is made for; 0: repeated lines are found exactly" },
}

local docs   = s.files(a.input) | s.read_jsonl { columns = { url = "utf8" } }
local good   = docs
             | s.exact { over = "url" }
             | s.language { a.languages, languages = "en", threshold = 0.5 }
             | s.exact {}
             | s.dolma_tag { cc.taggers }
             | s.dolma_mix { exclude = cc.exclude { as_published = a.as_published }, replace = cc.replace() }
local clean  = good
             | s.fasttext_filter { a.toxic, by = "sentence", remove_labels = { [a.toxic_label] = 0.4 }, save_labels = false }
             | s.fasttext_filter { a.nsfw, by = "sentence", remove_labels = { [a.nsfw_label] = 0.4 }, save_labels = false }
local unique = a.bloom == 0 and clean | s.paragraph_dedup { unit = "lines" }
            or clean | s.bloom_paragraphs { mode = "dolma", ngram = 13, expected = a.bloom, false_positives = 1e-5 }

return s.pipeline { "dolma_cc",
  s.named("kept", unique | s.write_jsonl { a.out .. "/kept" }),
  s.named("dropped", unique.dropped | s.write_jsonl { a.out .. "/dropped" }),
}
