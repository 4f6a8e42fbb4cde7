-- bad_lua.lua - heuristics that misbehave on each row whose text holds `on` (all rows, if it is empty), each in a way of its own.
local s = require "sluice"

local M, seen = {}, 0

local function bad(name, misbehave)
  M[name] = s.heuristic { name,
    summary = "Misbehaves: " .. name,
    options = { on = { "string", "", doc = "Misbehave only on rows whose text holds this." },
                min = { "int", 20, doc = "Fewest bytes of a row." } },
    measure = function(doc, o)
      if doc.text:find(o.on, 1, true) then return misbehave(doc, o) end
      return #doc.text
    end,
    drop = { below = "min" } }
end

bad("loops", function() while true do end end)
bad("eats_memory", function()
  local all = {}
  for i = 1, math.huge do all[i] = ("x"):rep(100000) .. i end
end)
bad("eats_text", function() local text = "xxxxxxxx" while true do text = text .. text end end)
bad("fails", function() error "bad luck" end)
bad("reads_nil", function(doc) return #doc.txet end)
bad("returns_text", function() return "much" end)
bad("returns_nan", function() return 0 / 0 end)
bad("recurses", function(doc, o)
  local function deeper(n) return 1 + deeper(n + 1) end
  return deeper(0)
end)
bad("pattern", function() return #(("a"):rep(5000):match(("a*"):rep(40) .. "b") or "") end)
bad("counts", function(doc) seen = seen + 1 return #doc.text end)
bad("catches", function() while true do pcall(function() while true do end end) end end)
bad("writes_global", function() _G.leaked = 1 return 1 end)

return M
