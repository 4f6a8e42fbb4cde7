-- The contract that rows keep, as one row: what `sluice contract infer` runs. The first stage profiles the rows of a split, the second adds the
-- profiles up, so that the result depends on neither splits nor workers.

local s = require "sluice"
local a = s.args {
  dataset = { "string", "", doc = "dataset whose rows they are, PATH@N" },
  files = { "glob", "", doc = "or files" },
  reader = { "string", "read_jsonl", doc = "read_jsonl, read_json, read_parquet, read_arrow or read_csv" },
  out = { "path", "out/contract", doc = "dataset of one row that is written" },
}

local from = a.dataset ~= "" and s.dataset(a.dataset) or s.files(a.files)
local rows = from | s[a.reader] { missing = "allow" }
local profiles = s.stage("contract_profile", {}, rows)

return s.pipeline { "contract_infer", max_bad = 0,
  s.stage("contract_infer", {}, profiles) | s.write_jsonl { a.out, compression = "none" },
}
