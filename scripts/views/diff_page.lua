-- sluice diff --html: what two snapshots share and what not, as a page; what differs most comes first.
--
-- Facts are those of diff --json.

local v = require "lib"
local page = require "page"
local number, text, list, each = v.number, v.text, v.list, v.each
local put, escape = page.put, page.text

local function signed(n)
  return (n > 0 and "+" or n < 0 and "-" or "") .. v.grouped(math.abs(n))
end

-- By how much b is more than a: "+12.5 %", "new", "gone".
local function change(a, b)
  if a == b then return "" end
  if a == 0 then return "new" end
  if b == 0 then return "gone" end
  return ("%+.1f %%"):format(100 * (b - a) / a)
end

local function coloured(a, b)
  return ('<span class="%s">%s</span>'):format(a == b and "soft" or "bad", escape(change(a, b)))
end

local function put_head(facts)
  local a, b = list(facts.a), list(facts.b)
  put("<h1>What differs</h1>\n<p><code>%s@%d</code> and <code>%s@%d</code></p>\n", escape(a.dataset, 200), number(a.number), escape(b.dataset, 200), number(b.number))
  local rows = {}
  for _, what in ipairs { { "rows", v.grouped }, { "files", v.grouped }, { "bytes", function(n) return v.bytes(number(n)) end } } do
    local x, y = number(a[what[1]]), number(b[what[1]])
    rows[#rows + 1] = { what[1], what[2](x), what[2](y), coloured(x, y) }
  end
  local measures = {}
  for _, side in ipairs { a, b } do
    for _, name in ipairs(v.names(side.measures)) do measures[name] = true end
  end
  for _, name in ipairs(v.names(measures)) do
    local x, y = number(list(a.measures)[name]), number(list(b.measures)[name])
    rows[#rows + 1] = { escape(name, 40), v.grouped(x), v.grouped(y), coloured(x, y) }
  end
  page.table({ "", "a", "b", "change" }, rows)
end

local function put_reasons(facts)
  local reasons, rows, most, equal = {}, {}, 1, 0
  for reason in each(facts.reasons) do
    local a, b = number(reason.a), number(reason.b)
    if a == b then
      equal = equal + 1
    else
      reasons[#reasons + 1] = { stage = text(reason.stage), name = text(reason.reason), a = a, b = b, by = math.abs(b - a) }
      most = math.max(most, math.abs(b - a))
    end
  end
  table.sort(reasons, function(x, y)
    if x.by ~= y.by then return x.by > y.by end
    if x.stage ~= y.stage then return x.stage < y.stage end
    return x.name < y.name
  end)
  for k, reason in ipairs(reasons) do
    if k <= 10000 then
      rows[k] = { escape(reason.name, 60), escape(reason.stage, 40), v.grouped(reason.a), v.grouped(reason.b), signed(reason.b - reason.a), coloured(reason.a, reason.b),
        k <= 200 and page.meter(reason.by / most, reason.b > reason.a and "cut" or "kept") or "" }
    end
  end
  if #rows > 0 or equal > 0 then
    page.heading "Rows that were dropped"
    if #rows > 0 then page.table({ "reason", "stage", "a", "b", "", "change", "" }, rows, #rows > 16) end
    put("<p>%s as often in both.</p>\n", v.many(equal, "reason is", "reasons are"))
  end
end

local function put_files(files)
  local rows = {}
  for _, what in ipairs { "same", "added", "removed" } do
    local sum = list(files[what])
    rows[#rows + 1] = { what, v.grouped(sum.files), v.grouped(sum.rows), v.bytes(number(sum.bytes)) }
  end
  page.heading "Files, by what they hold"
  page.table({ "", "files", "rows", "bytes" }, rows)
end

local function put_rows(compared)
  local rows, all = {}, 0
  for _, what in ipairs { "same", "changed", "added", "removed" } do
    all = all + number(compared[what])
  end
  for _, what in ipairs { "same", "changed", "added", "removed" } do
    local names = {}
    for _, key in ipairs(list(list(compared.examples)[what])) do
      if #names < 20 then names[#names + 1] = "<code>" .. escape(v.json(key), 80) .. "</code>" end
    end
    rows[#rows + 1] = { what, v.grouped(compared[what]), page.meter(all > 0 and number(compared[what]) / all or 0, what == "same" and "kept" or "cut"), table.concat(names, " ") }
  end
  page.heading("Rows by " .. text(compared.key))
  page.table({ "", "rows", "", "such as" }, rows)
  if number(compared.repeated) > 0 then
    put("<p>%s the key of another one.</p>\n", v.many(compared.repeated, "row has", "rows have"))
  end
end

local POINTS = { "p10", "p50", "p90", "p99", "most" }

local function put_lengths(lengths)
  local a, b, rows = list(lengths.a), list(lengths.b), {}
  local function mean(side)
    return number(side.rows) > 0 and number(side.bytes) / number(side.rows) or 0.0
  end
  rows[1] = { "mean", ("%.1f"):format(mean(a)), ("%.1f"):format(mean(b)), coloured(mean(a), mean(b)) }
  for _, point in ipairs(POINTS) do
    rows[#rows + 1] = { point, v.grouped(a[point]), v.grouped(b[point]), coloured(number(a[point]), number(b[point])) }
  end
  page.heading("Bytes of " .. text(lengths.column))
  page.table({ "", "a", "b", "change" }, rows)
end

return function(facts)
  page.begin "What differs"
  put_head(facts)
  if facts.rows ~= nil then put_rows(list(facts.rows)) end
  put_reasons(facts)
  if facts.lengths ~= nil then put_lengths(list(facts.lengths)) end
  put_files(list(facts.files))
  page.finish()
end
