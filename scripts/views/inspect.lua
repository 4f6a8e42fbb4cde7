-- sluice inspect: one stage or the list of them, as text or Markdown.
--
-- style: markdown; all (internal parts of composites as well); width of the text.

local v = require "lib"
local number, text, list, each = v.number, v.text, v.list, v.each

local CELL = 28 -- columns; wider defaults and ranges move into the text column
local ROLES = { "reader", "filter", "annotator", "transform", "gate", "writer" }
local NOTES = {
  { "recorded", "its results are recorded and never computed again" },
  { "may_block", "may wait for something outside" },
  { "side_input", "has a side input" },
  { "consumes", "may give fewer rows than it takes in" },
  { "hidden", "an internal part of a composite" },
}

-- Texts of an array with something between them.
local function joined(words, separator)
  local parts = {}
  for i, word in ipairs(list(words)) do
    parts[i] = text(word)
  end
  return table.concat(parts, separator)
end

local function notes_of(stage)
  local notes = {}
  for _, note in ipairs(NOTES) do
    notes[#notes + 1] = stage[note[1]] == true and note[2] or nil
  end
  return table.concat(notes, "; ")
end

-- An option's doc as a sentence, and what its flags mean.
local function doc_of(option)
  local doc = text(option.doc)
  local words = doc .. (doc ~= "" and not doc:find "[.!?]$" and "." or "")
  if option.positional == true then
    words = words .. " May be given without its name."
  end
  if option.deprecated == true then
    words = words .. " Deprecated."
  end
  if option.output_path == true then
    words = words .. " A dataset folder to be written."
  elseif option.changes_output == false then
    words = words .. " Does not change the output."
  end
  return words
end

-- ---- text ----

local function cell(words, width)
  return v.left(words, width + 2)
end

-- An option as the cells of its row.
local function row_of(option)
  local default, limits, doc = option.default, text(option.limits), doc_of(option)
  local shown = default == nil and (option.required == true and "required" or "-") or text(default) == "" and '""' or text(default)
  if v.width(limits) > CELL then
    doc = string.format("%s %s %s.", doc, option.type == "enum" and "One of" or "Within", limits)
    limits = ""
  end
  if v.width(shown) > CELL then
    doc = doc .. " Default: " .. shown .. "."
    shown = "(see text)"
  end
  return { text(option.name), text(option.type), shown, limits, doc }
end

local function print_options(stage, width)
  local rows, widths = {}, { 0, 0, 0, 0 }
  for option in each(stage.options) do
    local row = row_of(option)
    for c = 1, 4 do
      widths[c] = math.max(widths[c], v.width(row[c]))
    end
    rows[#rows + 1] = row
  end
  if #rows > 0 then
    v.write "\noptions\n"
  end
  for _, row in ipairs(rows) do
    local cells = { "  ", cell(row[1], widths[1]), cell(row[2], widths[2]), cell(row[3], widths[3]) }
    local indent = 8 + widths[1] + widths[2] + widths[3]
    if widths[4] > 0 then
      cells[5] = cell(row[4], widths[4])
      indent = indent + widths[4] + 2
    end
    if width - indent < 24 then
      indent = 6 -- a narrow terminal: the text goes below
      cells[#cells + 1] = "\n      "
    end
    v.write(table.concat(cells) .. v.wrap(row[5], width, indent, indent) .. "\n")
  end
end

-- "title  text" with the text wrapped; nothing without text.
local function print_fact(title, words, width)
  if words ~= "" then
    v.write(cell(title, 9) .. v.wrap(words, width, 11, 11) .. "\n")
  end
end

-- A titled block: prose is wrapped where there is a width, indented lines (code), tables and lists' lines stay.
local function print_block(title, words, width)
  if words == "" then
    return
  end
  v.write("\n" .. title .. "\n")
  for line in (words:sub(-1) == "\n" and words or words .. "\n"):gmatch "(.-)\n" do
    if width ~= nil and not line:find "^[ \t|`]" then
      line = v.wrap(line, width, 2, 2)
    end
    v.write((line ~= "" and "  " or "") .. line .. "\n")
  end
end

-- "exact_keys 1.0  annotator, stateless"; a composite has neither version nor mode.
local function title_of(stage)
  local version = stage.version ~= nil and " " .. text(stage.version) or ""
  return text(stage.name) .. version .. "  " .. text(stage.role) .. (stage.mode ~= nil and ", " .. text(stage.mode) or "") .. "\n"
end

local function print_stage(stage, width)
  v.write(title_of(stage))
  v.write(v.wrap(text(stage.summary), width, 0, 0) .. "\n")
  print_options(stage, width)
  v.write "\n"
  print_fact("reasons", joined(stage.reasons, ", "), width)
  print_fact("provides", text(stage.provides), width)
  print_fact("conserves", text(stage.conserves), width)
  print_fact("notes", notes_of(stage), width)
  print_fact("made of", joined(stage.stages, ", "), width)
  local plugin = text(stage.plugin)
  if stage.abi ~= nil then
    plugin = string.format("%s %s (ABI %s)", plugin, text(stage.plugin_version), text(stage.abi))
  end
  print_fact("plugin", stage.plugin ~= nil and plugin .. "  " .. text(stage.origin) or "", width)
  print_fact("libraries", text(stage.libraries), width)
  print_block("example", text(stage.example))
  print_block("about", text(stage.doc), width)
end

-- ---- Markdown ----

-- Text inside a table cell.
local function in_cell(words)
  return (words:gsub("|", "\\|"):gsub("\n", " "))
end

local function code(words)
  return words ~= "" and "`" .. in_cell(words) .. "`" or ""
end

local function capital(word)
  return word:sub(1, 1):upper() .. word:sub(2)
end

local function print_row(option)
  local default = option.default ~= nil and code(text(option.default) ~= "" and text(option.default) or '""')
    or option.required == true and "required"
    or ""
  v.write(string.format("| %s | %s | %s | %s | %s |\n", code(text(option.name)), text(option.type), default, in_cell(text(option.limits)),
    in_cell(text(option.doc)) .. doc_of(option):sub(#text(option.doc) + 1)))
end

local function ended(words)
  return words:sub(-1) == "\n" and words or words .. "\n"
end

local function print_markdown(stage, level)
  local notes = notes_of(stage)
  v.write(string.format("%s %s\n\n%s\n\n", ("#"):rep(level), text(stage.name), text(stage.summary)))
  if stage.stages ~= nil then
    v.write("Composite of `" .. joined(stage.stages, "`, `") .. "`.")
  else
    v.write(string.format("%s, %s. Version %s, plugin `%s`.", capital(text(stage.role)), text(stage.mode), text(stage.version), text(stage.plugin)))
  end
  if stage.provides ~= nil then
    v.write(" Provides the derived column `" .. text(stage.provides) .. "`.")
  end
  if stage.conserves ~= nil then
    v.write(" Conserves the measure `" .. text(stage.conserves) .. "`.")
  end
  v.write(notes ~= "" and " Notes: " .. notes .. ".\n" or "\n")
  if #list(stage.options) > 0 then
    v.write "\n| option | type | default | range | meaning |\n| --- | --- | --- | --- | --- |\n"
  end
  for option in each(stage.options) do
    print_row(option)
  end
  if #list(stage.reasons) > 0 then
    v.write("\nDrops rows for these reasons: " .. joined(stage.reasons, ", ") .. ".\n")
  end
  if text(stage.example) ~= "" then
    v.write("\n```lua\n" .. ended(text(stage.example)) .. "```\n")
  end
  if text(stage.doc) ~= "" then
    v.write("\n" .. ended(text(stage.doc)))
  end
end

-- ---- the list ----

-- Calls begin with the number of a role that has stages, then print with each of them.
local function by_role(stages, all, begin, print)
  for _, role in ipairs(ROLES) do
    local first = true
    for stage in each(stages) do
      if stage.role == role and (all or stage.hidden ~= true) then
        if first then
          begin(role .. "s")
          first = false
        end
        print(stage)
      end
    end
  end
end

local function print_list(stages, composites, style)
  local width, hidden, name, any = number(style.width), 0, 0, false
  local function begin(title)
    v.write((any and "\n" or "") .. title .. "\n")
    any = true
  end
  local function print(stage)
    v.write("  " .. cell(text(stage.name), name) .. v.wrap(text(stage.summary), width, name + 4, name + 4) .. "\n")
  end
  for stage in each(stages) do
    hidden = hidden + (stage.hidden == true and 1 or 0)
    name = (style.all or stage.hidden ~= true) and math.max(name, v.width(text(stage.name))) or name
  end
  for composite in each(composites) do
    name = math.max(name, v.width(text(composite.name)))
  end
  by_role(stages, style.all, begin, print)
  if #list(composites) > 0 then
    begin "composites"
  end
  for composite in each(composites) do
    print(composite)
  end
  v.write(any and "\n`sluice inspect STAGE` shows a stage's options" or "no stages were found; `sluice plugins` says why")
  if hidden > 0 and not style.all then
    v.write(string.format("; --all lists %d internal parts as well", hidden))
  end
  v.write ".\n"
end

return function(facts, style)
  if facts.stage ~= nil and style.markdown then
    print_markdown(list(facts.stage), 1)
  elseif facts.stage ~= nil then
    print_stage(list(facts.stage), number(style.width))
  elseif style.markdown then
    v.write "# Stages\n"
    by_role(facts.stages, style.all, function(title)
      v.write("\n## " .. capital(title) .. "\n")
    end, function(stage)
      v.write "\n"
      print_markdown(stage, 3)
    end)
  else
    print_list(facts.stages, facts.composites, style)
  end
end
