-- mixture - several sources in stated proportions, in a random order, as packed rows for Megatron-LM; with a holdout that stays one.
--
--   sluice run scripts/pipelines/mixture.lua input='corpus/{source}/*.jsonl*' tokenizer=o200k_base.tiktoken out=out
--
-- Copy it to your data and change it: the names of the folders below corpus/ are the sources, and `weights` names each of them.
--
-- In this order: what is not worth training on goes first, so that proportions are those of what is left; duplicates go before the holdout, so
-- that no copy of a held-out document is trained on; the mixture is drawn of the training side alone; documents are shuffled before they are
-- packed, so that a row holds documents of all sources, and rows after it, so that the stretches of the first shuffle meet.
local s = require "sluice"

local a = s.args {
  input      = { "glob", "corpus/{source}/*.jsonl*", doc = "JSON Lines; {source} is the folder that names a document's source" },
  tokenizer  = { "path", "o200k_base.tiktoken", doc = "vocabulary: .tiktoken, tokenizer.json or .model" },
  out        = { "path", "out", doc = "folder of the datasets" },
  length     = { "int", 4096, doc = "tokens of a row" },
  web        = { "float", 0.7, doc = "share of the tokens from web" },
  code       = { "float", 0.2, doc = "share of the tokens from code" },
  books      = { "float", 0.1, doc = "share of the tokens from books" },
  max_epochs = { "float", 4, doc = "how often a document may go by" },
  holdout    = { "float", 0.001, doc = "share of the documents that is held out" },
  seed       = { "int", 1, doc = "another seed draws and orders otherwise" },
}

local docs   = s.files(a.input) | s.read_jsonl {}
local good   = docs | s.gopher_repetition {}
local unique = good | s.exact {} | s.minhash {}
local train  = unique | s.holdout { a.holdout, seed = a.seed }
local valid  = unique | s.holdout { a.holdout, seed = a.seed, take = "holdout" }

local tokens = train | s.tokenize { a.tokenizer, eos = "default" }
local mixed  = tokens | s.mix { by = "source", size = "tokens", weights = { web = a.web, code = a.code, books = a.books },
                                max_epochs = a.max_epochs, seed = a.seed }
local rows   = mixed | s.shuffle { seed = a.seed } | s.pack { sequence_length = a.length, carry = true } | s.shuffle { seed = a.seed }

return s.pipeline { "mixture",
  s.named("train", rows | s.write_megatron { a.out .. "/train" }),
  s.named("valid", valid | s.write_jsonl { a.out .. "/valid" }),
  s.named("mixture", mixed | s.mix_table {} | s.write_jsonl { a.out .. "/mixture", compression = "none" }),
}
