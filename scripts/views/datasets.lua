-- sluice datasets: what there is below a folder, each dataset with its snapshots and what they were made of.

local v = require "lib"
local number, text, list, each, say, many = v.number, v.text, v.list, v.each, v.say, v.many

local function owner_of(owner)
  return type(owner) ~= "table" and "nobody (an earlier version wrote it)" or string.format("%s of %s", text(owner.node), text(owner.pipeline))
end

-- "raw@3", or what a reader read that is no dataset here
local function source(input)
  local names = {}
  for holder in each(input.datasets) do
    names[#names + 1] = string.format("%s@%d", text(holder.dataset), number(holder.snapshot))
  end
  return #names > 0 and table.concat(names, " = ") or string.format("%s by %s", many(input.files, "file"), text(input.reader))
end

local function print_snapshot(snapshot)
  if snapshot.damage ~= nil then
    say("  @%-4d damaged: %s\n", number(snapshot.number), text(snapshot.damage))
    return
  end
  local tags, from = {}, {}
  for _, tag in ipairs(list(snapshot.tags)) do tags[#tags + 1] = "@" .. text(tag) end
  for input in each(snapshot.inputs) do from[#from + 1] = source(input) end
  say("  @%-4d %s in %s, %s%s%s%s%s\n", number(snapshot.number), many(snapshot.rows, "row"), many(snapshot.files, "file"),
    v.bytes(number(snapshot.bytes)), #tags > 0 and "  " .. table.concat(tags, " ") or "", #from > 0 and "  from " .. table.concat(from, ", ") or "",
    number(snapshot.appends) > 1 and string.format(", by %d runs", number(snapshot.appends)) or "",
    snapshot.compacts ~= nil and ", compacted" or "")
end

return function(facts)
  local n = 0
  for dataset in each(facts.datasets) do
    n = n + 1
    say("%s  by %s\n", text(dataset.path), owner_of(dataset.owner))
    for snapshot in each(dataset.snapshots) do
      print_snapshot(snapshot)
    end
  end
  if n == 0 then say("no datasets in %s\n", text(facts.folder)) end
end
