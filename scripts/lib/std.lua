-- Composites of the standard library. Third parties compose the same way: s.composite over stages with keyed exchanges and side inputs.

local s, core = ...

local M = {}

-- Exact duplicates: equal values of the key columns. What an index was made by, so that another one is refused.
local function exact_rule(o)
  return "exact-1 over=" .. table.concat(o.over, ",") .. (o.within and " within=" .. o.within or "")
end

local exact_options = {
  over = { "list", "text", doc = "Columns whose equal values make rows duplicates." },
  within = { "column", doc = "Only rows with one value of this column can be duplicates (a crawl, a language)." },
  priority = { "column", doc = "Number column: of duplicates the one with the highest value stays, then the first." },
  partitions = { "int", 32, min = 1, max = 65536, doc = "Virtual partitions of the exchange." },
}

local function with(options, more)
  local all = {}
  for name, option in pairs(options) do all[name] = option end
  for name, option in pairs(more) do all[name] = option end
  return all
end

M.exact = s.composite {
  "exact",
  doc = "Exact duplicates by any key columns: the first of a value survives, or the one of highest priority.",
  example = [[docs | s.exact { over = { "text" } }]],
  options = with(exact_options, {
    keep = { "enum", "first", choices = "first|fixed", doc = "fixed: what comes later changes nothing (the first stays, and `priority` is refused)." },
    against = { "list", "", doc = "Datasets made by exact_index: their documents stay, and duplicates of them are dropped." },
    against_only = { "bool", false, doc = "Only duplicates of the documents of `against` are dropped." },
  }),
  build = function(input, o)
    if o.keep == "fixed" and o.priority then
      core.fail("'exact': by priority a row may take the place of one that came before it, which keep = \"fixed\" excludes; leave out one of them")
    end
    local keys = s.stage("exact_keys", { over = o.over, within = o.within, priority = o.priority }, input)
    for _, index in ipairs(o.against) do
      local rows = s.dataset(index) | s.read_jsonl { text = "key", columns = { rule = "utf8" } }
      keys = s.union(keys, s.stage("exact_index_keys", { rule = exact_rule(o) }, rows))
    end
    local drops = s.stage("exact_drops", { against_only = o.against_only }, keys, nil, o.partitions)
    return s.stage("drop_listed", { reason = "exact_duplicate" }, input, drops)
  end,
}

-- Quotas: of the rows with one key the first few stay.
M.per_key = s.composite {
  "per_key",
  doc = "At most so many rows of each key, such as a domain or an author: those of highest priority, then the first; the others are dropped as over_cap.",
  example = [[docs | s.url_parts {} | s.per_key { by = { "domain" }, cap = 100 }]],
  options = {
    by = { "list", required = true, doc = "Columns whose values are the key; a row in which one is null stays." },
    cap = { "int", required = true, min = 1, max = 1e15, doc = "Rows of a key that stay." },
    priority = { "column", doc = "Number column: the rows with the highest values stay, then the first." },
    partitions = { "int", 32, min = 1, max = 65536, doc = "Virtual partitions of the exchange." },
  },
  build = function(input, o)
    local keys = s.stage("exact_keys", { over = o.by, priority = o.priority }, input)
    local drops = s.stage("exact_drops", { most = o.cap }, keys, nil, o.partitions)
    return s.stage("drop_listed", { reason = "over_cap", limit = o.cap }, input, drops)
  end,
}

-- The persistent index of exact: its rows {key, id, rule}, sorted by key, for a dataset of JSONL.
M.exact_index = s.composite {
  "exact_index",
  doc = "The persistent index of exact: rows for s.write_jsonl, which `against` takes.",
  example = [[docs | s.exact_index { over = { "text" } } | s.write_jsonl { "out/index" }]],
  options = exact_options,
  build = function(input, o)
    local keys = s.stage("exact_keys", { over = o.over, within = o.within, priority = o.priority }, input)
    return s.stage("exact_index_rows", { rule = exact_rule(o) }, keys, nil, o.partitions)
  end,
}

-- Runs of n sentences (lines, paragraphs) that occur more than once: all but the first occurrence is cut out of its text.
local function span_dedup(name, doc, unit, n, min_words, min_units, normalise)
  return s.composite {
    name,
    doc = doc,
    example = "docs | s." .. name .. " { n = " .. n .. " }",
    options = {
      over = { "column", "text", doc = "Column that holds the text, replaced by what is left of it." },
      unit = { "enum", unit, choices = "sentences|lines|paragraphs", doc = "What a text is cut into." },
      n = { "int", n, min = 1, max = 1000, doc = "Units of a run that is compared." },
      normalise = { "bool", normalise, doc = "Compare units lower-cased, with numbers as 0, without punctuation and diacritics." },
      min_words = { "int", min_words, min = 0, doc = "Fewest words of a document of which something was removed; 0 disables." },
      min_units = { "int", min_units, min = 0, doc = "Fewest sentences of a document of which something was removed; 0 disables." },
      min_words_to_remove = { "int", 0, min = 0, doc = "A removed stretch of fewer words stays; 0 disables." },
      peer = { "bool", false, doc = "With datatrove's bugs: 16 bits number a text's units, a stretch is judged and restored by its first unit alone." },
      partitions = { "int", 32, min = 1, max = 65536, doc = "Virtual partitions of the exchange." },
    },
    build = function(input, o)
      local keys = s.stage("span_keys", { over = o.over, unit = o.unit, n = o.n, normalise = o.normalise, peer = o.peer }, input)
      local marks = s.stage("span_marks", {}, keys, nil, o.partitions)
      return s.stage("span_filter", {
        over = o.over, unit = o.unit, n = o.n, min_words = o.min_words, min_units = o.min_units,
        min_words_to_remove = o.min_words_to_remove, peer = o.peer,
      }, input, marks)
    end,
  }
end

M.sentence_dedup = span_dedup("sentence_dedup", "Repeated runs of sentences are cut out of their texts: all but the first occurrence.",
                              "sentences", 3, 50, 3, true)
M.paragraph_dedup = span_dedup("paragraph_dedup", "Repeated paragraphs are cut out of their texts: all but the first occurrence.",
                               "paragraphs", 1, 0, 0, false)

-- Paragraphs most of whose n-grams were seen before, by a Bloom filter of a stated size and rate (BFF of DCLM, Dolma's deduper).
local function bloom_rule(o)
  return o.mode .. " ngram=" .. o.ngram .. " stride=" .. o.stride
end

local bloom_options = {
  over = { "column", "text", doc = "Column that holds the text." },
  ngram = { "int", 13, min = 1, max = 10000, doc = "Words of an n-gram." },
  stride = { "int", 1, min = 1, max = 10000, doc = "Words from one n-gram to the next." },
  mode = { "enum", "bff", choices = "bff|dolma", doc = "Whose short paragraphs, strides and memory: see bloom_marks." },
  expected = { "int", 1000000, min = 1, doc = "Different n-grams that the filter is made for." },
  false_positives = { "float", 0.01, min = 1e-12, max = 0.5, doc = "Rate at which a new n-gram is taken for a seen one when `expected` are in." },
}

M.bloom_paragraphs = s.composite {
  "bloom_paragraphs",
  doc = "Paragraphs whose n-grams were mostly seen before, by a Bloom filter of a stated size and rate.",
  example = [[docs | s.bloom_paragraphs { expected = 1000000, action = "remove" }]],
  options = with(bloom_options, {
    threshold = { "float", 0.8, min = 0, max = 1, doc = "Share of seen n-grams above which a paragraph is a duplicate." },
    document_threshold = { "float", 1, min = 0, max = 1, doc = "A document of which more than this share of n-grams was seen is dropped; 1: none." },
    action = { "enum", "remove", choices = "remove|tag|drop", doc = "remove: cut out; tag: list in `duplicate_spans`; drop: the document goes." },
    use = { "path", doc = "A filter to begin with, made by `bloom_index`." },
    read_only = { "bool", false, doc = "Judge by the filter of `use` alone." },
  }),
  build = function(input, o)
    local grams = s.stage("bloom_grams", { over = o.over, ngram = o.ngram, stride = o.stride, mode = o.mode }, input)
    local marks = s.stage("bloom_marks", {
      expected = o.expected, false_positives = o.false_positives, threshold = o.threshold, mode = o.mode, use = o.use,
      read_only = o.read_only, rule = bloom_rule(o),
    }, grams)
    return s.stage("bloom_filter", { over = o.over, action = o.action, document_threshold = o.document_threshold }, input, marks)
  end,
}

-- The filter of all paragraphs, for write_bloom.
M.bloom_index = s.composite {
  "bloom_index",
  doc = "The Bloom filter of a corpus, for s.write_bloom.",
  example = [[docs | s.bloom_index { expected = 1000000 } | s.write_bloom { "out/filter" }]],
  options = bloom_options,
  build = function(input, o)
    local grams = s.stage("bloom_grams", { over = o.over, ngram = o.ngram, stride = o.stride, mode = o.mode }, input)
    return s.stage("bloom_collect", { expected = o.expected, false_positives = o.false_positives, rule = bloom_rule(o) }, grams)
  end,
}

-- Texts that hold a piece of a benchmark are dropped (rule "janitor": the piece is cut out of them). Dropped rows carry the report.
M.decontaminate = s.composite {
  "decontaminate",
  doc = "Drops documents that hold items of benchmarks, and says which.",
  example = [[docs | s.decontaminate { reference = "gsm8k.jsonl" }]],
  options = {
    reference = { "path", required = true, doc = "JSON lines of benchmark items (may be compressed)." },
    rule = { "enum", "datatrove", choices = "datatrove|janitor|decon", doc = "What counts as contamination; see `contamination`." },
    over = { "column", "text", doc = "Column that holds the text." },
    question = { "string", "question", doc = "Field of the reference with the question." },
    answer = { "string", "answer", doc = "Field with the answer, or a list of answers." },
    passage = { "string", "passage", doc = "Field with the passage that the question is about." },
    id = { "string", "id", doc = "Field that names an item; else its task and line do." },
    task = { "string", "task", doc = "Field that names the benchmark." },
    ngram = { "int", 0, min = 0, doc = "Words of an n-gram; 0: the rule's own (12, 13, 5)." },
    query_ngrams = { "bool", false, doc = "datatrove: n-grams of the question alone count." },
    overlap_ngrams = { "bool", true, doc = "datatrove: n-grams across question and answer count." },
    window = { "int", 200, min = 0, doc = "janitor: characters cut on either side of a hit." },
    min_piece = { "int", 200, min = 0, doc = "janitor: a piece of so many characters or fewer is dropped." },
    max_hits = { "int", 10, min = 0, doc = "janitor: a text of more hits is dropped." },
    join = { "string", "\n\n", doc = "janitor: what stands between the pieces that are left." },
    peer = { "bool", false, doc = "janitor: also drop short texts without a hit, as the peer does." },
    sample = { "int", 10, min = 1, doc = "decon: look at every n-th n-gram, n this number, for a first hit." },
    misses = { "int", 11, min = 1, doc = "decon: give up after so many n-grams without a new hit." },
    threshold = { "float", 0.8, min = 0, max = 1, doc = "decon: least weighted overlap of a long item." },
    decay_begin = { "int", 20, min = 0, doc = "decon: items of so many words or fewer must match whole." },
    decay_end = { "int", 50, min = 1, doc = "decon: items of so many words or more must match by threshold." },
    min_tokens = { "int", 20, min = 0, doc = "decon: items of fewer words are left out." },
    min_unique = { "int", 4, min = 0, doc = "decon: items of fewer different words are left out." },
  },
  build = function(input, o)
    return s.stage("contaminated", {}, s.stage("contamination", o, input))
  end,
}

-- Attribute files made by others (Dolma's layout: documents/FILE and attributes/NAME/FILE, line by line), put to their documents.
M.dolma_join = s.composite {
  "dolma_join",
  doc = "Attribute files in Dolma's layout, made by others, put to their documents: s.dolma_mix takes them.",
  example = [[docs | s.dolma_join { attributes = { "corpus/attributes/pii/{file}.json.gz" } }]],
  options = {
    attributes = { "list", required = true,
                   doc = "Patterns of attribute files, such as \"corpus/attributes/pii/{file}.json.gz\", in the order in which they are merged: of one name the last counts." },
    aligned = { "bool", true, doc = "A line of another document than the one at its place, or one too few, ends the run; false: such lines are left out." },
    by = { "list", "file", doc = "The {parts} of the paths that name a file, the same for documents and attributes; of nested folders by = { \"dir\", \"file\" } with {dir**}/{file}." },
    partitions = { "int", 32, min = 1, max = 65536, doc = "Virtual partitions of the exchange, by file." },
  },
  build = function(input, o)
    local lines = { s.stage("dolma_line_keys", { by = o.by, aligned = o.aligned }, input) }
    for k, pattern in ipairs(o.attributes) do
      local rows = s.files(pattern) | s.read_jsonl { text = "id", columns = { attributes = "json" }, metadata = false }
      lines[k + 1] = s.stage("dolma_line_keys", { by = o.by, from = k, aligned = o.aligned }, rows)
    end
    local matched = s.stage("dolma_line_match", { names = o.attributes, aligned = o.aligned }, s.union(lines), nil, o.partitions)
    return s.stage("dolma_line_join", { sources = #o.attributes, aligned = o.aligned }, input, matched)
  end,
}

-- The other direction: an attribute file for each file of documents, under its name, however the documents were cut.
M.attribute_files = s.composite {
  "attribute_files",
  doc = "An attribute file for each file of documents, under its name, for Dolma's mixer.",
  example = [[docs | s.attribute_files { path = "corpus/attributes/pii" }]],
  options = {
    path = { "string", required = true, doc = "Dataset folder that is written: for Dolma's mixer `.../attributes/NAME`, which it is then told as NAME/latest." },
    by = { "list", "file", doc = "The {parts} of the documents' paths that name a file: { \"dir\", \"file\" } with documents/{dir**}/{file}.json.gz writes the same folders." },
    suffix = { "string", ".json.gz", doc = "What stands behind it in the documents' names." },
    compression = { "enum", "gzip", choices = "none|gzip|zstd", doc = "Codec of the files; Dolma's mixer reads gzip." },
    level = { "int", 0, min = 0, max = 22, doc = "Level of the codec (gzip to 12, zstd to 22); 0 is its default." },
    aligned = { "bool", true, doc = "A row of the input that is missing, dropped or set aside on the way, ends the run." },
    partitions = { "int", 32, min = 1, max = 65536, doc = "Virtual partitions of the exchange, by file." },
  },
  build = function(input, o)
    local lines = s.stage("dolma_line_keys", { by = o.by, from = 1, aligned = o.aligned }, input)
    return s.stage("write_attribute_files", { o.path, suffix = o.suffix, compression = o.compression, level = o.level }, lines, nil, o.partitions)
  end,
}

-- Near-duplicates by MinHash. signed_by: what stands behind each node that minhash made, for minhash_index.
local signed_by = {}

-- "idx@3" as the manifest of that snapshot; nil stays nil. The number is required: a run gives the same rows whenever it is repeated, also
-- when it is the run that carries the index on.
local function index_manifest(stage, reference)
  if reference == nil then return nil end
  local path, number = string.match(reference, "^(.+)@(%d+)$")
  if path == nil then
    core.fail(string.format("'%s': against = %q does not say which snapshot of the index; write \"%s@1\" (`sluice verify %s` tells the newest)",
                            stage, reference, reference, reference))
  end
  return string.format("%s/snapshots/%06d.json", path, tonumber(number)), path, tonumber(number)
end

M.minhash = s.composite {
  "minhash",
  doc = "Near-duplicates by MinHash: one of a cluster survives.",
  example = [[docs | s.minhash { bands = 14, rows = 8 }]],
  options = {
    over = { "column", "text", doc = "Column that holds the text." },
    ngram = { "int", 5, min = 1, max = 1024, doc = "Words of a shingle." },
    bands = { "int", 14, min = 1, max = 4096, doc = "Bands of the signature." },
    rows = { "int", 8, min = 1, max = 4096, doc = "Hash functions of a band." },
    seed = { "int", 1, min = 0, max = 4294967295, doc = "Seed of the hash functions." },
    hash = { "enum", "xxhash", choices = "xxhash|sha1", doc = "Hash of a shingle." },
    bits = { "enum", "64", choices = "64|32", doc = "Width of a hash." },
    words = { "enum", "spacy-en", choices = "whitespace|uax29|spacy-en", doc = "Rule that cuts the normalised text into words; spacy-en is datatrove's for English." },
    normalise = { "bool", true, doc = "Lower-case, numbers to 0, no punctuation and diacritics." },
    within = { "column", doc = "Only rows with one value of this column can be duplicates (a crawl, a language)." },
    keep = { "enum", "first", choices = "first|fixed|peer|longest|best|newest",
             doc = "Which document of a cluster stays: the first, datatrove's (peer), the longest in bytes, or the one with the largest number (best) or latest date (newest) in column `by`; of equals the first. fixed: there are no clusters, a document goes if it looks like one that was kept before it, so that what comes later changes nothing: days that are appended one by one are one run over all." },
    by = { "column", doc = "Number or date column that keep = \"best\" and \"newest\" look at; a null comes last." },
    verify = { "float", 0, min = 0, max = 1, doc = "Jaccard similarity of shingles that a dropped document must have with the one it duplicates; 0: candidates are not verified." },
    against = { "string", doc = "Snapshot of an index (PATH@N, see minhash_index): documents that it has are dropped as minhash_in_index." },
    partitions = { "int", 32, min = 1, max = 65536, doc = "Virtual partitions of the exchanges." },
  },
  build = function(input, o)
    local manifest, path, number = index_manifest("minhash", o.against)
    if manifest and o.verify > 0 then
      core.fail("'minhash': verify compares shingles, which an index does not hold; leave out verify or against")
    end
    if manifest and o.keep == "peer" then
      core.fail("'minhash': keep = \"peer\" is the order of a run over all documents; leave out keep or against")
    end
    local verify, fixed = o.verify > 0, o.keep == "fixed"
    if fixed and verify then
      core.fail("'minhash': verify takes documents out of clusters, which keep = \"fixed\" has not; leave out verify or keep")
    end
    local parameters = string.format("over=%s ngram=%d bands=%d rows=%d seed=%d hash=%s bits=%s words=%s normalise=%s within=%s keep=%s by=%s",
      o.over, o.ngram, o.bands, o.rows, o.seed, o.hash, o.bits, o.words, tostring(o.normalise), o.within or "", o.keep, o.by or "")
    local signed = s.stage("minhash_sign", {
      over = o.over, ngram = o.ngram, bands = o.bands, rows = o.rows, seed = o.seed, hash = o.hash, bits = o.bits,
      words = o.words, normalise = o.normalise, within = o.within, keep = fixed and "first" or o.keep, by = o.by,
    }, input)
    local keys = s.stage("minhash_keys", {}, signed)
    local edges = s.stage("minhash_edges", { parameters = parameters, index = manifest, buckets = fixed }, keys, nil, o.partitions)
    local clusters = fixed and s.stage("minhash_fixed", {}, signed, edges)
      or s.stage("minhash_components", { keep = o.keep == "peer" and "peer" or "first" }, signed, edges)
    local members = s.stage("minhash_members", {
      over = o.over, ngram = o.ngram, hash = o.hash, bits = o.bits, words = o.words, normalise = o.normalise,
      shingles = verify, ranked = o.keep ~= "peer",
    }, signed, clusters)
    -- One partition where nothing is verified, which is little work: a split's list then comes from one task, and is the same as long as its rows
    -- are, so that the splits behind it are reused (clusters are numbered by position, and move between partitions when a file is added).
    local drops = s.stage("minhash_pick", { parameters = parameters, index = manifest, verify = o.verify }, members, nil, verify and o.partitions or 1)
    local kept = s.stage("drop_listed", { reason = "minhash_duplicate", limit = o.verify }, signed, drops)
    signed_by[kept.id] = { signed = signed, drops = drops, parameters = parameters, peer = o.keep == "peer", fixed = fixed,
                           path = path, number = number, manifest = manifest, group = 1 << 30 | signed.id }
    for _, user in ipairs { keys, clusters, members, kept } do core.group(user.id, signed_by[kept.id].group) end
    return kept
  end,
}

-- The persistent index of what s.minhash saw: unique | s.minhash_index { path = "idx" } writes a dataset that `against` takes. Behind a minhash that is
-- `against` a snapshot of the same dataset, the new snapshot carries that one on.
M.minhash_index = s.composite {
  "minhash_index",
  doc = "The persistent index of minhash: it writes the dataset that `against` takes.",
  example = [[docs | s.minhash {} | s.minhash_index { path = "out/index" }]],
  options = {
    path = { "string", required = true, doc = "Dataset folder that is written." },
    partitions = { "int", 32, min = 1, max = 65536, doc = "Virtual partitions: a pair of files each." },
  },
  build = function(input, o)
    local made = signed_by[input.id]
    if made == nil then
      core.fail("'minhash_index' stands right behind s.minhash, whose signatures it keeps: local unique = docs | s.minhash {}; unique | s.minhash_index { path = \"idx\" }")
    end
    if made.peer then core.fail("'minhash_index': the keys of keep = \"peer\" fit no index; leave out keep") end
    local rows = s.stage("minhash_index_rows", { kept = made.fixed }, made.signed, made.drops)
    core.group(rows.id, made.group)
    local append = made.path == o.path
    local keys = s.stage("minhash_index_keys", { parameters = made.parameters, index = append and made.manifest or nil }, rows, nil, o.partitions)
    return s.stage("write_minhash_index", { o.path, parameters = made.parameters, parent = append and made.number or 0 }, keys)
  end,
}

-- Rows of tokens. With carry, what the splits leave incomplete is packed together, in one more phase; the options are those of the stage.
function M.pack(given)
  local plain = type(given) == "table" and rawequal(getmetatable(given), nil)
  return s.composite {
    "pack",
    build = function(input)
      local rows = s.stage("pack", given, input)
      if not (plain and (given.carry == true or given.carry == "true")) then return rows end
      core.rename_default(rows.id, "pack_rows")
      local whole = s.stage("pack_whole", {}, rows)
      local carried = s.stage("pack_carry", given, s.stage("pack_parts", {}, rows))
      local all = s.union(whole, carried)
      core.rename_default(carried.id, "pack")
      core.rename_default(all.id, "pack_all")
      return all
    end,
  } {}
end

-- Of the rows with one key the one with the largest `order_by` stays.
local function latest(input, o, ties)
  local keys = s.stage("exact_keys", { over = o.key, priority = o.order_by }, input)
  local drops = s.stage("exact_drops", { ties = ties }, keys, nil, o.partitions)
  return s.stage("drop_listed", { reason = "superseded" }, input, drops)
end

-- A change log merged into the rows of a snapshot. The changes come first, so that one takes the place of a row that it made before.
M.merge = s.composite {
  "merge",
  doc = "Merges the rows of a change log (inserts, updates, deletes) into the rows of a snapshot: of each key the latest stays.",
  example = [[s.dataset "out@3" | s.read_jsonl { columns = { ts = "int64" } }
  | s.merge { with = s.files "changes/*" | s.read_jsonl { columns = { ts = "int64", op = "utf8" } }, key = { "id" }, order_by = "ts", op = "op" }]],
  options = {
    with = { "node", required = true, doc = "The changes: rows as those of the snapshot, with the column `op`." },
    key = { "list", "id", doc = "Columns whose values name a row." },
    order_by = { "column", required = true, doc = "Number column: of a key the row with the largest stays. Two changes of a key must differ in it. A row of the snapshot that has none is older than all; what was deleted leaves no trace, so portions come in their order." },
    op = { "column", required = true, doc = "Text column of the changes that says what became of the row; it ends here." },
    deletes = { "list", "delete,d,D", doc = "Values of `op` by which the row is gone." },
    puts = { "list", "insert,update,upsert,i,u,c,r,I,U", doc = "Values of `op` by which the row is there. A change of any other value is set aside, and max_bad counts it." },
    partitions = { "int", 32, min = 1, max = 65536, doc = "Virtual partitions of the exchanges." },
  },
  build = function(input, o, nodes)
    local ops = { op = o.op, deletes = o.deletes, puts = o.puts, check = true }
    local changes = latest(s.stage("merge_ops", ops, nodes.with), o, "fail")
    local merged = latest(s.union(changes, input, { missing = "null" }), o, "first")
    return s.stage("drop_columns", { { o.op } }, s.stage("merge_ops", { op = o.op, deletes = o.deletes, puts = o.puts }, merged))
  end,
}

-- A broadcast join: every worker holds the table whole, nothing is exchanged.
M.join = s.composite {
  "join",
  doc = "Adds the columns of a table's row to the rows that name it: a broadcast join, for tables that fit in memory.",
  example = [[docs | s.join { with = s.files "authors.jsonl" | s.read_jsonl { text = "name" }, on = "id", columns = { "name" } }]],
  options = {
    with = { "node", required = true, doc = "The table: a stream of rows, each key once." },
    on = { "list", required = true, doc = "Columns whose values name the row of the table." },
    table_on = { "list", "", doc = "What those columns are called in the table, where that is not the same." },
    columns = { "list", "", doc = "Columns of the table that are added; all others by default." },
    prefix = { "string", "", doc = "What stands before the names of added columns." },
    missing = { "enum", "null", choices = "null|drop|fail",
                doc = "What becomes of a row that has none in the table: its new columns are null, it is dropped, or the run ends." },
  },
  build = function(input, o, nodes)
    return s.stage("join_table", { on = o.on, table_on = o.table_on, columns = o.columns, prefix = o.prefix, missing = o.missing },
                   input, nodes.with)
  end,
}

M.gate = core.module("lib.std_gate", s, core)
M.contract = core.module("lib.std_contract", s, core)
M.statistics = core.module("lib.std_stats", s, core)
for name, composite in pairs(core.module("lib.std_shuffle", s, core)) do M[name] = composite end

return M
