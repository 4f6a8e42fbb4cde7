-- s.gate: contracts between stages, written as people say them. Flattens them into the options of the stage gate_check.
--
--   docs | s.gate {
--     rows = { min = 1000, max = 2000000 },
--     pass_rate = { min = 0.10, max = 1, of = docs },          -- rows here / rows that left `of`
--     null_rate = { text = 0.01 },                             -- largest share of nulls by column
--     require = { "text" },                                    -- the first null halts
--     schema = { text = "utf8", score = "float64" },           -- before any data is read
--     baseline = { "silver/web@3", min = 0.9, max = 1.1 },     -- rows here / rows of the snapshot; "silver/web@3" alone: 0.5 to 2
--     action = "halt",                                         -- or "warn"
--   }

local s, core = ...

local known = { "rows", "pass_rate", "null_rate", "require", "schema", "baseline", "action" }

local function fail(message, ...)
  core.fail("gate: " .. string.format(message, ...))
end

local function member(list, word)
  for _, item in ipairs(list) do
    if item == word then return true end
  end
  return false
end

-- given must be a table whose keys are among `keys`
local function check(name, given, keys)
  if type(given) ~= "table" or getmetatable(given) ~= nil then
    fail("%s must be a table such as { %s = ... }; found %s", name, keys[1], type(given))
  end
  for key in pairs(given) do
    if not member(keys, key) then fail("%s has no '%s'; it takes %s", name, tostring(key), table.concat(keys, ", ")) end
  end
  return given
end

-- A column's name alone is a list of one.
local function list(name, given)
  if type(given) == "string" then return { given } end
  if type(given) ~= "table" then fail("%s must be a list of columns; found %s", name, type(given)) end
  return given
end

return function(given)
  if type(given) ~= "table" or getmetatable(given) ~= nil then fail("expected a table such as { rows = { min = 1 } }; found %s", type(given)) end
  for key in pairs(given) do
    if not member(known, key) then fail("there is no '%s'; a gate takes %s", tostring(key), table.concat(known, ", ")) end
  end
  local options = { action = given.action }
  if given.rows ~= nil then
    local rows = check("rows", given.rows, { "min", "max" })
    options.rows_min, options.rows_max = rows.min, rows.max
  end
  if given.pass_rate ~= nil then
    local rate = check("pass_rate", given.pass_rate, { "min", "max", "of" })
    if rate.of == nil then fail("pass_rate needs the stream it is a share of: pass_rate = { min = 0.1, of = docs }") end
    options.pass_rate_min, options.pass_rate_max, options.of = rate.min, rate.max, rate.of
  end
  if given.null_rate ~= nil then
    if type(given.null_rate) ~= "table" then fail("null_rate must be a table such as { text = 0.01 }; found %s", type(given.null_rate)) end
    local columns = {}
    for column in pairs(given.null_rate) do
      if type(column) ~= "string" then fail("null_rate must be a table such as { text = 0.01 }; found a list") end
      columns[#columns + 1] = column
    end
    table.sort(columns)
    options.nulls, options.null_max = columns, given.null_rate
  end
  if given.require ~= nil then options.require = list("require", given.require) end
  if given.schema ~= nil then
    if type(given.schema) ~= "table" then fail("schema must be a table such as { text = \"utf8\" }; found %s", type(given.schema)) end
    options.schema = given.schema
  end
  if given.baseline ~= nil then
    local baseline = given.baseline
    if type(baseline) == "string" then baseline = { baseline, min = 0.5, max = 2 } end
    if type(baseline) ~= "table" or type(baseline[1]) ~= "string" then
      fail("baseline must name a snapshot: \"silver/web@3\" or { \"silver/web@3\", min = 0.9 }")
    end
    check("baseline", baseline, { "min", "max", 1 })
    options.baseline, options.rows_ratio_min, options.rows_ratio_max = baseline[1], baseline.min, baseline.max
  end
  return s.composite { "gate", build = function(input) return s.stage("gate_check", options, input) end } {}
end
