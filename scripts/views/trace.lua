-- sluice trace: the records that a row of a dataset was made from, a line each.

local v = require "lib"
local number, text, list, each, say = v.number, v.text, v.list, v.each, v.say

return function(facts)
  for record in each(facts.origin) do
    if record.uri == nil then
      say("%s row %d: its place is not recorded\n", text(record.task), number(record.row))
    else
      say("%s  bytes %d to %d", text(record.uri), number(record.begin), number(record["end"]))
      if record.unit_row ~= nil then
        say(" (a unit), row %d in it", number(record.unit_row))
      end
      if record.id ~= nil then
        say("  id %s", text(record.id))
      end
      if record.tokens ~= nil then
        say("  tokens %d to %d", number(list(record.tokens)[1]), number(list(record.tokens)[2]))
      end
      say("  in %s\n", text(record.path))
    end
    for stage in each(record.answers) do
      say("  %s:\n", text(stage.stage))
      v.answers(stage, "    ")
    end
  end
end
