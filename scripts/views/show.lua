-- sluice show: the state of a run, the datasets it published, its history.

local v = require "lib"
local number, text, list, each, say, many = v.number, v.text, v.list, v.each, v.say, v.many

local function print_phase(phase)
  if phase.tasks == nil then
    say("  %s %s\n", v.left(text(phase.name), 40), many(phase.records, "record"))
  else
    say("  %s %d of %s done\n", v.left(text(phase.name), 40), number(phase.done), many(phase.tasks, "task"))
  end
end

local function print_dataset(dataset)
  say("  %s: %s@%d, %s in %s, %s", text(dataset.writer), text(dataset.path), number(dataset.snapshot), many(dataset.rows, "row"),
    many(dataset.shards, "file"), v.bytes(number(dataset.bytes)))
  if dataset.newest == nil then
    say " (the dataset is gone)"
  elseif number(dataset.newest) > number(dataset.snapshot) then
    say(" (newest is @%d)", number(dataset.newest))
  end
  if dataset.recorded ~= nil then
    local names = {}
    for _, name in ipairs(list(dataset.recorded)) do names[#names + 1] = text(name) end
    say("; recorded: it is made of what servers answered %s", table.concat(names, ", "))
  end
  say "\n"
end

return function(run)
  say("%s: %s", text(run.name), text(run.state))
  if run.held_by ~= nil then
    say(" by %s", text(run.held_by))
  end
  if run.ended ~= nil then
    say(" %s after %s", text(run.ended), v.time(v.real(run.seconds)))
  end
  say("\n  %s, script %s", text(run.run_dir), text(run.script))
  for _, arg in ipairs(list(run.args)) do
    say(" %s", text(arg))
  end
  say "\n"
  if run.error ~= nil then
    v.write("  " .. text(run.error) .. "\n")
  end
  if run.plan_error ~= nil then
    v.write("  the plan can't be built again (" .. text(run.plan_error) .. "); only records are counted, those of earlier plans too\n")
  end
  for worker in each(run.workers) do
    say("  %s: %s\n", text(worker.kind), text(worker.words))
  end
  for phase in each(run.phases) do
    print_phase(phase)
  end
  v.failures(run, "  ")
  v.quarantined(run, "  ")
  v.asks(run.asked, "  ")
  for dataset in each(run.datasets) do
    print_dataset(dataset)
  end
  if #list(run.history) > 0 then
    say "  runs:\n"
  end
  for past in each(run.history) do
    say("    %4d  %s  %s %s  %d tasks, %d reused, %d rows\n", number(past.number), text(past.ended), v.left(text(past.state), 12),
      v.right(v.time(v.real(past.seconds)), 8), number(past.tasks), number(past.reused), number(past.rows))
  end
end
