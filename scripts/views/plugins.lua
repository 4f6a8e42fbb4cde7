-- sluice plugins: those that were found with their stages, those that can't be used and why, and where nothing was found; as text or Markdown.
--
-- style: markdown; width of the text.

local v = require "lib"
local number, text, list, each = v.number, v.text, v.list, v.each

local function stages_of(plugin)
  local names = {}
  for i, name in ipairs(list(plugin.stages)) do
    names[i] = text(name)
  end
  return table.concat(names, ", ")
end

local function print_plugin(plugin, width)
  v.write(string.format("%s %s  ABI %s  %s  %s%s\n  %s\n", text(plugin.name), text(plugin.version), text(plugin.abi_built), text(plugin.found_by),
    text(plugin.path), plugin.isolated == true and "  isolated" or "", v.wrap(stages_of(plugin), width, 2, 2)))
  if text(plugin.libraries) ~= "" then
    v.write("  with " .. v.wrap(plugin.libraries, width, 7, 7) .. "\n")
  end
end

local function print_lines(title, lines, width)
  for i, line in ipairs(list(lines)) do
    v.write((i == 1 and title .. "\n" or "") .. "  " .. v.wrap(text(line), width, 6, 2) .. "\n")
  end
end

local function print_text(facts, width)
  local problems = false
  for plugin in each(facts.plugins) do
    if plugin.loaded == true then
      print_plugin(plugin, width)
    else
      problems = problems or plugin.problem ~= nil
    end
  end
  for plugin in each(problems and facts.plugins) do
    if plugin.problem ~= nil then
      v.write("not loaded (" .. text(plugin.found_by) .. ")\n  " .. v.wrap(text(plugin.problem), width, 2, 2) .. "\n")
    end
  end
  print_lines("left out of this build", facts.left_out, width)
  print_lines("nothing found in", facts.looked_in, width)
end

local function print_markdown(facts)
  v.write "# Plugins\n\n| plugin | version | license | stages |\n| --- | --- | --- | --- |\n"
  for plugin in each(facts.plugins) do
    if plugin.loaded == true then
      v.write(string.format("| `%s` | %s | %s | %s |\n", text(plugin.name), text(plugin.version), text(plugin.license), stages_of(plugin)))
    end
  end
  for i, line in ipairs(list(facts.left_out)) do
    v.write((i == 1 and "\n" or "") .. "- not built: " .. text(line) .. "\n")
  end
end

return function(facts, style)
  if style.markdown then
    print_markdown(facts)
  else
    print_text(facts, number(style.width))
  end
end
