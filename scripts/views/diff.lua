-- sluice diff: what two snapshots share and what not.

local v = require "lib"
local number, text, list, each, say, many = v.number, v.text, v.list, v.each, v.say, v.many

local function signed(n)
  return (n > 0 and "+" or n < 0 and "-" or "") .. v.grouped(math.abs(n))
end

local function print_side(side)
  side = list(side)
  say("%s@%d: %s rows in %s, %s\n", text(side.dataset), number(side.number), v.grouped(side.rows), many(side.files, "file"), v.bytes(number(side.bytes)))
end

local function print_files(files)
  for _, what in ipairs { "same", "added", "removed" } do
    local sum = list(files[what])
    say("  %-8s %s, %s rows, %s\n", what, many(sum.files, "file"), v.grouped(sum.rows), v.bytes(number(sum.bytes)))
  end
end

local function print_reasons(reasons)
  local head = false
  for reason in each(reasons) do
    local a, b = number(reason.a), number(reason.b)
    if a ~= b then
      if not head then say "dropped\n" end
      head = true
      say("  %s %s -> %s (%s)\n", v.left(text(reason.stage) .. ": " .. text(reason.reason), 40), v.grouped(a), v.grouped(b), signed(b - a))
    end
  end
end

local function print_rows(rows)
  say("rows by %s\n", text(rows.key))
  for _, what in ipairs { "same", "changed", "added", "removed" } do
    local names = {}
    for _, key in ipairs(list(list(rows.examples)[what])) do names[#names + 1] = v.json(key) end
    say("  %-8s %s%s\n", what, v.grouped(rows[what]), #names > 0 and "  such as " .. v.excerpt(table.concat(names, ", "), 100) or "")
  end
  if number(rows.repeated) > 0 then
    say("  %s the key of another one\n", many(rows.repeated, "row has", "rows have"))
  end
end

local function print_lengths(lengths)
  say("bytes of %s     rows       mean        p10        p50        p90        p99       most\n", text(lengths.column))
  for _, which in ipairs { "a", "b" } do
    local side = list(lengths[which])
    local n = number(side.rows)
    say("  %s %s %10.1f", which, v.right(v.grouped(n), 14), n > 0 and number(side.bytes) / n or 0)
    for _, point in ipairs { "p10", "p50", "p90", "p99", "most" } do say(" %s", v.right(v.grouped(side[point]), 10)) end
    say "\n"
  end
end

return function(facts)
  print_side(facts.a)
  print_side(facts.b)
  say "files\n"
  print_files(list(facts.files))
  print_reasons(facts.reasons)
  if facts.rows ~= nil then print_rows(list(facts.rows)) end
  if facts.lengths ~= nil then print_lengths(list(facts.lengths)) end
end
