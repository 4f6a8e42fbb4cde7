-- sluice remove: which ids' rows went, or would go, and which ids no row has.

local v = require "lib"
local number, text, say, many = v.number, v.text, v.say, v.many

local MOST = 10 -- ids that are named

local function some(names)
  local shown = table.concat(names, " ", 1, math.min(#names, MOST))
  return #names > MOST and shown .. (" and %d more"):format(#names - MOST) or shown
end

local function purged(purge)
  local numbers = {}
  for _, n in ipairs(v.list(purge.snapshots)) do numbers[#numbers + 1] = "@" .. number(n) end
  say("purged: %s made again; %s of the dataset and %s of its run removed, %s\n", #numbers > 0 and table.concat(numbers, " ") or "no snapshot",
    many(purge.files, "file"), many(purge.run_files, "file"), v.bytes(number(purge.bytes)))
  for place in v.each(purge.left) do
    say("left: %s: %s\n", text(place.path), place.unsearched ~= nil and text(place.unsearched) or text(place.kind))
  end
  if purge.run == nil then
    say "the run that wrote it is not here, and was left alone (--run)\n"
  end
end

return function(facts)
  local dataset, rows = text(facts.dataset), number(facts.rows)
  local would = facts.dry_run == true and "would be " or ""
  if rows == 0 then
    say("%s@%d: no row has one of the %s in '%s'\n", dataset, number(facts.from), many(facts.ids, "id"), text(facts.column))
  else
    say("%s@%d: %s of %d %sremoved; %s of %d, %s, %swritten again\n", dataset, number(facts.from), many(rows, "row"), number(facts.rows_before),
      would, many(facts.touched, "file"), number(facts.files), v.bytes(number(facts.bytes)), would)
    local found = {}
    for _, id in ipairs(v.names(facts.removed)) do
      local n = number(v.list(facts.removed)[id])
      found[#found + 1] = n == 1 and id or ("%s (%d)"):format(id, n)
    end
    say("%sremoved: %s\n", would, some(found))
  end
  local missing = {}
  for _, id in ipairs(v.list(facts.missing)) do missing[#missing + 1] = text(id) end
  if #missing > 0 and rows > 0 then
    say("%s that no row has: %s\n", many(#missing, "id"), some(missing))
  end
  if number(facts.without) > 0 then
    say("%s no '%s', and can't be found by it\n", many(facts.without, "row has", "rows have"), text(facts.column))
  end
  if facts.snapshot ~= nil then
    say("snapshot %d\n", number(facts.snapshot))
  end
  if type(facts.purge) == "table" then
    purged(facts.purge)
  end
  v.below(facts.below)
end
