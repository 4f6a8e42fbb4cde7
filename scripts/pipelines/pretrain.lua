-- pretrain - JSON Lines in, rows of tokens for Megatron-LM out, with contracts on the way.
--
--   sluice run scripts/pipelines/pretrain.lua input='corpus/*.jsonl.zst' tokenizer=o200k_base.tiktoken out=out
--
-- Copy it to your data and change it; its run is kept in .sluice/ beside the script, or in --run-dir.
--
-- A gate halts before anything is published when a stage loses more than it should; a policy halts
-- when the run costs more than it may. Both leave the finished work for the next run.
local s = require "sluice"
local links = require "heuristics.links"
local cost = require "policies.cost"

local a = s.args {
  input     = { "glob", "corpus/*.jsonl*", doc = "JSON Lines to read: plain, gzip or zstd" },
  tokenizer = { "path", "o200k_base.tiktoken", doc = "vocabulary: .tiktoken, tokenizer.json or .model" },
  out       = { "path", "out", doc = "folder of the datasets" },
  length    = { "int", 4096, doc = "tokens of a row" },
  dollars   = { "float", 10, doc = "what the run may cost" },
}

local docs   = s.files(a.input) | s.read_jsonl {} | s.gate { require = { "text" } }
local good   = docs | s.gopher_repetition {} | s.gopher_quality {} | s.fineweb_quality {} | links {}
local unique = good | s.exact {} | s.minhash {}
local packed = unique
             | s.gate { pass_rate = { min = 0.02, of = docs } }
             | s.tokenize { a.tokenizer, eos = "default" }
             | s.pack { sequence_length = a.length, carry = true }

return s.pipeline { "pretrain",
  s.named("train", packed | s.write_megatron { a.out .. "/train" }),
  s.named("dropped", unique.dropped | s.write_jsonl { a.out .. "/dropped" }),
  policies = { cost { budget = a.dollars } },
}
