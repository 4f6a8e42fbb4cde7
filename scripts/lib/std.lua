-- Composites of the standard library. Third parties compose the same way: s.composite over stages with keyed exchanges and side inputs.

local s, core = ...

local M = {}

-- Exact duplicates of a column's value: the smallest position survives.
M.exact = s.composite {
  "exact",
  options = {
    over = { "column", "text", doc = "Column whose equal values are duplicates." },
    partitions = { "int", 32, min = 1, max = 65536, doc = "Virtual partitions of the exchange." },
  },
  build = function(input, o)
    local keys = s.stage("exact_keys", { over = o.over }, input)
    local drops = s.stage("exact_drops", {}, keys, nil, o.partitions)
    return s.stage("drop_listed", { reason = "exact_duplicate" }, input, drops)
  end,
}

-- Near-duplicates by MinHash: the smallest position of a cluster survives.
M.minhash = s.composite {
  "minhash",
  options = {
    over = { "column", "text", doc = "Column that holds the text." },
    ngram = { "int", 5, min = 1, max = 1024, doc = "Words of a shingle." },
    bands = { "int", 14, min = 1, max = 4096, doc = "Bands of the signature." },
    rows = { "int", 8, min = 1, max = 4096, doc = "Hash functions of a band." },
    seed = { "int", 1, min = 0, max = 4294967295, doc = "Seed of the hash functions." },
    hash = { "enum", "xxhash", choices = "xxhash|sha1", doc = "Hash of a shingle." },
    bits = { "enum", "64", choices = "64|32", doc = "Width of a hash." },
    words = { "enum", "whitespace", choices = "whitespace|uax29", doc = "Rule that cuts the normalised text into words." },
    normalise = { "bool", true, doc = "Lower-case, numbers to 0, no punctuation and diacritics." },
    partitions = { "int", 32, min = 1, max = 65536, doc = "Virtual partitions of the exchange." },
  },
  build = function(input, o)
    local signed = s.stage("minhash_sign", {
      over = o.over, ngram = o.ngram, bands = o.bands, rows = o.rows, seed = o.seed, hash = o.hash, bits = o.bits,
      words = o.words, normalise = o.normalise,
    }, input)
    local keys = s.stage("minhash_keys", {}, signed)
    local edges = s.stage("minhash_edges", {}, keys, nil, o.partitions)
    local drops = s.stage("minhash_components", {}, signed, edges)
    return s.stage("drop_listed", { reason = "minhash_duplicate" }, signed, drops)
  end,
}

M.gate = core.module("lib.std_gate", s, core)

return M
