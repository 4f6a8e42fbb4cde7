-- cost - halts a run that costs more than its budget, in any currency.
--
--   local cost = require "policies.cost"
--   return s.pipeline { "web", ..., policies = { cost { budget = 40, core_hour = 0.05, currency = "EUR" } } }
--
-- The price of a core-hour is yours to state. Judged when a phase is complete: what was finished by then is kept, and the same
-- command goes on with a larger budget.
local s = require "sluice"

return s.policy { "cost",
  options = {
    budget    = { "float", 10, min = 0, max = 1e9, doc = "What the run may cost." },
    core_hour = { "float", 0.05, min = 0, max = 1e6, doc = "Price of one core for an hour." },
    currency  = { "string", "USD", doc = "What prices are in; appears in messages." },
    warn      = { "float", 0.8, min = 0, max = 1, doc = "Part of the budget at which the run warns." },
  },
  judge = function(o, run)
    local hours = run.core_seconds / 3600
    local spent = hours * o.core_hour
    local said = string.format("%.2f of %.2f %s are spent (%.2f core-hours at %g %s)", spent, o.budget, o.currency, hours, o.core_hour, o.currency)
    if spent > o.budget then return "halt", said .. "; raise budget to go on" end
    if spent > o.budget * o.warn then return "warn", said end
  end,
}
