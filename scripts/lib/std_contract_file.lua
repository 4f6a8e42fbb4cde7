-- Contracts in files: the own form, JSON Schema, suites of Great Expectations, and schemas of TFDV (text). Returns a function(path, text) that
-- gives the contract as s.contract takes it, and a list of what it can't take, each with its place.

local core = ...

local function fail(path, message, ...)
  core.fail(string.format("contract %s: ", path) .. string.format(message, ...))
end

local function member(list, word)
  for _, item in pairs(list) do
    if item == word then return true end
  end
  return false
end

local function sorted(map)
  local keys = {}
  for key in pairs(map) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

local function new() return { columns = {}, optional = {}, required = {}, unique = {}, range = {}, length = {}, regex = {}, allowed = {} } end

local function add(list, word)
  if not member(list, word) then list[#list + 1] = word end
end

-- Notes what is left out: left "where: what".
local function leaver(left)
  return function(where, message, ...) left[#left + 1] = where .. ": " .. string.format(message, ...) end
end

-- ---- JSON Schema ------------------------------------------------------------------------------------------------------------

local schema_types = { string = "utf8", integer = "integer", number = "number", boolean = "bool", object = "any", array = "any" }
-- Words that say nothing about values.
local silent = { "$schema", "$id", "title", "description", "examples", "default", "$comment", "type", "deprecated", "readOnly", "writeOnly" }

-- The type of a property and whether it may be null; nil where it has several.
local function schema_type(property)
  local given = property.type
  if type(given) ~= "table" then return given, given == nil or given == "null" end
  local one
  for _, word in pairs(given) do
    if word ~= "null" then
      if one ~= nil then return nil, member(given, "null") end
      one = word
    end
  end
  return one, member(given, "null")
end

local function schema_range(contract, name, property, kind, leave)
  local least, most = property.minimum, property.maximum
  for word, step in pairs { exclusiveMinimum = 1, exclusiveMaximum = -1 } do
    local edge = property[word]
    if edge ~= nil and kind == "integer" and math.type(edge) == "integer" then
      if step > 0 then least = math.max(least or edge + 1, edge + 1) else most = math.min(most or edge - 1, edge - 1) end
    elseif edge ~= nil then
      leave("properties." .. name, "%s of a number that is not whole", word)
    end
  end
  if least ~= nil or most ~= nil then contract.range[name] = { min = least, max = most } end
end

local function schema_property(contract, name, property, leave)
  local where = "properties." .. name
  if type(property) ~= "table" then return leave(where, "what is no object") end
  local kind = schema_type(property)
  contract.columns[name] = schema_types[kind] or "any"
  if kind == nil and type(property.type) == "table" then leave(where, "several types") end
  schema_range(contract, name, property, kind, leave)
  if property.minLength ~= nil or property.maxLength ~= nil then contract.length[name] = { min = property.minLength or 0, max = property.maxLength } end
  contract.regex[name] = property.pattern
  local values = property.enum or (property.const ~= nil and { property.const }) or nil
  if values ~= nil then
    contract.allowed[name] = {}
    for _, key in ipairs(sorted(values)) do
      if type(values[key]) == "table" then leave(where, "values of `enum` that have members") else add(contract.allowed[name], values[key]) end
    end
  end
  local taken = { "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern", "enum", "const" }
  for _, word in ipairs(sorted(property)) do
    if not member(taken, word) and not member(silent, word) then leave(where, "'%s'", word) end
  end
end

local function from_schema(path, schema, leave)
  local contract = new()
  if type(schema.properties) ~= "table" then fail(path, "a JSON Schema needs `properties` at its top") end
  for _, name in ipairs(sorted(schema.properties)) do schema_property(contract, name, schema.properties[name], leave) end
  for _, name in ipairs(schema.required or {}) do
    contract.columns[name] = contract.columns[name] or "any"
    local property = schema.properties[name]
    local _, nullable = nil, false
    if type(property) == "table" and property.type ~= nil then _, nullable = schema_type(property) end
    if not nullable then add(contract.required, name) end
  end
  for _, name in ipairs(sorted(contract.columns)) do
    if not member(schema.required or {}, name) then add(contract.optional, name) end
  end
  if schema.additionalProperties == false then
    contract.evolution = "fixed"
  elseif type(schema.additionalProperties) == "table" then
    leave("additionalProperties", "rules on other members")
  end
  for _, word in ipairs(sorted(schema)) do
    if not member({ "properties", "required", "additionalProperties", "$defs", "definitions" }, word) and not member(silent, word) then
      leave("the top", "'%s'", word)
    end
  end
  return contract
end

-- ---- Great Expectations -----------------------------------------------------------------------------------------------------

local expectation_types = {
  str = "utf8", string = "utf8", String = "utf8", TEXT = "utf8", VARCHAR = "utf8", StringType = "utf8", object = "utf8", int = "integer", integer = "integer",
  INTEGER = "integer", int64 = "int64", int32 = "int32", LongType = "int64", IntegerType = "int32", BIGINT = "int64", float = "number", FLOAT = "number",
  float64 = "float64", float32 = "float32", DoubleType = "float64", FloatType = "float32", bool = "bool", boolean = "bool", BOOLEAN = "bool", BooleanType = "bool",
}

local function between(kwargs) return { min = kwargs.min_value, max = kwargs.max_value } end

local expectations = {
  expect_column_to_exist = function() end,
  expect_column_values_to_not_be_null = function(contract, column) add(contract.required, column) end,
  expect_column_values_to_be_unique = function(contract, column) contract.unique[#contract.unique + 1] = column end,
  expect_compound_columns_to_be_unique = function(contract, _, kwargs)
    contract.unique[#contract.unique + 1] = kwargs.column_list
    for _, column in ipairs(kwargs.column_list) do contract.columns[column] = contract.columns[column] or "any" end
  end,
  expect_column_values_to_be_between = function(contract, column, kwargs) contract.range[column] = between(kwargs) end,
  expect_column_value_lengths_to_be_between = function(contract, column, kwargs) contract.length[column] = between(kwargs) end,
  expect_column_value_lengths_to_equal = function(contract, column, kwargs) contract.length[column] = { kwargs.value, kwargs.value } end,
  expect_column_values_to_match_regex = function(contract, column, kwargs) contract.regex[column] = kwargs.regex end,
  expect_column_values_to_be_in_set = function(contract, column, kwargs) contract.allowed[column] = kwargs.value_set end,
  expect_column_values_to_be_of_type = function(contract, column, kwargs)
    if expectation_types[kwargs.type_] == nil then return "the type '" .. tostring(kwargs.type_) .. "'" end
    contract.columns[column] = expectation_types[kwargs.type_]
  end,
  expect_table_columns_to_match_set = function(contract, _, kwargs)
    for _, column in ipairs(kwargs.column_set or {}) do contract.columns[column] = contract.columns[column] or "any" end
    if kwargs.exact_match ~= false then contract.evolution = "fixed" end
  end,
}
local plain = { "column", "min_value", "max_value", "regex", "value_set", "type_", "column_set", "exact_match", "column_list", "value", "result_format",
                "catch_exceptions", "include_config", "meta", "batch_id", "auto" }

local function from_suite(_, suite, leave)
  local contract = new()
  for k, expectation in ipairs(suite.expectations) do
    local name = expectation.expectation_type or expectation.type or "?"
    local kwargs = expectation.kwargs or {}
    local where = string.format("expectation %d, %s", k, name)
    local take = expectations[name]
    local odd
    for _, word in ipairs(sorted(kwargs)) do
      -- All rows is what a contract asks for.
      local idle = (word == "mostly" and kwargs[word] == 1) or kwargs[word] == false or (word == "ignore_row_if" and kwargs[word] == "all_values_are_missing")
      if not member(plain, word) and not idle then odd = odd or word end
    end
    if take == nil then
      leave(where, "this expectation")
    elseif odd ~= nil then
      leave(where, "'%s'", odd)
    else
      if kwargs.column ~= nil then contract.columns[kwargs.column] = contract.columns[kwargs.column] or "any" end
      local what = take(contract, kwargs.column, kwargs)
      if what ~= nil then leave(where, "%s", what) end
    end
  end
  return contract
end

-- ---- TFDV: protocol buffers as text -----------------------------------------------------------------------------------------

local unescaped = { n = "\n", t = "\t", r = "\r", ["\""] = "\"", ["'"] = "'", ["\\"] = "\\" }

-- { { name, value }, ... }; a value is a text, a number, a word, or such a list again.
local function parse_message(path, text)
  local at = 1
  local function space()
    while true do
      local _, stop = text:find("^[%s,;]+", at)
      if stop == nil then _, stop = text:find("^#[^\n]*", at) end
      if stop == nil then return end
      at = stop + 1
    end
  end
  local function bad(what) fail(path, "no schema of TFDV: at byte %d %s", at, what) end
  local function quoted()
    local quote = text:sub(at, at)
    local parts = {}
    at = at + 1
    while text:sub(at, at) ~= quote do
      local c = text:sub(at, at)
      if c == "" then bad "a text does not end" end
      if c == "\\" then
        local octal = text:match("^[0-7][0-7]?[0-7]?", at + 1)
        local e = text:sub(at + 1, at + 1)
        if octal == nil and unescaped[e] == nil then bad "there is an unknown escape" end
        parts[#parts + 1] = octal ~= nil and string.char(tonumber(octal, 8) % 256) or unescaped[e]
        at = at + 1 + (octal ~= nil and #octal or 1)
      else
        parts[#parts + 1] = c
        at = at + 1
      end
    end
    at = at + 1
    return table.concat(parts)
  end
  local function message(depth)
    local fields = {}
    if depth > 20 then bad "messages are nested too deep" end
    while true do
      space()
      local c = text:sub(at, at)
      if c == "" or c == "}" or c == ">" then return fields end
      local name = text:match("^[%w_]+", at)
      if name == nil then bad "a field's name is expected" end
      at = at + #name
      space()
      if text:sub(at, at) == ":" then at = at + 1 end
      space()
      c = text:sub(at, at)
      local value
      if c == "{" or c == "<" then
        at = at + 1
        value = message(depth + 1)
        if text:sub(at, at) ~= (c == "{" and "}" or ">") then bad "a message does not end" end
        at = at + 1
      elseif c == "\"" or c == "'" then
        value = quoted()
      else
        local word = text:match("^[%w_.+-]+", at)
        if word == nil then bad "a value is expected" end
        at = at + #word
        value = tonumber(word) or word
      end
      fields[#fields + 1] = { name, value }
    end
  end
  local fields = message(0)
  if at <= #text then bad "there is a bracket too many" end
  return fields
end

local function field(fields, name)
  for _, pair in ipairs(fields) do
    if pair[1] == name then return pair[2] end
  end
  return nil
end

local function all(fields, name)
  local values = {}
  for _, pair in ipairs(fields) do
    if pair[1] == name then values[#values + 1] = pair[2] end
  end
  return values
end

local feature_types = { BYTES = "utf8", INT = "integer", FLOAT = "number" }

local function domain(contract, name, kind, value)
  if kind == "string_domain" then
    contract.allowed[name] = all(value, "value")
  else
    contract.range[name] = { min = field(value, "min"), max = field(value, "max") }
  end
end

local function from_feature(contract, feature, domains, leave)
  local name = tostring(field(feature, "name"))
  local where = "feature " .. name
  local presence = field(feature, "presence")
  contract.columns[name] = feature_types[field(feature, "type")] or "any"
  if presence ~= nil and field(presence, "min_fraction") == 1 then
    add(contract.required, name)
  else
    add(contract.optional, name)
    if presence ~= nil and (field(presence, "min_fraction") or 0) > 0 then leave(where, "presence of a part of the rows") end
  end
  for _, pair in ipairs(feature) do
    local word, value = pair[1], pair[2]
    if word == "domain" then
      if domains[value] == nil then leave(where, "the domain '%s', which is not there", value) else contract.allowed[name] = domains[value] end
    elseif word == "string_domain" or word == "int_domain" or word == "float_domain" then
      domain(contract, name, word, value)
    elseif word == "value_count" then
      if field(value, "max") ~= 1 then leave(where, "more values than one") end
    elseif word == "shape" then
      if #all(value, "dim") > 1 then leave(where, "a shape of several dimensions") end
    elseif not member({ "name", "type", "presence", "annotation", "lifecycle_stage" }, word) then
      leave(where, "'%s'", word)
    end
  end
end

local function from_tfdv(path, text, leave)
  local contract, domains = new(), {}
  local fields = parse_message(path, text)
  for _, value in ipairs(all(fields, "string_domain")) do domains[tostring(field(value, "name"))] = all(value, "value") end
  local n = 0
  for _, pair in ipairs(fields) do
    if pair[1] == "feature" then
      n = n + 1
      from_feature(contract, pair[2], domains, leave)
    elseif not member({ "string_domain", "annotation" }, pair[1]) then
      leave("the top", "'%s'", pair[1])
    end
  end
  if n == 0 then fail(path, "found neither JSON nor a schema of TFDV with features") end
  return contract
end

-- ---- which ------------------------------------------------------------------------------------------------------------------

return function(path, text)
  local left = {}
  local leave = leaver(left)
  if not text:find "^%s*{" then return from_tfdv(path, text, leave), left end
  local value, wrong = core.json(text)
  if value == nil then fail(path, "no JSON: %s", wrong) end
  if value.contract ~= nil then
    if value.contract ~= 1 then fail(path, "found contract = %s, this version reads 1", tostring(value.contract)) end
    return value, left
  end
  if value.expectations ~= nil then return from_suite(path, value, leave), left end
  if value.properties ~= nil or value["$schema"] ~= nil then return from_schema(path, value, leave), left end
  return fail(path, "found none of `contract` (the own form), `properties` (JSON Schema) and `expectations` (Great Expectations) at its top")
end
