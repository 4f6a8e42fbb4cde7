-- gold: what a model is trained on, for a stated tokenizer.

local s = require "sluice"
local a = s.args {
  from = { "string", "lake/silver/NAME_HERE@1", doc = "snapshot that is read" },
  out = { "path", "lake/gold/NAME_HERE", doc = "dataset that is written" },
  tokenizer = { "string", "o200k_base", doc = "for which the texts are chosen" },
}

local docs = s.dataset(a.from) | s.read_jsonl { columns = { lang = "utf8" } }

-- Tokens instead of texts: | s.tokenize { "tokenizer.json" } | s.pack { sequence_length = 2048 } | s.write_megatron { a.out, class = "gold" }
return s.pipeline { "gold",
  docs | s.keep_columns { "id", "text", "lang" } | s.shuffle {} | s.write_jsonl { a.out, class = { gold = a.tokenizer } },
}
