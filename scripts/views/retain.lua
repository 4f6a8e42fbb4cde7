-- sluice retain: which snapshots went, and which stay.

local v = require "lib"
local number, list, say, many = v.number, v.list, v.say, v.many

local function numbers(facts)
  local names = {}
  for _, n in ipairs(list(facts)) do names[#names + 1] = "@" .. number(n) end
  return #names > 0 and table.concat(names, " ") or "none"
end

return function(facts)
  local dry = facts.dry_run == true
  say("forgotten%s: %s; kept: %s\n", dry and " (not yet)" or "", numbers(facts.forgotten), numbers(facts.kept))
  if number(facts.young) > 0 then
    say("%s kept only because a newer one has not stood behind it for long enough (--older)\n", many(facts.young, "snapshot is", "snapshots are"))
  end
  say("%s %sremoved, %s\n", many(facts.files, "file"), dry and "would be " or "", v.bytes(number(facts.bytes)))
end
