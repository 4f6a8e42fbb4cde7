-- retry - what becomes of a task that failed: tried again after a while, or given up. This is what
-- holds if a pipeline says nothing; to say something else:
--
--   local retry = require "policies.retry"
--   return s.pipeline { "web", ..., policies = { retry { attempts = 5, base = 1 } } }
--
-- What may pass (files, devices, networks) is tried again after base * factor^(n-1) seconds, cap at most, give or take
-- jitter of that (from the run's seed). What comes again (data, a defect of a stage) is not. A task that ran out of memory
-- is tried again without a wait, and with no other task beside it in its process. A task whose worker died is taken over at once, unless workers on several hosts died with it.
local s = require "sluice"

return s.policy { "retry",
  options = {
    attempts  = { "int", 3, min = 1, max = 1000, doc = "How often a task is tried that fails for what may pass." },
    base      = { "float", 5, min = 0, max = 3600, doc = "Seconds before it is tried a second time." },
    factor    = { "float", 2, min = 1, max = 100, doc = "By which each wait is longer than the one before." },
    cap       = { "float", 300, min = 0, max = 86400, doc = "The longest wait, in seconds." },
    jitter    = { "float", 0.5, min = 0, max = 1, doc = "Part of a wait by which it may be shorter or longer." },
    permanent = { "int", 1, min = 1, max = 1000, doc = "How often a task is tried that fails for what comes again." },
    memory    = { "int", 2, min = 1, max = 1000, doc = "How often a task is tried that runs out of memory." },
    deaths    = { "int", 3, min = 1, max = 1000, doc = "Workers that may die with a task before it is given up." },
    hosts     = { "int", 2, min = 1, max = 1000, doc = "Hosts on which they must have died for that." },
    most      = { "int", 16, min = 1, max = 1000000000, doc = "Tasks that may be given up in a phase while fewer succeed; then the run ends." },
  },
  retry = function(o, failure)
    local n = failure.failures
    local tries = { transient = o.attempts, memory = o.memory, permanent = o.permanent }
    local class = failure.class
    if class == "lost_worker" then
      if n.lost_worker < o.deaths or failure.hosts < o.hosts then return 0 end
    elseif n[class] < tries[class] then
      if class ~= "transient" then return 0 end
      local wait = o.base
      for _ = 2, n.transient do
        wait = math.min(o.cap, wait * o.factor)
      end
      return math.min(o.cap, wait) * (1 + o.jitter * (2 * failure.random - 1))
    end
    if failure.given_up + 1 >= o.most and failure.given_up >= failure.done then return "halt" end
    return false
  end,
}
