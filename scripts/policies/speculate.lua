-- speculate - when a second process begins a task that another one has in hand and is late with. This is what holds if a pipeline says
-- nothing; to say something else:
--
--   local speculate = require "policies.speculate"
--   return s.pipeline { "web", ..., policies = { speculate { seconds = 120, multiple = 3 } } }
--
-- Asked only in a process that has nothing else to do. A task is late when most of its phase is done and it takes far longer for a byte than
-- the others did: a task that is only larger is not. The first of the two that commits stands, and both make the same bytes, so all that a
-- second copy can cost is work. Stages that ask servers cost more than that, so phases with such stages have none, but for those of
-- stages that are named here.
local s = require "sluice"

return s.policy { "speculate",
  options = {
    enabled    = { "bool", true, doc = "Whether there are second copies at all." },
    quantile   = { "float", 0.75, min = 0, max = 1, doc = "Part of the phase's tasks that must be done." },
    least      = { "int", 5, min = 2, max = 1000000, doc = "Tasks that must be done, at least." },
    seconds    = { "float", 30, min = 0, max = 1e6, doc = "No task is late before." },
    multiple   = { "float", 2, min = 1, max = 1000, doc = "Of the median of the seconds a byte, which a late task is past." },
    deviations = { "float", 3, min = 0, max = 1000, doc = "Standard deviations above the mean, which it is past as well." },
    recorded   = { "list", "", doc = "Stages that ask servers whose tasks may be done twice nevertheless." },
  },
  -- task: { phase, task, tasks = of the phase, done, known = tasks of which the time is known, seconds = since it is known to be in hand,
  -- pace = its seconds a byte so far, mean, deviation, median = of those that are done, asks = names of stages that ask servers }
  speculate = function(o, task)
    if not o.enabled then return false end
    local named = {}
    for _, name in ipairs(o.recorded) do named[name] = true end
    for _, name in ipairs(task.asks) do
      if not named[name] then return false end
    end
    return task.known >= o.least and task.done >= o.quantile * task.tasks and task.seconds >= o.seconds
      and task.pace > o.multiple * task.median and task.pace > task.mean + o.deviations * task.deviation
  end,
}
