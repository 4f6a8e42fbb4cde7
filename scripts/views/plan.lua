-- sluice plan: phases, their stages and tasks, what is reused and why the rest runs.

local v = require "lib"
local number, text, list, each, say, many = v.number, v.text, v.list, v.each, v.say, v.many

-- Names with something between them.
local function joined(names, separator)
  local parts = {}
  for i, name in ipairs(list(names)) do
    parts[i] = v.excerpt(tostring(name))
  end
  return table.concat(parts, separator)
end

local function print_reader(reader)
  say("  reads   %s: %s, %s", joined(reader.patterns, " "), many(reader.files, "file"), v.bytes(number(reader.bytes)))
  if reader.text_bytes ~= nil and number(reader.text_bytes) ~= number(reader.bytes) then
    say(" (%s of text)", v.bytes(number(reader.text_bytes)))
  end
  if reader.left_out ~= nil then
    say(", %s left out", many(reader.left_out, "file"))
  end
  say(", %s; columns %s%s\n", many(reader.splits, "split"), joined(reader.columns, ", "), reader.isolated == true and "  [isolated]" or "")
  local units = reader.units
  if units ~= nil then
    say("          %s", many(units.units, "unit"))
    if number(units.files) < number(reader.files) then
      say(" in %s of %s that were surveyed so far", v.grouped(units.files), many(reader.files, "file"))
    end
    if number(units.skipped) > 0 then
      say(", %s skipped, %s", v.grouped(units.skipped), v.bytes(number(units.skipped_bytes)))
    end
    say "\n"
  end
  for _, path in ipairs(list(reader.paths)) do
    say("          %s\n", text(path))
  end
end

local function print_stage(stage, first)
  local name, kind, role = text(stage.name), text(stage.kind), text(stage.role)
  say("  %s %s %s", v.left(first and "stages" or "", 7), v.left(name, 28), v.left(role, 10))
  if kind ~= role and kind ~= name then
    say(" %s", kind)
  end
  if #list(stage.inputs) > 0 then
    say(" < %s", joined(stage.inputs, " + "))
  end
  if stage.dataset ~= nil and text(stage.mode) == "append" then
    say(number(stage.newest) > 0 and " appends to %s@%d" or " > %s, the first of its snapshots", text(stage.dataset), number(stage.newest))
  elseif stage.dataset ~= nil then
    say(" > %s", text(stage.dataset))
    if number(stage.newest) > 0 then
      say(", in place of @%d", number(stage.newest))
    end
  end
  say("%s\n", stage.isolated == true and "  [isolated]" or "")
  -- What it notes for the manifest (the size of a filter, a tokenizer), a line each.
  for key, value in pairs(list(stage.notes)) do
    say("          notes %s %s\n", tostring(key), v.excerpt(v.json(value), 160))
  end
end

local function print_store(store, first)
  say("  %s %s", v.left(first and "stores" or "", 7), text(store.name))
  if number(store.partitions) > 1 then
    say(" (%d partitions)", number(store.partitions))
  end
  say(": %s", joined(store.columns, ", "))
  if store.moves ~= nil then
    say("  [%s]", text(store.moves))
  end
  say "\n"
end

-- Calls fn with each object of an array, and whether it is the first.
local function in_turn(items, fn)
  local first = true
  for item in each(items) do
    fn(item, first)
    first = false
  end
end

local function print_tasks(phase)
  local first, tasks = number(phase.first_task), number(phase.tasks)
  if tasks == 0 then
    say "no tasks"
  elseif tasks == 1 then
    say("task %d", first)
  else
    say("tasks %d to %d (%d)", first, first + tasks - 1, tasks)
  end
  if number(phase.reused) > 0 then
    say(", %d reused", number(phase.reused))
  end
  if number(phase.run) > 0 then
    say(", %d to run", number(phase.run))
  end
  if number(phase.unknown) > 0 then
    local depends = list(phase.depends)
    say(", %d depend%s on phase%s", number(phase.unknown), number(phase.unknown) == 1 and "s" or "", #depends == 1 and "" or "s")
    for i, on in ipairs(depends) do
      say("%s%d", i == 1 and " " or ", ", number(on))
    end
  end
  say "\n"
end

local function print_reason(reason, first)
  local examples = list(reason.examples)
  say("  %s %s: %s (%s%s)\n", v.left(first and "runs" or "", 7), text(reason.reason), many(reason.tasks, "task"), joined(examples, ", "),
    number(reason.tasks) > #examples and ", ..." or "")
end

local function print_phase(phase)
  say("\nphase %d  %s  ", number(phase.number), text(phase.name))
  print_tasks(phase)
  in_turn(phase.readers, print_reader)
  in_turn(phase.stages, print_stage)
  in_turn(phase.stores, print_store)
  in_turn(phase.reasons, print_reason)
  for task in each(phase.list) do
    say("  task %5d  %s  %s%s%s\n", number(task.number), v.left(text(task.state), 7), text(task.name), task.reason == nil and "" or ": ",
      text(task.reason))
  end
  if phase.predicted_core_seconds ~= nil then
    say("  about   %s of work, as the last run's tasks took\n", v.time(v.real(phase.predicted_core_seconds)))
  end
  if phase.checkpoint ~= nil then
    local checkpoint = v.list(phase.checkpoint)
    say("          s.checkpoint {} before '%s' would save %s of it the next time\n", text(checkpoint.before), v.time(v.real(checkpoint.seconds)))
  end
end

local function print_rebuild(dataset)
  say("\n%s@%d was carried on %s; building it anew from all inputs would change at most %d of %d published documents\n", text(dataset.dataset),
    number(dataset.snapshot), many(dataset.appends, "time"), number(dataset.rebuild_changes), number(dataset.documents))
end

return function(plan)
  say("%s: %s, %s: %d reused, %d to run", text(plan.name), many(#list(plan.phases), "phase"), many(plan.tasks, "task"), number(plan.reused),
    number(plan.run))
  if number(plan.unknown) > 0 then
    say(" at least, %d more depend on what those give", number(plan.unknown))
  end
  say("\nrun directory %s\n", text(plan.run_dir))
  if plan.predicted_core_seconds ~= nil then
    local workers = number(plan.workers)
    say("about %s with %d workers, as fast as the last run\n", v.time(v.real(plan.predicted_core_seconds) / math.max(workers, 1)), workers)
  end
  in_turn(plan.phases, print_phase)
  in_turn(plan.rebuilds, print_rebuild)
end
