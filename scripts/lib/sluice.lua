-- The pipeline language: `local s = require "sluice"`. Builds the graph through the core's primitives (`core`, given by the host as the
-- chunk's argument) and adds nothing to what they can do. Runs in the planner's state and again, with a core that only counts,
-- in the state of every worker, where it finds the functions of Lua stages by their number; so whatever happens here must depend on the
-- script and its arguments alone.

local core = ...

local M = {}
local Node, Template = {}, {}
local policies = {}  -- what was made, of each policy by its number

local function fail(message, ...)
  core.fail(string.format(message, ...))
end

local function is_node(x) return getmetatable(x) == Node end
local function is_template(x) return getmetatable(x) == Template end

local function describe(x)
  if is_node(x) then return "a stream of rows" end
  if is_template(x) then return "the stage '" .. x.name .. "'" end
  if type(x) == "string" then return string.format("string %q", x) end
  return type(x)
end

-- ---- what is made and must be used ----------------------------------------------------------------------------------------

-- A `|` that was forgotten is no error of Lua's: `docs s.exact {}` are two statements, and the stage is in no pipeline. So whatever the
-- script's own file makes must be used by it; modules may have more than one script needs.
local made, used = {}, {}
local loading = false -- the standard library, of which nobody uses all

local function make(what, where, advice)
  if loading then return nil end
  local item = { what = what, where = where, advice = advice }
  made[#made + 1] = item
  return item
end

local function use(item)
  if item ~= nil then used[item] = true end
end

-- The script's own place has no line in a tail call (return s.pipeline {...}).
local function file_of(where) return string.match(where, "^(.*):%d+$") or where end

local function refuse_unused(file)
  for _, item in ipairs(made) do
    if not used[item] and file_of(item.where) == file then
      core.at(item.where)
      fail("%s is not used: %s, or remove it", item.what, item.advice)
    end
  end
end

-- Composites of the standard library, loaded when first asked for.
local std
local function standard()
  if std == nil then
    loading = true
    std = core.module("lib.std", M, core)
    loading = false
  end
  return std
end

-- ---- nodes ------------------------------------------------------------------------------------------------------------------

local function node(id) return setmetatable({ id = id }, Node) end

-- group > 0: nodes made inside one composite, whose name is `inside`
local group, groups = 0, 0
local inside

local function add(kind, name, where)
  local id = core.node(kind, name, where)
  core.group(id, group)
  return id
end

function Node.__index(self, key)
  if key == "dropped" then
    local name = core.name(rawget(self, "id")) .. ".dropped"
    local id = add("dropped", name, core.where())
    core.connect(id, rawget(self, "id"))
    return node(id)
  end
  fail("a stream has no '%s'; it has .dropped, and | pipes it into a stage", tostring(key))
end

function Node.__newindex() fail("a stream can't be changed; pipe it into a stage with |") end
function Node.__tostring(self) return "stream " .. core.name(rawget(self, "id")) end

-- ---- stages -----------------------------------------------------------------------------------------------------------------

-- A template is a stage with its options, not yet in the graph. apply(input node) returns the node behind it.
local function template(name, where, apply)
  local item = make("the stage '" .. name .. "'", where, "pipe rows into it with |")
  return setmetatable({ name = name, where = where, item = item, apply = function(input)
    use(item)
    return apply(input)
  end }, Template)
end

local function pipe(left, right)
  if not is_template(right) then
    fail("the right side of | must be a stage, such as s.write_jsonl { \"out\" }; found %s", describe(right))
  end
  if is_node(left) then
    return right.apply(left)
  end
  if is_template(left) then
    use(left.item)
    use(right.item)
    return template(left.name .. "|" .. right.name, left.where, function(input) return pipe(pipe(input, left), right) end)
  end
  fail("the left side of | must be a stream of rows or a stage; found %s", describe(left))
end

Node.__bor, Template.__bor = pipe, pipe

function Template.__index(self, key)
  if key == "dropped" then
    fail("'%s' is not in the pipeline yet: name the stream behind it (local x = docs | s.%s {...}) and take x.dropped", rawget(self, "name"),
         rawget(self, "name"))
  end
  return nil
end

-- Splits what stands between { } into named options and the positional one.
local function split_options(name, given)
  if given == nil then given = {} end
  if type(given) ~= "table" or is_node(given) or is_template(given) then
    return {}, given
  end
  local named, positional = {}, nil
  for key, value in pairs(given) do
    if math.type(key) == "integer" then
      if key ~= 1 then
        if positional == nil or given[1] == positional then positional = {} end
      end
    elseif type(key) == "string" then
      if is_node(value) then value = core.name(value.id) end
      named[key] = value
    else
      fail("'%s': found an option with the name %s, expected a word", name, tostring(key))
    end
  end
  if #given == 1 then
    positional = given[1]
  elseif #given > 1 then
    positional = {}
    for i, value in ipairs(given) do positional[i] = value end
  end
  return named, positional
end

-- partition_by = { "lang", { hash = "id", n = 16 } }: an entry of two words becomes the text that writers take.
local function partition_texts(name, by)
  if type(by) ~= "table" then return by end
  local texts = {}
  for i, entry in ipairs(by.hash ~= nil and { by } or by) do
    if type(entry) == "table" then
      for key in pairs(entry) do
        if key ~= "hash" and key ~= "n" then
          fail("'%s': partition_by: found '%s' in an entry; expected a column's name or { hash = \"id\", n = 16 }", name, tostring(key))
        end
      end
      if type(entry.hash) ~= "string" or math.type(entry.n) ~= "integer" then
        fail("'%s': partition_by: expected a column's name or { hash = \"id\", n = 16 }", name)
      end
      entry = ("hash(%s, %d)"):format(entry.hash, entry.n)
    end
    texts[i] = entry
  end
  return texts
end

-- Puts a configured stage behind one or two inputs.
local function put(entry, base, where, named, positional, inputs)
  local id = add("stage", base, where)
  core.stage(id, entry, named, positional)
  if inside ~= nil and core.part ~= nil then core.part(inside, base) end
  for _, input in ipairs(inputs) do
    if not is_node(input) then fail("'%s' needs a stream of rows before it; found %s", base, describe(input)) end
    core.connect(id, input.id)
  end
  return node(id)
end

local function stage_function(name, plugin)
  local entry = core.find(name, plugin)
  return function(given)
    local where = core.where()
    local named, positional = split_options(name, given)
    local side = nil
    if named.side ~= nil then
      fail("'%s': an option can't be called 'side'", name)
    end
    if named.partition_by ~= nil then named.partition_by = partition_texts(name, named.partition_by) end
    return template(name, where, function(input) return put(entry, name, where, named, positional, { input }) end)
  end
end

-- For composites: a stage with a side input, `s.stage("drop_list", { over = "text" }, main, side)`.
function M.stage(name, options, main, side, partitions)
  local entry = core.find(name)
  local named, positional = split_options(name, options)
  local result = put(entry, name, core.where(), named, positional, side ~= nil and { main, side } or { main })
  if partitions ~= nil then core.partitions(result.id, partitions) end
  return result
end

-- ---- sources ----------------------------------------------------------------------------------------------------------------

-- s.files "corpus/*.zst"; s.files { "a/*.gz", "b/{dump}/*.zst", split = "64MiB", max_record = "64MiB" }
-- s.files { "in/*.jsonl", since = "out/kept" } leaves out what the dataset has the rows of (its writer: mode = "append").
function M.files(given)
  local where = core.where()
  local named, positional = split_options("files", given)
  local patterns = type(positional) == "table" and positional or { positional }
  for _, pattern in ipairs(patterns) do
    if type(pattern) ~= "string" then fail("s.files: found %s, expected a path or pattern", describe(pattern)) end
  end
  if #patterns == 0 then fail("s.files: no path or pattern is given; write s.files \"corpus/*.jsonl.zst\"") end
  local id = add("files", "files", where)
  core.files(id, patterns, named)
  return node(id)
end

-- A snapshot of a dataset: s.dataset "silver/web@12" or "silver/web" (the newest)
function M.dataset(reference)
  if type(reference) == "table" then reference = reference[1] end
  if type(reference) ~= "string" then fail("s.dataset: found %s, expected PATH or PATH@N", describe(reference)) end
  local id = add("dataset", "dataset", core.where())
  core.files(id, { reference }, {})
  return node(id)
end

-- Rows of all streams, those of the first one first. They have the same columns; with { missing = "null" } a column that one of them lacks
-- is null in its rows.
function M.union(...)
  local inputs = { ... }
  local options = {}
  if #inputs == 1 and type(inputs[1]) == "table" and not is_node(inputs[1]) then inputs = { table.unpack(inputs[1]) } end
  local last = inputs[#inputs]
  if type(last) == "table" and not is_node(last) and not is_template(last) then
    options = table.remove(inputs)
    for name, value in pairs(options) do
      if name ~= "missing" then fail("s.union: unknown option '%s'; Valid: missing", tostring(name)) end
      if value ~= "null" then fail("s.union: missing: found %s, expected \"null\"", describe(value)) end
    end
  end
  if #inputs < 2 then fail("s.union: found %d stream(s), expected two or more", #inputs) end
  local id = add("union", "union", core.where())
  for _, input in ipairs(inputs) do
    if not is_node(input) then fail("s.union: found %s, expected streams of rows", describe(input)) end
    core.connect(id, input.id)
  end
  if options.missing then core.fill(id) end
  return node(id)
end

-- Rows are stored here: `docs | s.language {...} | s.checkpoint {} | s.filter {...}`. What changes behind it makes nothing before it run again.
function M.checkpoint(given)
  local where = core.where()
  local named, positional = split_options("checkpoint", given)
  if positional ~= nil or next(named) ~= nil then fail("s.checkpoint: found options; it has none: write s.checkpoint {}") end
  return template("checkpoint", where, function(input)
    local id = add("checkpoint", "checkpoint", where)
    if not is_node(input) then fail("s.checkpoint needs a stream of rows before it; found %s", describe(input)) end
    core.connect(id, input.id)
    return node(id)
  end)
end

-- ---- names, composites, pipelines -------------------------------------------------------------------------------------------

-- s.named("quality", docs | ...): the stream's last stage gets the name
function M.named(name, stream)
  if type(name) ~= "string" then fail("s.named: found %s, expected a name", describe(name)) end
  if is_template(stream) then
    use(stream.item)
    return template(name, stream.where, function(input)
      local result = stream.apply(input)
      core.rename(result.id, name)
      return result
    end)
  end
  if not is_node(stream) then fail("s.named: found %s, expected a stream of rows or a stage", describe(stream)) end
  core.rename(stream.id, name)
  return stream
end

-- A composite is a function that returns nodes: s.composite { "name", options = {...}, build = function(input, o, nodes) return ... end }.
-- nodes: the streams that options of the type "node" were given, by name; o has what they are called.
-- options are declared as in s.heuristic; doc and example are shown by `sluice inspect` for those of the standard library. Nodes made inside
-- count as one stage for forks.
function M.composite(definition)
  local name, declared, build = definition[1], definition.options or {}, definition.build
  if type(name) ~= "string" then fail("s.composite: the first item must be its name") end
  if type(build) ~= "function" then fail("s.composite '%s': build must be a function(input, options)", name) end
  if core.composite ~= nil then core.composite(name, definition.doc or "", definition.example or "", declared) end
  local item = make("the composite '" .. name .. "'", core.where(), "pipe rows into it with |")
  return function(given)
    local where = core.where()
    use(item)
    local named, positional = split_options(name, given)
    local options = core.options(name, declared, named, positional)
    local nodes = {}
    for key, option in pairs(declared) do
      local stream = type(given) == "table" and given[key] or nil
      if option[1] == "node" and stream ~= nil then
        if not is_node(stream) then fail("'%s': %s: found %s, expected a stream of rows", name, key, describe(stream)) end
        nodes[key] = stream
      end
    end
    return template(name, where, function(input)
      if not is_node(input) then fail("'%s' needs a stream of rows before it; found %s", name, describe(input)) end
      local outer = group
      if outer == 0 then
        groups = groups + 1
        group = groups
        inside = name
      end
      core.at(where)
      local result = build(input, options, nodes)
      core.at(nil)
      group = outer
      if outer == 0 then inside = nil end
      if not is_node(result) then fail("s.composite '%s': build must return a stream; found %s", name, describe(result)) end
      core.rename_default(result.id, name)
      return result
    end)
  end
end

-- s.pipeline { "web", sinks..., max_bad = "0.1%", seed = 0 }
function M.pipeline(definition)
  if type(definition) ~= "table" or type(definition[1]) ~= "string" then
    fail("s.pipeline: the first item must be the pipeline's name: return s.pipeline { \"web\", ... }")
  end
  local sinks, named = {}, {}
  for key, value in pairs(definition) do
    if type(key) == "string" then named[key] = value end
  end
  for i = 2, #definition do
    local sink = definition[i]
    if not is_node(sink) then fail("s.pipeline: item %d is %s, expected a stream that ends in a writer", i, describe(sink)) end
    sinks[#sinks + 1] = sink.id
  end
  if #sinks == 0 then fail("s.pipeline '%s' returns no writer: add docs | s.write_jsonl { \"out\" }", definition[1]) end
  for _, number in ipairs(type(named.policies) == "table" and named.policies or {}) do use(policies[number]) end
  core.pipeline(definition[1], sinks, named)
  refuse_unused(file_of(core.where()))
  return { pipeline = definition[1] }
end

-- Declared arguments: s.args { input = { "glob", "corpus/*.jsonl", doc = "what to read" }, ... } returns their values.
function M.args(declared) return core.args(declared) end

-- local acme = s.plugin "./acme.so"; docs | acme.ppl {...}
function M.plugin(path)
  if type(path) == "table" then path = path[1] end
  local plugin = core.load(path)
  return setmetatable({}, {
    __index = function(_, name) return stage_function(name, plugin) end,
    __newindex = function() fail("a plugin can't be changed") end,
  })
end

-- ---- stages in Lua ----------------------------------------------------------------------------------------------------------

-- What a constructor returns can be piped as it is, or called with options first: docs | explode, docs | explode { max = 3 }.
local function lua_stage(role, definition, f, with)
  local name = definition[1]
  local entry = core.lua_stage(role, name, f, definition)
  local function configured(given)
    local where = core.where()
    local named, positional = split_options(name, given)
    return template(name, where, function(input) return put(entry, name, where, named, positional, { input }) end)
  end
  local plain = configured(with)
  rawset(plain, "configured", configured)
  return plain
end

function Template.__call(self, given, ...)
  local configured = rawget(self, "configured")
  if configured == nil then fail("'%s' has its options already", rawget(self, "name")) end
  use(rawget(self, "item"))
  if select("#", ...) > 0 then fail("'%s' takes one table of options", rawget(self, "name")) end
  return configured(given)
end

-- The name and the function of a definition; the function is the second item or the member called `member`.
local function check_definition(definition, what, member, signature)
  if type(definition) ~= "table" or type(definition[1]) ~= "string" then fail("s.%s: the first item must be its name", what) end
  local f = definition[2]
  if f == nil then f = definition[member] end
  if type(f) ~= "function" then fail("s.%s '%s': %s must be a %s", what, definition[1], member, signature) end
  return f
end

-- s.filter { "no_lorem", function(doc, o) ... end, over = "text", run = "stateless", options = {...}, needs = { "lang" } }
-- The function returns a reason ([a-z0-9_]+) that drops the row, or nil, which keeps it; then optionally value and limit.
function M.filter(definition)
  local f = check_definition(definition, "filter", "row", "function(doc)")
  return lua_stage("filter", definition, f, definition.with)
end

-- s.annotate { "length", function(doc) return { n_chars = doc.text:chars() } end, adds = { n_chars = "int64" } }
function M.annotate(definition)
  local f = check_definition(definition, "annotate", "row", "function(doc)")
  return lua_stage("annotate", definition, f, definition.with)
end

-- An annotator that asks servers: s.ask { "judge", function(doc, o, ask)
--   local r = ask { url = "http://localhost:8000/score", json = { text = doc.text } }
--   return { score = r.json.score } end, adds = { score = "float64" }, ask = { hosts = { "localhost:8000" } } }
-- Answers are kept in the run's journal: the same ask of the same stage is made once.
function M.ask(definition)
  local f = check_definition(definition, "ask", "row", "function(doc, options, ask)")
  local copy, with = {}, {}
  for key, value in pairs(definition) do copy[key] = value end
  for key, value in pairs(definition.with or {}) do with[key] = value end
  copy.asks, copy.ask, with.ask = true, nil, definition.ask
  return lua_stage("annotate", copy, f, with)
end

-- A heuristic separates measure from threshold:
--   s.heuristic { "digits", options = { max = { "float", 0.25, min = 0, max = 1 } }, measure = function(doc, o) return number end,
--                 drop = { above = "max" }, examples = { { "text", keep = true }, ... }, over = "text" }
function M.heuristic(definition)
  local f = check_definition(definition, "heuristic", "measure", "function(doc, options)")
  if type(definition.drop) ~= "table" or (definition.drop.above == nil and definition.drop.below == nil) then
    fail("s.heuristic '%s': drop must name the option that bounds it: drop = { above = \"max\" } or { below = \"min\" }", definition[1])
  end
  return lua_stage("heuristic", definition, f)
end

-- Any number of rows for one: s.transform { "explode", gives = { text = "utf8" }, row = function(doc, o, emit) emit { text = "..." } end }
function M.transform(definition)
  return lua_stage("transform", definition, check_definition(definition, "transform", "row", "function(doc, options, emit)"))
end

-- A format: s.reader { "kv", gives = { text = "utf8" }, record = function(line, o, file, offset) return { text = line } end }
-- false: no record; nil, reason [, detail]: a bad one. With cut = "none" a call a file: record = function(text, o, file, give) and
-- give({ text = "..." } [, first, last]) or give(nil, first, last, reason [, detail]).
function M.reader(definition)
  return lua_stage("reader", definition, check_definition(definition, "reader", "record", "function(line, options, file, offset)"))
end

-- s.gate { "short_share", sums = { "short" }, measure = function(doc, o) return { short = integer } end,
--          judge = function(sums, o, count) if sums.short > o.max * sums.rows then return "halt", "too many" end end }
-- A table without a name is the standard library's gate: s.gate { rows = { min = 1000 } }.
function M.gate(given)
  if type(given) == "table" and rawequal(getmetatable(given), nil) and (given[1] ~= nil or given.measure ~= nil or given.judge ~= nil) then
    return lua_stage("gate", given, check_definition(given, "gate", "measure", "function(doc, options)"))
  end
  return standard().gate(given)
end

-- What rows must be like at an edge: s.contract { columns = { text = "utf8" }, required = { "text" } }, or a file's name. See lib/std_contract.lua.
function M.contract(given)
  return standard().contract(given)
end

-- A format: s.writer { "write_tsv", suffix = ".tsv", row = function(doc, o) return doc.text .. "\n" end }; docs | write_tsv { "out/kept" }
function M.writer(definition)
  return lua_stage("writer", definition, check_definition(definition, "writer", "row", "function(doc, options)"))
end

-- A policy judges the run's measures at every barrier, says what becomes of tasks that failed or are late, or all of it:
--   s.policy { "cost", options = {...}, judge = function(o, run) ... end, retry = function(o, failure) ... end,
--              speculate = function(o, task) ... end }
-- judge returns nil, or "warn"/"halt" and a message. retry returns after how many seconds the task is tried again, nil where another
-- policy shall say, false to give the task up, "halt" to end the run. speculate returns whether a second copy of a late task is begun, or
-- nil. What failure and task are is in policies.retry and policies.speculate. Returns a function(options) for s.pipeline { policies = {...} }.
function M.policy(definition)
  if type(definition[1]) ~= "string" then fail("s.policy: the first item must be its name") end
  local n = 0
  for _, name in ipairs { "judge", "retry", "speculate" } do
    if definition[name] ~= nil then
      if type(definition[name]) ~= "function" then fail("s.policy '%s': %s must be a function", definition[1], name) end
      n = n + 1
    end
  end
  if n == 0 then
    fail("s.policy '%s': judge must be a function(options, run), or retry a function(options, failure), or speculate a function(options, task)",
      definition[1])
  end
  local advice = "give it to s.pipeline { policies = {...} }"
  local item = make("the policy '" .. definition[1] .. "'", core.where(), advice)
  return function(given)
    local named, positional = split_options(definition[1], given)
    local options = core.options(definition[1], definition.options or {}, named, positional)
    local functions = { judge = definition.judge, retry = definition.retry, speculate = definition.speculate }
    local number = core.policy(definition[1], functions, options)
    use(item)
    policies[number] = make("the policy '" .. definition[1] .. "'", core.where(), advice)
    return number
  end
end

M.math = core.math

-- A regular expression with a name of its own: local year = s.pattern "\\b(?:19|20)\\d\\d\\b"; year:test(doc.text). It is compiled once a worker,
-- and part of what a stage that uses it is. Methods: test, count, find, all, replace, as the methods of texts that take an expression.
local Pattern = {}
Pattern.__index = function(self, key)
  local method = Pattern[key]
  if method == nil then fail("a pattern has no '%s'; it has test, count, find, all and replace", tostring(key)) end
  return method
end
function Pattern.test(self, text) return text:matches(self.source) end
function Pattern.count(self, text) return text:match_count(self.source) end
function Pattern.find(self, text, from) return text:match_first(self.source, from) end
function Pattern.all(self, text) return text:all_matches(self.source) end
function Pattern.replace(self, text, with) return text:replace_matches(self.source, with) end

function M.pattern(given)
  if type(given) == "table" then given = given[1] end
  if type(given) ~= "string" then fail("s.pattern: found %s, expected a regular expression: s.pattern \"[0-9]{4}\"", describe(given)) end
  local ok, message = pcall(string.matches, "", given)
  if not ok then fail("s.pattern: %s", message) end
  return setmetatable({ source = given }, Pattern)
end

-- Phrases to look for, many of them: local bad = s.list "words.txt"; bad:any(doc.text). One a line; they are part of what a stage that uses
-- them is, and are shared by all workers. s.list { "words.txt", words = true, fold = true, comments = "#" } or phrases = { "a", "b" }.
local List = {}
List.__index = function(self, key)
  local method = List[key]
  if method == nil then fail("a list has no '%s'; it has any, count, find, all, share, replace, has and size", tostring(key)) end
  return method
end
List.__len = function(self) return self.size end
function List.any(self, text) return core.list_next(self.name, text) ~= nil end
function List.count(self, text) return (core.list_count(self.name, text)) end
function List.find(self, text, from) return core.list_next(self.name, text, from) end
function List.all(self, text) return core.list_all(self.name, text) end
function List.replace(self, text, with) return core.list_replace(self.name, text, with) end
function List.has(self, text) return core.list_has(self.name, text) end
function List.share(self, text)
  local _, bytes = core.list_count(self.name, text)
  return #text > 0 and bytes / #text or 0.0
end

local LIST_OPTIONS = { words = "boolean", fold = "boolean", comments = "string", phrases = "table" }

function M.list(given)
  local named, positional = split_options("s.list", given)
  for name, value in pairs(named) do
    if LIST_OPTIONS[name] == nil then fail("s.list: unknown option '%s'; Valid: comments, fold, phrases, words", name) end
    if type(value) ~= LIST_OPTIONS[name] then fail("s.list: %s: found %s, expected a %s", name, describe(value), LIST_OPTIONS[name]) end
  end
  local comments = named.comments or ""
  if #comments > 15 or comments:find "[%s%z]" then fail("s.list: comments: found %s, expected what lines that are left out begin with, such as \"#\"", describe(comments)) end
  local text
  if named.phrases ~= nil then
    if positional ~= nil then fail("s.list: found a file and phrases; expected one of them") end
    for i, phrase in ipairs(named.phrases) do
      if type(phrase) ~= "string" or phrase:find "[\r\n]" or phrase:match "^%s*(.-)%s*$" ~= phrase or phrase == "" then
        fail("s.list: phrases: found %s at %d, expected a text on one line, without spaces around it", describe(phrase), i)
      end
    end
    text = table.concat(named.phrases, "\n")
  elseif type(positional) ~= "string" then
    fail("s.list: found %s, expected a file: s.list \"words.txt\", or s.list { phrases = { \"a\", \"b\" } }", describe(positional))
  end
  local name, size = core.list(positional, text, comments, named.words ~= false, named.fold == true)
  return setmetatable({ name = name, size = size }, List)
end

-- ---- everything else is a stage of a plugin ---------------------------------------------------------------------------------

setmetatable(M, {
  __index = function(_, name)
    if type(name) ~= "string" then fail("s[%s]: stages have names", tostring(name)) end
    local composite = standard()[name]
    if composite ~= nil then return composite end
    return stage_function(name)
  end,
  __newindex = function(_, name) fail("s.%s can't be set; use a local", tostring(name)) end,
})

return M
