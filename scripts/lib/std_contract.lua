-- s.contract: what rows must be like at an edge of the pipeline, said in the script or in a file.
--
--   docs | s.contract {
--     columns = { text = "utf8", score = "float64", n = "integer" },   -- before any data is read; also "number", "any", "int32|int64"
--     optional = { "score" },                            -- those of them that need not be there
--     required = { "text" },                             -- no nulls
--     unique = { "id", { "site", "page" } },             -- across the whole edge, exactly
--     range = { score = { 0, 1 }, n = "0.." },           -- inclusive; texts by bytes
--     length = { text = { 1, 100000 } },                 -- characters
--     regex = { id = "^[a-z]+$" },                       -- found in it
--     allowed = { lang = { "en", "de" } },
--     freshness = { column = "crawled", max_age = "36h", at = a.now },   -- the newest row, against a time that is stated
--     evolution = "add",                                 -- "fixed": no other columns and members
--     broken = "quarantine",                             -- or "drop": what becomes of a row that breaks it
--     limit = 0.001,                                     -- the share of rows that may; more halt the run
--   }
--   docs | s.contract "orders.json"                      -- that in JSON; a JSON Schema; a suite of Great Expectations; a schema of TFDV
--   docs | s.contract { "orders.json", limit = 0, partial = true }
--
-- What a file says and a contract can't check is an error that names it; with partial = true it is named and left out.

local s, core = ...

local known = { "columns", "optional", "required", "unique", "range", "length", "regex", "allowed", "freshness", "evolution", "broken", "limit",
                "partial", "name", "partitions", "contract" }
-- Words for several types.
local types = {
  integer = "int64|int32|int16|int8|uint64|uint32|uint16|uint8",
  number = "float64|float32|int64|int32|int16|int8|uint64|uint32|uint16|uint8",
}

local function fail(message, ...)
  core.fail("contract: " .. string.format(message, ...))
end

local function member(list, word)
  for _, item in ipairs(list) do
    if item == word then return true end
  end
  return false
end

local function table_of(name, given, example)
  if given == nil then return {} end
  if type(given) ~= "table" or getmetatable(given) ~= nil then fail("%s must be a table such as %s; found %s", name, example, type(given)) end
  return given
end

-- A column's name alone is a list of one.
local function list(name, given)
  if type(given) == "string" then return { given } end
  for _, item in ipairs(table_of(name, given, "{ \"text\" }")) do
    if type(item) ~= "string" then fail("%s must be a list of columns; found %s in it", name, type(item)) end
  end
  return given or {}
end

local function sorted(map)
  local keys = {}
  for key in pairs(map) do
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

local function number(value)
  if value == nil then return "" end
  if math.type(value) == "integer" then return string.format("%d", value) end
  if type(value) == "number" then return string.format("%.17g", value) end
  return tostring(value)
end

-- { 0, 1 }, { min = 0 } or "0..1" as "0..1"
local function range(name, column, given)
  if type(given) == "string" then return given end
  if type(given) ~= "table" then fail("%s of '%s' must be { LOW, HIGH }, { min = LOW } or \"LOW..HIGH\"; found %s", name, column, type(given)) end
  for key in pairs(given) do
    if key ~= 1 and key ~= 2 and key ~= "min" and key ~= "max" then
      fail("%s of '%s' has no '%s'; it takes min and max, or two values", name, column, tostring(key))
    end
  end
  return number(given.min or given[1]) .. ".." .. number(given.max or given[2])
end

local escapes = { ["\""] = "\\\"", ["\\"] = "\\\\" }

local function json(column, value)
  if type(value) == "string" then
    return "\"" .. value:gsub("[%c\"\\]", function(c) return escapes[c] or string.format("\\u%04x", c:byte()) end) .. "\""
  end
  if type(value) == "boolean" then return tostring(value) end
  if math.type(value) == "float" then return string.format("%.17g", value):gsub("^(-?%d+)$", "%1.0") .. "" end
  if type(value) == "number" then return number(value) end
  return fail("allowed of '%s' must be texts, numbers or bools; found %s", column, type(value))
end

local function allowed(given)
  local all = {}
  for _, column in ipairs(sorted(table_of("allowed", given, "{ lang = { \"en\", \"de\" } }"))) do
    local items = {}
    for i, value in ipairs(table_of("allowed", given[column], "{ lang = { \"en\", \"de\" } }")) do items[i] = json(column, value) end
    all[column] = "[" .. table.concat(items, ",") .. "]"
  end
  return all
end

local function ranges(name, given)
  local all = {}
  for _, column in ipairs(sorted(table_of(name, given, "{ score = { 0, 1 } }"))) do all[column] = range(name, column, given[column]) end
  return all
end

-- What a file says, with what stands beside its name in the script.
local function from_file(given)
  local path = given[1]
  if type(path) ~= "string" then fail("expected a file's name or rules such as columns = { text = \"utf8\" }; found %s", type(path)) end
  local contract, left = core.module("lib.std_contract_file", core)(path, core.read(path))
  if #left > 0 and not given.partial then
    fail("%s says what can't be checked here: %s. Take it out, or say partial = true to do without", path, table.concat(left, "; "))
  end
  if #left > 0 then print(string.format("contract: left out of %s: %s", path, table.concat(left, "; "))) end
  for key, value in pairs(given) do
    if key ~= 1 then contract[key] = value end
  end
  contract.name = contract.name or path:match "([^/]+)$"
  return contract
end

local function rows_options(given)
  local columns = {}
  for column, kind in pairs(table_of("columns", given.columns, "{ text = \"utf8\" }")) do
    if type(column) ~= "string" or type(kind) ~= "string" then fail("columns must be a table such as { text = \"utf8\" }") end
    columns[column] = types[kind] or kind
  end
  return {
    name = given.name, columns = columns, optional = list("optional", given.optional), required = list("required", given.required),
    range = ranges("range", given.range), length = ranges("length", given.length),
    regex = table_of("regex", given.regex, "{ id = \"^[a-z]+$\" }"), allowed = allowed(given.allowed),
    evolution = given.evolution, broken = given.broken,
  }
end

-- Rows with the values of an earlier row in all columns of a key; exact, by the exchange of `exact`.
local function unique(given, rows)
  local keys = given.unique
  if type(keys) == "string" then keys = { keys } end
  for _, key in ipairs(table_of("unique", keys, "{ \"id\", { \"site\", \"page\" } }")) do
    local hashes = s.stage("exact_keys", { over = list("unique", key) }, rows)
    local drops = s.stage("exact_drops", {}, hashes, nil, given.partitions or 32)
    rows = s.stage("drop_listed", { reason = "contract_unique", aside = given.broken ~= "drop" }, rows, drops)
  end
  return rows
end

local function check_options(given, input)
  local options = { limit = given.limit, of = given.limit ~= nil and input or nil }
  if given.freshness ~= nil then
    local fresh = table_of("freshness", given.freshness, "{ column = \"crawled\", max_age = \"36h\", at = a.now }")
    for key in pairs(fresh) do
      if not member({ "column", "max_age", "at", "unit", "action" }, key) then
        fail("freshness has no '%s'; it takes column, max_age, at, unit, action", tostring(key))
      end
    end
    if fresh.column == nil or fresh.max_age == nil then fail("freshness needs column and max_age: { column = \"crawled\", max_age = \"36h\", at = a.now }") end
    options.time, options.max_age, options.at, options.unit, options.action = fresh.column, fresh.max_age, fresh.at, fresh.unit, fresh.action
  end
  return options
end

return function(given)
  if type(given) == "string" then given = { given } end
  if type(given) ~= "table" or getmetatable(given) ~= nil then
    fail("expected a table such as { columns = { text = \"utf8\" } }, or a file's name; found %s", type(given))
  end
  if given[1] ~= nil then given = from_file(given) end
  for _, key in ipairs(sorted(given)) do
    if not member(known, key) then fail("there is no '%s'; a contract takes %s", tostring(key), table.concat(known, ", ", 1, #known - 1)) end
  end
  return s.composite { "contract", build = function(input)
    local rows = unique(given, s.stage("contract_rows", rows_options(given), input))
    if given.limit == nil and given.freshness == nil then return rows end
    return s.stage("contract_check", check_options(given, input), rows)
  end } {}
end
