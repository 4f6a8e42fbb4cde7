-- The pipeline that most whole-program tests run: filters, exact and near duplicates, tokens, and
-- the dropped rows. `gold` needs the plugins tokenize, pack and write_megatron; `rows` needs row
-- functions in Lua.
local s = require "sluice"
local a = s.args {
  input = { "glob", "corpus/*", doc = "what to read" },
  out = { "path", "out", doc = "folder of the datasets" },
  split = { "size", "64KiB", doc = "target of an input split" },
  partitions = { "int", 4, min = 1, max = 64, doc = "of every exchange" },
  tokenizer = { "path", doc = "vocabulary; none: no tokens" },
  gold = { "bool", false, doc = "packed tokens" },
  columnar = { "bool", false, doc = "what is kept as Parquet; needs the plugin columnar" },
  rows = { "bool", true, doc = "a filter in Lua" },
  min_words = { "int", 30, doc = "shortest document" },
  max_bad = { "string", "1%", doc = "quarantined records that are allowed" },
}
local docs = s.files { a.input, split = a.split } | s.read_jsonl { columns = { kind = "utf8", score = "float64" } }
local good = docs | s.gopher_quality { min_doc_words = a.min_words, max_non_alpha_words_ratio = 0.7 } | s.gopher_repetition {}
if a.rows then
  good = good | s.filter { "no_lorem", function(doc)
    if doc.text:contains "Lorem ipsum" then return "lorem" end
  end }
end
local unique = good | s.exact { partitions = a.partitions } | s.minhash { bands = 10, rows = 4, partitions = a.partitions }
local sinks = { "web", max_bad = a.max_bad,
  s.named("kept", unique | (a.columnar and s.write_parquet { a.out .. "/kept", row_group = "20KB", shard_size = "9KB", page = "4KB", bloom = { "id" } }
    or s.write_jsonl { a.out .. "/kept" })),
  s.named("lost", unique.dropped | s.write_jsonl { a.out .. "/dropped", compression = "none" }),
}
if a.gold then
  local gold = unique | s.tokenize { a.tokenizer, eos = "default" } | s.pack { sequence_length = 512 }
  sinks[#sinks + 1] = s.named("gold", gold | s.write_megatron { a.out .. "/gold" })
end
return s.pipeline(sinks)
