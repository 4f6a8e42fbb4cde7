-- sluice report --html: what a run did, as a page. In this order: the verdict, the numbers that matter, the way of the rows, where time went, why
-- documents were dropped, how far from the limits, what came out.
--
-- Facts are those of report --json, and values: what was measured of dropped documents (facts_values). style: price.

local v = require "lib"
local page = require "page"
local bound = require "bound"
local number, real, text, list, each = v.number, v.real, v.text, v.list, v.each
local put, escape = page.put, page.text

local REASONS = 10000 -- lines of the table of reasons

local function dropped_by(stage)
  local n = 0
  for _, rows in pairs(list(stage.dropped)) do
    n = n + number(rows)
  end
  return n
end

-- ---- the verdict ----

local STATES = {
  finished = "finished",
  halted = "was halted by a gate",
  interrupted = "was interrupted; the same command goes on",
  failed = "failed",
}

local function put_head(report)
  local state, rows_in, written = text(report.state), 0, {}
  for stage in each(report.funnel) do
    if stage.role == "reader" then rows_in = rows_in + number(stage["in"]) end
  end
  for dataset in each(report.datasets) do
    written[#written + 1] = v.many(dataset.rows, "row") .. " in " .. text(dataset.path):match "[^/]*$"
  end
  put("<h1>%s</h1>\n", escape(report.name, 80))
  put('<p class="verdict">The run <b class="%s">%s</b>%s: %s read%s%s.</p>\n', state == "finished" and "good" or "bad", escape(STATES[state] or state),
    report.ended ~= nil and " at " .. escape(report.ended, 40) or "", escape(v.many(rows_in, "record")), #written > 0 and ", " or "",
    escape(table.concat(written, ", "), 300))
  if report.error ~= nil then
    put('<p class="bad">%s</p>\n', escape(report.error, 2000))
  end
end

local function put_cards(report, style)
  local input, seconds, cards = list(report.input), real(report.seconds), {}
  local work = real(report.work_seconds)
  local possible = report.possible_seconds ~= nil and real(report.possible_seconds) or seconds * number(report.workers)
  local function card(name, format, ...)
    cards[#cards + 1] = { name, format:format(...) }
  end
  card("time", "%s", v.time(seconds))
  card("workers", "%d", number(report.workers))
  if number(report.processes) > 1 then card("processes", "%d on %s", number(report.processes), v.many(report.hosts, "host")) end
  card("input", "%s in %s", v.bytes(real(input.bytes)), v.many(input.files, "file"))
  if seconds > 0 and number(input.decoded_bytes) > 0 then card("unpacked text a second", "%s", v.bytes(real(input.decoded_bytes) / seconds)) end
  if possible > 0 then card("busy", "%.0f %%", 100 * math.min(work, possible) / possible) end
  local tokens = v.tokens_of(report)
  if tokens > 0 then card("tokens", "%s", v.count(tokens)) end
  if number(report.peak_bytes) > 0 then card("memory, most of one process", "%s of %s", v.bytes(real(report.peak_bytes)), v.bytes(real(report.memory))) end
  if number(report.quarantined) > 0 then card("quarantined", "%s", v.grouped(report.quarantined)) end
  if real(style.price) > 0 then
    local dollars = seconds * number(report.workers) / 3600 * style.price
    card("cost", "$%s", page.brief(dollars))
    if tokens > 0 then card("cost of a million tokens", "$%s", page.brief(dollars / tokens * 1e6)) end
  end
  page.cards(cards)
end

-- ---- the way of the rows ----

local MOST_BOXES = 300

local function put_graph(report)
  local stages, boxes, edges, into, most = {}, {}, {}, {}, 1
  for stage in each(report.funnel) do
    if stage.role ~= "provider" and #boxes < MOST_BOXES then
      local rows_in, out = number(stage["in"]), number(stage.out)
      stages[text(stage.name)] = stage
      most = math.max(most, rows_in)
      boxes[#boxes + 1] = {
        name = text(stage.name),
        first = text(stage.name),
        second = stage.role == "reader" and v.grouped(out) .. " rows" or v.grouped(rows_in) .. " in, " .. v.grouped(out) .. " out",
        share = rows_in > 0 and stage.role ~= "transform" and out / rows_in or nil,
      }
    end
  end
  for edge in each(report.edges) do
    into[text(edge.to)] = (into[text(edge.to)] or 0) + 1
  end
  for edge in each(report.edges) do
    local from, to = stages[text(edge.from)], stages[text(edge.to)]
    if from and to then
      local rows = into[text(edge.to)] == 1 and number(to["in"]) or number(from.out)
      local known = edge.dropped ~= true or into[text(edge.to)] == 1
      edges[#edges + 1] = {
        from = text(edge.from),
        to = text(edge.to),
        dropped = edge.dropped == true,
        share = known and rows / most or 0,
        label = (known and v.count(rows) or "") .. (edge.dropped == true and " dropped" or ""),
      }
    end
  end
  page.heading "The way of the rows"
  put '<p>Each box is a stage; its line is the share of rows that it let through. Widths of lines are rows.</p>\n'
  page.graph("The stages of the pipeline, and the rows between them", boxes, edges)
end

-- ---- where time went ----

local function put_time(report)
  local time, rows = real(report.work_seconds) + real(report.wait_seconds), {}
  local parts = bound.parts(report)
  if time == 0 then
    return
  end
  page.heading "Where time went"
  for _, part in ipairs(parts) do
    local spent = part.work + part.wait
    if spent > 0.0005 * time or part.rows then
      rows[#rows + 1] = {
        ('<span title="%s">%s</span>'):format(page.attr(part.name, 400), escape(part.name, 60)),
        part.rows and v.grouped(part.rows) or "",
        part.seconds > 0.005 and part.rows and v.count(math.floor(part.rows / part.seconds)) .. "/s" or "",
        part.seconds > 0.005 and part.bytes > 0 and ("%.0f MB/s"):format(part.bytes / part.seconds / 1e6) or "",
        part.seconds > 0.005 and part.tokens > 0 and ("%.1f M/s"):format(part.tokens / part.seconds / 1e6) or "",
        page.meter(spent / time) .. " " .. v.share(spent, time),
        part.wait > 0.0005 * time and v.share(part.wait, time) or "",
      }
    end
  end
  local slowest = bound.slowest(parts)
  if slowest then
    put('<p class="verdict">Bound by <b>%s</b>: %s of the time%s.</p>\n', escape(slowest.name, 80), v.share(slowest.work + slowest.wait, time),
      slowest.wait > 0.1 * (slowest.work + slowest.wait) and ", " .. v.share(slowest.wait, slowest.work + slowest.wait) .. " of that waiting" or "")
  end
  put "<p>Speeds are of one core at work on that stage alone.</p>\n"
  page.table({ "stage", "rows", "rows", "text", "tokens", "share of time", "waiting" }, rows)
end

-- ---- reasons ----

local function put_reasons(report)
  local reasons, rows, total = {}, {}, 0
  for stage in each(report.funnel) do
    for _, reason in ipairs(v.most_first(stage.dropped)) do
      reasons[#reasons + 1] = { stage = stage, name = reason[1], rows = reason[2] }
      total = total + reason[2]
    end
  end
  if #reasons == 0 then
    return
  end
  table.sort(reasons, function(a, b)
    return a.rows > b.rows or (a.rows == b.rows and (a.name < b.name or (a.name == b.name and text(a.stage.name) < text(b.stage.name))))
  end)
  for k = 1, math.min(#reasons, REASONS) do
    local reason = reasons[k]
    rows[k] = {
      escape(reason.name, 60),
      escape(reason.stage.name, 40),
      v.grouped(reason.rows),
      v.share(reason.rows, number(reason.stage["in"])),
      k <= 200 and page.meter(reason.rows / reasons[1].rows, "cut") or "",
    }
  end
  page.heading "Why rows were dropped"
  put("<p>%s dropped for %s. Shares are of the rows that reached the stage.</p>\n", v.many(total, "row was", "rows were"), v.many(#reasons, "reason"))
  page.table({ "reason", "stage", "rows", "share", "" }, rows, #rows > 16)
  if #reasons > REASONS then
    put("<p>and %d more reasons: sluice report --all</p>\n", #reasons - REASONS)
  end
end

-- ---- how far from the limits ----

local function put_document(document)
  local place = text(document.id) ~= "" and text(document.id) or text(document.uri)
  put('<div class="doc"><div class="soft">%s', escape(place, 120))
  if document.value ~= nil then
    put(": measured %s, limit %s", page.brief(real(document.value)), page.brief(real(document.limit)))
  elseif document.dup_of ~= nil then
    put(": like %s", escape(document.dup_of, 120))
    if document.similarity ~= nil then put(", similarity %.2f", real(document.similarity)) end
  end
  put("</div>%s</div>\n", page.lines(text(document.text), 600))
end

local function put_value(value)
  local bins, counts, documents = list(value.bins), {}, 0
  put("<div><h3>%s: %s, %s</h3>\n", escape(value.stage, 60), escape(value.reason, 60), v.many(value.rows, "row"))
  for k, n in ipairs(bins) do
    counts[k] = number(n)
  end
  if #counts > 0 then
    page.histogram {
      name = text(value.stage) .. ": what was measured of rows dropped as " .. text(value.reason),
      bins = counts,
      low = real(value.low),
      high = real(value.high),
      log = value.log == true,
      limit = value.limit ~= nil and real(value.limit) or nil,
      caption = (value.similarity == true and "Rows by their similarity to the one that was kept." or "Dropped rows by what was measured of them.")
        .. (value.log == true and " The scale is logarithmic." or ""),
    }
  end
  for document in each(value.documents) do
    if document.text ~= nil then documents = documents + 1 end
  end
  if documents > 0 then
    put("<details%s><summary>%s nearest to the limit</summary>\n", #counts > 0 and "" or " open", v.many(documents, "document"))
    for document in each(value.documents) do
      if document.text ~= nil then put_document(document) end
    end
    put "</details>\n"
  end
  put "</div>\n"
end

local function put_values(report)
  local values, pairs_known = list(report.values), number(report.pairs)
  if v.empty(values) then
    return
  end
  page.heading "How far from the limits"
  put('<p>Dropped rows by what was measured, most first%s. Kept documents near a limit: <code>sluice try PIPELINE.lua SAMPLE --stage STAGE --html FILE</code>.</p>\n',
    pairs_known > #values and (" (%d of %d reasons)"):format(#values, pairs_known) or "")
  put '<div class="sides">\n'
  for value in each(values) do
    put_value(value)
  end
  put "</div>\n"
end

-- ---- what came out ----

local function sources_of(report)
  local sources = {}
  for stage in each(report.funnel) do
    if stage.source ~= nil then sources[#sources + 1] = escape(stage.source, 160) end
  end
  return sources
end

local function put_datasets(report)
  local rows, sources = {}, sources_of(report)
  for dataset in each(report.datasets) do
    rows[#rows + 1] = {
      ('<code>%s@%d</code>'):format(escape(dataset.path, 160), number(dataset.snapshot)),
      escape(dataset.writer, 40),
      v.grouped(dataset.rows),
      v.grouped(dataset.shards),
      v.bytes(real(dataset.bytes)),
      dataset.new ~= true and "unchanged" or dataset.appended == true and "appended" or "new",
    }
  end
  if #rows > 0 then
    page.heading "What came out"
    page.table({ "dataset", "written by", "rows", "files", "bytes", "" }, rows, #rows > 20)
  end
  if #sources > 0 then
    put("<p>Made from %s.</p>\n", table.concat(sources, ", "))
  end
  put("<p>A row's sources: <code>sluice trace DATASET SHARD ROW</code>; a document's fate: <code>sluice why %s --id ID</code>.</p>\n", escape(report.run_dir, 200))
end

local function put_failures(report)
  local rows = {}
  for failure in each(report.failures) do
    if #rows < 200 then
      rows[#rows + 1] = { tostring(number(failure.task)), escape(failure.class, 40), tostring(number(failure.attempts)), escape(failure.host, 60), escape(failure.message, 400) }
    end
  end
  if #rows > 0 then
    page.heading "Tasks that failed"
    page.table({ "task", "class", "times", "host", "message" }, rows, true)
  end
end

return function(report, style)
  page.begin(text(report.name) .. ": " .. text(report.state))
  put_head(report)
  put_cards(report, style)
  put_failures(report)
  put_graph(report)
  put_time(report)
  put_reasons(report)
  put_values(report)
  put_datasets(report)
  page.finish()
end
