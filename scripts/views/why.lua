-- sluice why: the way of documents, those dropped for a reason, what is quarantined, why a task runs.
--
-- style: question (id, row, reason, dropped, quarantine, task); stage and near, as asked; columns a record is shown in.

local v = require "lib"
local number, real, text, list, each, say = v.number, v.real, v.text, v.list, v.each, v.say

-- "short_doc, value 3, limit 50, duplicate of x (similarity 0.91)"
local function drop_text(drop)
  local words = text(drop.reason)
  if drop.value ~= nil then
    words = words .. string.format(", value %.6g, limit %.6g", real(drop.value), real(drop.limit))
  end
  if drop.dup_of ~= nil then
    words = words .. ", duplicate of " .. v.excerpt(text(drop.dup_of))
    if drop.similarity ~= nil then
      words = words .. string.format(" (similarity %.3g)", real(drop.similarity))
    end
  end
  return words
end

-- "web/a.jsonl.zst bytes 12 to 345", or the row of a split.
local function place_text(place)
  if place.uri ~= nil then
    local words = string.format("%s bytes %d to %d", v.excerpt(text(place.uri)), number(place.begin), number(place["end"]))
    return place.unit_row == nil and words or string.format("%s (a unit), row %d in it", words, number(place.unit_row))
  end
  return string.format("row %d of %s", number(place.row), v.excerpt(text(place.split)))
end

-- ---- the way of a document ----

local function written_text(event)
  local words = v.excerpt(text(event.dataset))
  if event.shard ~= nil then
    words = words .. string.format("@%d %s", number(event.snapshot), v.excerpt(text(event.shard)))
  else
    words = words .. string.format(" %s (not published)", v.excerpt(text(event.file)))
  end
  words = words .. string.format(" row %d", number(event.row))
  if event.tokens ~= nil then
    words = words .. string.format(", tokens %d to %d", number(list(event.tokens)[1]), number(list(event.tokens)[2]))
  end
  return words
end

-- What the fate depends on, where servers were asked.
local function print_answers(event)
  if event.answers ~= nil then
    v.answers(event.answers, "      ")
  elseif event.recorded == true then
    say("      (by what servers answered, which is recorded)\n")
  end
end

local function print_event(event)
  local fate = text(event.fate)
  if event.recorded == true and event.hidden == true then
    say("  %s %s\n", v.left(text(event.stage), 28), fate)
    print_answers(event)
    return
  end
  if event.hidden == true then
    return -- part of a composite, or nothing that could have dropped it
  end
  if fate == "not done yet" then
    say("  phase %d: not done yet (task %d)\n", number(event.phase), number(event.task))
    return
  end
  local more = fate == "dropped" and drop_text(event)
    or fate == "quarantined" and text(event.reason) .. ": " .. v.excerpt(text(event.detail), 150)
    or fate == "written" and written_text(event)
  say("  %s %s%s%s\n", v.left(text(event.stage), 28), fate, more and ": " or "", more or "")
  print_answers(event)
end

local function print_documents(facts)
  for document in each(facts.documents) do
    if document.id ~= nil then
      say("%s: ", text(document.id))
    end
    say("row %d of %s%s%s\n", number(document.row), text(document.split), document.uri ~= nil and ", " or "",
      document.uri ~= nil and place_text(document) or "")
    for event in each(document.way) do
      print_event(event)
    end
  end
  if facts.more == true then
    say("these are %d documents with this id; there may be more\n", #list(facts.documents))
  end
end

-- ---- lists ----

local function print_reason(facts, style)
  for document in each(facts.documents) do
    if document.id ~= nil then
      say("%s  ", text(document.id))
    end
    if document.stage_row ~= nil then
      say("%s  row %d of the rows that '%s' reads\n", drop_text(document), number(document.stage_row), text(document.stage))
    else
      say("%s  %s\n", drop_text(document), place_text(document))
    end
    if document.text ~= nil then
      say("    %s\n", v.excerpt(text(document.text), number(style.columns)))
    end
  end
  say("%d of %s dropped for %s%s%s%s\n", #list(facts.documents), v.many(facts.total, "document"), text(facts.reason),
    style.stage ~= nil and " by " or "", text(style.stage), style.near == true and ", the nearest to the limit" or "")
end

local function print_quarantine(facts, style)
  for record in each(facts.records) do
    say("%s in %s", text(record.reason), text(record.stage))
    if record.uri ~= nil or record.row ~= nil then
      say(": %s", place_text(record))
    end
    say "\n"
    if text(record.detail) ~= "" then
      say("    %s\n", text(record.detail))
    end
    if record.raw ~= nil then
      say("    %s\n", v.excerpt(text(record.raw), number(style.columns)))
    end
    if record.kept ~= nil then
      say("    sluice replay %s\n", text(record.kept))
    end
  end
  say("%d of %d quarantined record%s\n", #list(facts.records), number(facts.quarantined), number(facts.quarantined) == 1 and "" or "s")
end

local function print_dropped(facts, style)
  for stage in each(facts.stages) do
    local quarantined = number(stage.quarantined)
    local lost = quarantined
    for _, n in pairs(list(stage.dropped)) do
      lost = lost + number(n)
    end
    say("%s %s of %s\n", v.left(text(stage.stage), 36), v.right(v.count(lost), 10), v.count(stage["in"]))
    for reason, n in pairs(list(stage.dropped)) do
      say("  %s %s\n", v.left(tostring(reason), 34), v.right(v.count(n), 10))
    end
    if quarantined > 0 then
      say("  %s %s\n", v.left("(quarantined)", 34), v.right(v.count(quarantined), 10))
    end
  end
  if #list(facts.stages) == 0 then
    say("nothing was dropped%s%s\n", style.stage ~= nil and " by " or "", text(style.stage))
  end
end

local function print_task(task)
  say("task %d (%s of %s): %s%s%s\n", number(task.task), text(task.name), text(task.phase), text(task.state),
    text(task.reason) ~= "" and ": " or "", text(task.reason))
end

local ANSWERS = {
  id = print_documents,
  row = print_documents,
  reason = print_reason,
  quarantine = print_quarantine,
  dropped = print_dropped,
  task = print_task,
}

return function(facts, style)
  ANSWERS[style.question](facts, style)
end
