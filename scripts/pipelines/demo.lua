-- demo - what `make demo` runs: from files to packed tokens, in one page.
--
--   sluice run scripts/pipelines/demo.lua input='corpus/*.jsonl*' tokenizer=o200k_base.tiktoken out=out
--
-- It reads JSON Lines (plain, gzip, zstd), drops what Gopher's rules and a rule of our own call
-- poor, drops exact and near duplicates, stops if too little is left, cuts the rest into tokens
-- and packs them into rows for Megatron-LM. What was dropped is written too, with the reason.
local s = require "sluice"

local a = s.args {
  input     = { "glob", "../../build/demo/corpus/*.jsonl*", doc = "JSON Lines to read" },
  tokenizer = { "path", "../../build/assets/o200k_base.tiktoken", doc = "vocabulary" },
  out       = { "path", "../../build/demo/out", doc = "folder of the datasets" },
  length    = { "int", 2048, doc = "tokens of a row" },
}

-- A rule of our own. It separates what is measured from the threshold, so that the threshold is an
-- option and every verdict keeps the number. `sluice test` runs the examples.
local letters = s.heuristic { "letters",
  summary  = "Share of letters: tables, logs and dumps have few",
  options  = { min = { "float", 0.6, min = 0, max = 1, doc = "Smallest share of letters." } },
  measure  = function(doc) return doc.text:share "letter" end,
  drop     = { below = "min" },
  examples = {
    { "The order of the lines is not significant.", keep = true },
    { "| 00 | 01 | 02 | 03 |\n| ff | 7f | 3f | 1f |", keep = false },
  },
}

local docs   = s.files { a.input, split = "8MiB" } | s.read_jsonl {}
local good   = docs | s.gopher_repetition {} | s.gopher_quality {} | letters {}
local unique = good | s.exact {} | s.minhash {}
local packed = unique
             | s.gate { pass_rate = { min = 0.05, of = docs } }
             | s.tokenize { a.tokenizer, eos = "default" }
             | s.pack { sequence_length = a.length, carry = true }

return s.pipeline { "demo",
  s.named("train", packed | s.write_megatron { a.out .. "/train" }),
  s.named("dropped", unique.dropped | s.write_jsonl { a.out .. "/dropped" }),
}
