-- sluice try --html: what one stage does to a sample, as a page: what was measured of kept and dropped documents, those nearest to the limit
-- side by side, what each threshold of a sweep keeps, and precision and recall where people said what is right.
--
-- Facts: see try_facts in core/cmd/try/try.h.

local v = require "lib"
local page = require "page"
local number, real, text, list, each = v.number, v.real, v.text, v.list, v.each
local put, escape = page.put, page.text

local MOST_GROUPS = 50

local function score(n)
  return n ~= nil and ("%.3f"):format(real(n)) or "&ndash;"
end

local function put_head(facts)
  local try = list(facts.try)
  local documents, options = number(try.documents), {}
  put("<h1>%s</h1>\n", escape(try.stage, 80))
  for _, name in ipairs(v.names(try.options)) do
    options[#options + 1] = name .. " = " .. v.json(list(try.options)[name])
  end
  put("<p><code>%s</code></p>\n", escape(table.concat(options, ", "), 1000))
  local cards = {
    { "documents", v.grouped(documents) },
    { "text", v.bytes(real(try.bytes)) },
    { "kept", v.grouped(try.kept) .. " (" .. v.share(number(try.kept), documents) .. ")" },
    { "kept text", v.bytes(real(try.kept_bytes)) .. " (" .. v.share(number(try.kept_bytes), number(try.bytes)) .. ")" },
    { "dropped", v.grouped(try.dropped) },
  }
  if number(try.quarantined) > 0 then cards[#cards + 1] = { "quarantined", v.grouped(try.quarantined) } end
  if try.changed ~= nil then cards[#cards + 1] = { "texts changed", v.grouped(try.changed) .. " (" .. v.share(number(try.changed), documents) .. ")" } end
  if try.made ~= nil then cards[#cards + 1] = { "rows made", v.grouped(try.made) } end
  if real(try.seconds) > 0 then cards[#cards + 1] = { "speed", v.bytes(real(try.bytes) / real(try.seconds)) .. "/s" } end
  page.cards(cards)
end

local function put_reasons(try)
  local rows, documents = {}, number(try.documents)
  for reason in each(try.reasons) do
    rows[#rows + 1] = { escape(reason.reason, 60), v.grouped(reason.documents), v.share(number(reason.documents), documents), v.bytes(real(reason.bytes)),
      page.meter(documents > 0 and number(reason.documents) / documents or 0, "cut") }
  end
  if #rows > 0 then
    page.heading "Why documents were dropped"
    page.table({ "reason", "documents", "share", "text", "" }, rows, #rows > 16)
  end
end

local function put_groups(try)
  local rows = {}
  for group in each(try.groups) do
    rows[#rows + 1] = { escape(group.value, 60), v.grouped(group.documents), v.grouped(group.kept), v.share(number(group.kept), number(group.documents)),
      page.meter(number(group.documents) > 0 and number(group.kept) / number(group.documents) or 0, "kept") }
  end
  if #rows > 0 then
    page.heading("By " .. text(try.by))
    page.table({ text(try.by), "documents", "kept", "share", "" }, rows, #rows > 16)
  end
end

local function put_confusion(try)
  local confusion = list(try.confusion)
  if try.confusion == nil then
    return
  end
  page.heading "Against labels"
  page.table({ "", "dropped", "kept" }, {
    { "labelled drop", v.grouped(confusion.dropped_right), v.grouped(confusion.kept_wrong) },
    { "labelled keep", v.grouped(confusion.dropped_wrong), v.grouped(confusion.kept_right) },
  })
  put("<p>Precision %s, recall %s, F1 %s of dropping; %s.</p>\n", score(confusion.precision), score(confusion.recall), score(confusion.f1),
    v.many(try.labels, "label"))
end

local function counts_of(bins)
  local counts = {}
  for k, n in ipairs(list(bins)) do
    counts[k] = number(n)
  end
  return counts
end

local function put_values(facts)
  local begun = false
  for value in each(facts.values) do
    local kept, dropped = counts_of(value.kept), counts_of(value.dropped)
    if #kept > 0 and #kept == #dropped then
      if not begun then
        page.heading "What was measured"
        put '<div class="sides">\n'
        begun = true
      end
      put("<div>%s", value.reason ~= nil and "<h3>" .. escape(value.reason, 60) .. "</h3>\n" or "")
      page.histogram {
        name = "What was measured" .. (value.reason ~= nil and " of documents dropped as " .. text(value.reason) or ""),
        bins = kept,
        over = dropped,
        low = real(value.low),
        high = real(value.high),
        log = value.log == true,
        limit = value.limit ~= nil and real(value.limit) or nil,
        caption = (value.reason ~= nil and "Documents dropped for this." or "Kept documents, and on top of them dropped ones.")
          .. (value.log == true and " The scale is logarithmic." or ""),
      }
      put "</div>\n"
    end
  end
  if begun then put "</div>\n" end
end

-- ---- the sweep ----

local function put_sweep(facts)
  local try, histogram, steps, bytes = list(facts.try), list(facts.histogram), list(facts.thresholds), number(list(facts.try).bytes)
  local documents, kept, kept_bytes, precision, recall, labelled = number(try.documents), {}, {}, {}, {}, false
  if v.empty(steps) then
    return
  end
  if facts.histogram ~= nil then
    page.heading("The measure behind " .. text(facts.option))
    page.histogram {
      name = "Histogram of the measure",
      bins = counts_of(histogram.bins),
      low = real(histogram.low),
      high = real(histogram.high),
      limit = real(histogram.cut),
      limit_name = text(facts.option) .. " =",
      open = true,
      caption = "Documents by what was measured. The last bar also has what is above it.",
    }
  end
  for step in each(steps) do
    local at, confusion = real(step.threshold), list(step.confusion)
    kept[#kept + 1] = { at, documents > 0 and 100 * number(step.kept) / documents or 0 }
    kept_bytes[#kept_bytes + 1] = { at, bytes > 0 and 100 * number(step.kept_bytes) / bytes or 0 }
    if confusion.precision ~= nil then precision[#precision + 1] = { at, 100 * real(confusion.precision) } end
    if confusion.recall ~= nil then recall[#recall + 1] = { at, 100 * real(confusion.recall) } end
    labelled = labelled or step.confusion ~= nil
  end
  local curves = { { name = "documents", colour = "bar", points = kept }, { name = "text", colour = "kept", points = kept_bytes } }
  page.heading "What each threshold keeps"
  put '<div class="sides"><div>\n'
  page.curves { name = "Kept documents and text by threshold", curves = curves, low = real(facts.from), high = real(facts.to), limit = real(facts.cut),
    limit_name = text(facts.option) .. " =", caption = ", in percent of the sample." }
  if labelled then
    put "</div><div>\n"
    page.curves { name = "Precision and recall by threshold", low = real(facts.from), high = real(facts.to), limit = real(facts.cut),
      limit_name = text(facts.option) .. " =", caption = " of dropping, in percent.",
      curves = { { name = "precision", colour = "bar", points = precision }, { name = "recall", colour = "cut", points = recall } } }
  end
  put "</div></div>\n"
  local heads, rows, groups = { text(facts.option), "documents", "share", "text", "share" }, {}, {}
  if labelled then
    for _, head in ipairs { "precision", "recall", "F1" } do heads[#heads + 1] = head end
  end
  for group in each(try.groups) do
    if #groups < MOST_GROUPS then
      groups[#groups + 1] = group
      heads[#heads + 1] = text(group.value)
    end
  end
  for step in each(steps) do
    local confusion = list(step.confusion)
    local row = { page.brief(real(step.threshold)), v.grouped(step.kept), v.share(number(step.kept), documents), v.bytes(real(step.kept_bytes)),
      v.share(number(step.kept_bytes), bytes) }
    if real(step.threshold) == real(facts.cut) then row[1] = '<b class="bad">' .. row[1] .. "</b>" end
    if labelled then
      row[#row + 1] = score(confusion.precision)
      row[#row + 1] = score(confusion.recall)
      row[#row + 1] = score(confusion.f1)
    end
    for _, group in ipairs(groups) do
      row[#row + 1] = v.share(number(list(step.kept_by)[text(group.value)]), number(group.documents))
    end
    rows[#rows + 1] = row
  end
  page.table(heads, rows)
end

-- ---- documents ----

-- What changed in a text: what stood there and what stands there, with a few words around.
local function edits_of(document)
  local out = {}
  for edit in each(document.edits) do
    out[#out + 1] = escape(edit.before, 80) .. "<del>" .. escape(edit.removed, 400) .. "</del><ins>" .. escape(edit.added, 400) .. "</ins>"
      .. escape(edit.after, 80)
  end
  return table.concat(out, ' <span class="soft">…</span> ')
end

local function put_document(document)
  put('<div class="doc"><div class="soft">%s', escape(document.id, 120))
  if document.reason ~= nil then put(", %s", escape(document.reason, 60)) end
  if document.value ~= nil then
    put(": measured %s, limit %s", page.brief(real(document.value)), page.brief(real(document.limit)))
  end
  if document.note ~= nil then put(", %s", escape(document.note, 200)) end
  if document.label ~= nil then put(", labelled %s", escape(document.label, 10)) end
  put("</div>%s</div>\n", v.empty(document.edits) and page.lines(text(document.text), 600) or edits_of(document))
end

local function put_side(title, documents)
  if v.empty(documents) then
    return
  end
  put("<div><h3>%s</h3>\n", escape(title))
  for document in each(documents) do
    put_document(document)
  end
  put "</div>\n"
end

local function is_measured(documents)
  local first = list(list(documents)[1])
  return first.value ~= nil and ", nearest to the limit first" or ""
end

return function(facts)
  local try = list(facts.try)
  page.begin(text(try.stage))
  put_head(facts)
  put_reasons(try)
  put_values(facts)
  put_sweep(facts)
  put_confusion(try)
  put_groups(try)
  if not (v.empty(facts.kept) and v.empty(facts.dropped) and v.empty(facts.quarantined)) then
    page.heading "Documents"
    put '<div class="sides">\n'
    put_side("dropped" .. is_measured(facts.dropped), facts.dropped)
    put_side("kept" .. is_measured(facts.kept), facts.kept)
    put_side("quarantined", facts.quarantined)
    put "</div>\n"
  end
  page.finish()
end
