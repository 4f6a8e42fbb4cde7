-- sluice verify: faults as they are found, and what was read; one fact a call.

local v = require "lib"
local number, text, list, say, many = v.number, v.text, v.list, v.say, v.many

local function print_snapshot(snapshot)
  say("%s@%d: %s, %d bytes, %s\n", text(snapshot.dataset), number(snapshot.number), many(snapshot.files, "file"), number(snapshot.bytes),
    snapshot.ok ~= true and "DAMAGED" or snapshot.deep == true and "all hashes are right" or "all sizes are right")
end

local function print_run(run)
  local missing = number(run.missing)
  say("%s: %s, %s, %s, %d bytes, %d equations of the ledgers: %s\n", text(run.run_dir), many(run.tasks, "task"), many(run.records, "record"),
    many(run.files, "file"), number(run.bytes), number(run.equations), run.ok == true and "all is right" or "DAMAGED")
  if missing > 0 then
    say("%d task%s not done, or changed since; `sluice plan %s` says why\n", missing, missing == 1 and " is" or "s are", text(run.name))
  end
end

return function(facts)
  if facts.fault ~= nil then
    say("fault: %s\n", text(facts.fault))
  elseif facts.snapshot ~= nil then
    print_snapshot(list(facts.snapshot))
  else
    print_run(list(facts.run))
  end
end
