-- Where the time of a run went: stages and what the engine needed for itself, and which of them took most.

local v = require "lib"
local number, real, text, list, each = v.number, v.real, v.text, v.list, v.each

local M = {}

local UPKEEP = {
  { "reading", "reading and unpacking files" },
  { "carrying", "keeping rows between phases" },
  { "committing", "committing results" },
}

-- {name, work, wait (seconds), and of stages: stage, rows, bytes, tokens, seconds}, in the order of the pipeline; what no stage did comes last.
function M.parts(report)
  local parts = {}
  for stage in each(report.funnel) do
    parts[#parts + 1] = {
      name = text(stage.name),
      stage = stage,
      rows = number(stage["in"]),
      bytes = real(stage.text_bytes),
      tokens = real(list(stage.measures).tokens),
      seconds = real(stage.seconds),
      work = real(stage.seconds),
      wait = real(stage.wait_seconds),
    }
  end
  for _, upkeep in ipairs(UPKEEP) do
    parts[#parts + 1] = {
      name = upkeep[2],
      bytes = 0,
      tokens = 0,
      seconds = 0,
      work = real(list(report.upkeep)[upkeep[1]]),
      wait = real(list(report.waits)[upkeep[1]]),
    }
  end
  return parts
end

-- The part that took most time, working or waiting; nil where nothing took any.
function M.slowest(parts)
  local slowest
  for _, part in ipairs(parts) do
    if part.work + part.wait > (slowest and slowest.work + slowest.wait or 0) then slowest = part end
  end
  return slowest
end

return M
