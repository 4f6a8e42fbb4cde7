-- The order of training data: s.shuffle, s.mix and s.holdout_n. What is taken and where it stands follows from hashes of what names a row, never
-- from places, splits or workers.
--
--   local mixed = docs | s.mix { by = "source", weights = { web = 0.7, code = 0.3 }, max_epochs = 4 }
--   return s.pipeline { "mixture", mixed | s.shuffle { seed = 1 } | s.write_jsonl { "out/train" },
--                       mixed | s.mix_table {} | s.write_jsonl { "out/mixture" } }

local s, core = ...

local M = {}

-- A global shuffle. The partitions of the exchange are ranges of the order, so that one of them at a time is sorted, within --memory.
M.shuffle = s.composite {
  "shuffle",
  doc = "A global shuffle of documents or packed rows: the order is that of hashes, whatever the splits and workers.",
  example = [[docs | s.shuffle { seed = 1 }]],
  options = {
    by = { "list", "", doc = "Columns whose values name a row; none given: id, or tokens where there is no id (packed rows)." },
    seed = { "int", 0, min = 0, max = 1e15, doc = "Another seed gives another order." },
    partitions = { "int", 32, min = 1, max = 65536, doc = "Stretches that the order is cut into: each is a task, and what a writer makes of it a file or more." },
  },
  build = function(input, o)
    local keys = s.stage("shuffle_keys", { by = o.by, seed = o.seed }, input)
    return s.stage("shuffle_rows", { by = o.by, seed = o.seed }, keys, nil, o.partitions)
  end,
}

-- What stands behind each node that mix made, for mix_table.
local cuts_of = {}

local function map_size(map)
  local n = 0
  for _ in pairs(map) do n = n + 1 end
  return n
end

-- What is taken of each source: rows with the hash up to which documents are taken.
local function cuts(input, o)
  local sizes = s.stage("mix_sizes", { by = o.by, id = o.id, size = o.size, over = o.over, seed = o.seed }, input)
  local counts = s.stage("mix_count", {}, sizes)
  local targets = s.stage("mix_targets", {
    weights = o.weights, epochs = o.epochs, each = o.each, total = o.total, max_epochs = o.max_epochs,
  }, counts)
  return s.stage("mix_cuts", {}, sizes, targets, o.partitions)
end

M.mix = s.composite {
  "mix",
  doc = "A mixture of sources by weights or epochs; copies get ids of their own.",
  example = [[docs | s.mix { by = "source", weights = { web = 0.7, code = 0.3 } }]],
  options = {
    by = { "column", required = true, doc = "Column that names a document's source." },
    weights = { "map", doc = "Shares of the output by source; any positive scale, 0 leaves a source out." },
    epochs = { "map", doc = "How often each source goes by, such as 2.5, at most 64; instead of weights." },
    size = { "string", "bytes", doc = "What shares are of: documents, bytes (of the text), or a column: a number, or a list whose items count (tokens)." },
    over = { "column", "text", doc = "Column that holds the text." },
    total = { "int", 0, min = 0, max = 9e15, doc = "Size of the output with weights; 0: as much as there is." },
    max_epochs = { "float", 1, min = 1e-9, max = 64, doc = "How often a document may go by with weights; above 1 scarce sources are repeated." },
    seed = { "int", 0, min = 0, max = 1e15, doc = "Another seed takes other documents." },
    partitions = { "int", 32, min = 1, max = 65536, doc = "Virtual partitions of the exchange of sizes." },
  },
  build = function(input, o)
    local weights, epochs = o.weights or {}, o.epochs or {}
    if (map_size(weights) > 0) == (map_size(epochs) > 0) then
      core.fail("'mix': give either weights or epochs, by source: mix { by = \"source\", weights = { web = 0.7, code = 0.3 } }")
    end
    if map_size(epochs) > 0 and o.total > 0 then core.fail("'mix': total goes with weights; with epochs the output is as large as it comes") end
    local made = cuts(input, {
      by = o.by, id = "id", size = o.size, over = o.over, seed = o.seed, weights = weights, epochs = epochs,
      total = o.total, max_epochs = o.max_epochs, partitions = o.partitions,
    })
    local drawn = s.stage("mix_draw", { by = o.by, seed = o.seed, weights = weights, epochs = epochs }, input, made)
    local copies = s.stage("mix_copies", {}, drawn)
    cuts_of[copies.id] = made
    return copies
  end,
}

-- What a mixture took of each source, as rows: right behind s.mix.
M.mix_table = s.composite {
  "mix_table",
  doc = "What a mixture had, took and repeated of each source, as rows: right behind s.mix.",
  example = [[docs | s.mix { by = "source", weights = { web = 0.7, code = 0.3 } } | s.mix_table {}]],
  build = function(input)
    local made = cuts_of[input.id]
    if made == nil then
      core.fail("'mix_table' stands right behind s.mix: local mixed = docs | s.mix { ... }; mixed | s.mix_table {}")
    end
    return s.stage("mix_rows", {}, made)
  end,
}

-- A fixed number of documents of each source as a holdout: those that come first in the order of hashes.
M.holdout_n = s.composite {
  "holdout_n",
  doc = "A fixed number of documents of each source as a holdout.",
  example = [[docs | s.holdout_n { documents = 1000, take = "train" }]],
  options = {
    documents = { "int", required = true, min = 1, max = 1e12, doc = "Documents that are held out of each source." },
    take = { "enum", "train", choices = "train|holdout", doc = "Which side stays." },
    by = { "column", "id", doc = "Column whose value decides: documents of one value are on one side." },
    source = { "column", doc = "Column that names a document's source; none given: all are of one." },
    seed = { "int", 0, min = 0, max = 1e15, doc = "Another seed holds other documents out." },
    partitions = { "int", 32, min = 1, max = 65536, doc = "Virtual partitions of the exchange." },
  },
  build = function(input, o)
    local made = cuts(input, {
      by = o.source, id = o.by, size = "documents", over = "text", seed = o.seed, weights = {}, epochs = {}, total = 0, max_epochs = 1,
      each = o.documents, partitions = o.partitions,
    })
    return s.stage("holdout_first", { by = o.source, id = o.by, seed = o.seed, take = o.take }, input, made)
  end,
}

return M
