-- silver: what is worth keeping of it, from a snapshot, so that it can be made again.

local s = require "sluice"
local a = s.args {
  from = { "string", "lake/bronze/NAME_HERE@1", doc = "snapshot that is read" },
  out = { "path", "lake/silver/NAME_HERE", doc = "dataset that is written" },
  min_words = { "int", 5, min = 0, doc = "fewest words of a document" },
}

local docs = s.dataset(a.from) | s.read_jsonl { columns = { lang = "utf8", crawled = "utf8" } }
local good = docs
           | s.filter { "short", function(doc, o)
               if doc.text:n_words() < o.min then return "short", doc.text:n_words(), o.min end
             end, options = { min = { "int", 5, min = 0 } }, with = { min = a.min_words } }
           | s.exact {}
           | s.gate { pass_rate = { min = 0.1, of = docs } }

return s.pipeline { "silver",
  good | s.write_jsonl { a.out, class = "silver" },
}
