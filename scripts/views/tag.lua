-- sluice tag: the names that snapshots of a dataset have.

local v = require "lib"

return function(facts)
  local n = 0
  for tag in v.each(facts.tags) do
    n = n + 1
    v.say("%s = %s@%d\n", v.text(tag.name), v.text(facts.dataset), v.number(tag.snapshot))
  end
  if n == 0 then v.say("%s has no tags\n", v.text(facts.dataset)) end
end
