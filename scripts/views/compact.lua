-- sluice compact: what was joined, or would be.

local v = require "lib"
local number, say, many = v.number, v.say, v.many

return function(facts)
  local dataset, into = v.text(facts.dataset), number(facts.into)
  if into == 0 then
    say("%s@%d: nothing to join in %s\n", dataset, number(facts.from), many(facts.files_before, "file"))
  else
    say("%s@%d: %s, %s, %s joined into %d; %d files before, %d after\n", dataset, number(facts.from), many(facts.joined, "file"),
      v.bytes(number(facts.bytes)), facts.dry_run == true and "would be" or "were", into, number(facts.files_before), number(facts.files_after))
  end
  if number(facts.large) > 0 then
    say("%s over 180 %% of the target, which only the pipeline can cut\n", many(facts.large, "file is", "files are"))
  end
  if facts.snapshot ~= nil then
    say("snapshot %d\n", number(facts.snapshot))
  end
  if facts.adopted == true then
    say "the snapshot before named no owner (an earlier version wrote it); now it is the pipeline and writer that it tells of\n"
  end
end
