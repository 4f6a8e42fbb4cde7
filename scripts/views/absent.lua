-- sluice verify --absent: where an id of the list still is, or nothing can be said.

local v = require "lib"
local number, text, say, many = v.number, v.text, v.say, v.many

return function(facts)
  for place in v.each(facts.places) do
    if place.unsearched ~= nil then
      say("can't be searched: %s: %s\n", text(place.path), text(place.unsearched))
    elseif number(place.rows) > 0 then
      say("found: %s: %s\n", text(place.path), many(place.rows, "row"))
    else
      say("%s: %s (%s)\n", place.sure == true and "found" or "may hold one", text(place.path), text(place.kind))
    end
  end
  v.below(facts.below)
  say("%s: %s, %s searched: %s\n", text(facts.dataset), many(facts.ids, "id"), many(facts.files, "file"),
    facts.absent == true and "none is there" or "NOT ABSENT")
  if facts.run == nil then
    say "the run that wrote it is not here, and was not searched\n"
  end
end
