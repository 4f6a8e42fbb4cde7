-- What views are made of: reading facts that may be missing, saying numbers, names and sizes, and tables.
--
-- A view is a file here, or one of the user's (--view FILE.lua), that returns function(facts, style) and prints with say and write. Facts
-- are what the command prints with --json; they come from records that may be old or damaged, so a view reads them through number, text,
-- list and map and stops at nothing that is not there. Names in facts come from outside: say writes each on one line, with control
-- characters as escapes.

local host = require "host"

local M = {
  say = host.say, -- prints as string.format does; texts are put on one line
  write = host.write, -- prints a text with its lines
  excerpt = host.excerpt, -- (text, columns): on one line, cut with a "…" where it is wider
  width = host.width, -- columns on a terminal
  json = host.json, -- a fact as JSON
  bytes = host.bytes, -- "1.2 MB"
  time = host.time, -- of seconds: "3.4 s", "2:05 min"
}

-- A fact as an integer, 0 when it is none.
function M.number(value)
  if math.type(value) == "float" then
    return math.tointeger(value // 1) or 0
  end
  return math.type(value) == "integer" and value or 0
end

-- A fact as a float, 0 when it is no number.
function M.real(value)
  return type(value) == "number" and value + 0.0 or 0.0
end

function M.text(value)
  return type(value) == "string" and value or ""
end

-- An array or an object of facts; {} when it is none. Its items may be anything.
function M.list(value)
  return type(value) == "table" and value or {}
end

-- Whether an array or object has nothing in it, or is none.
function M.empty(value)
  for _ in pairs(M.list(value)) do
    return false
  end
  return true
end

-- The names of an object's members, sorted.
function M.names(value)
  local names = {}
  for name in pairs(M.list(value)) do
    names[#names + 1] = tostring(name)
  end
  table.sort(names)
  return names
end

-- The objects of an array, one after the other; what is none is passed over.
function M.each(value)
  local items, i = M.list(value), 0
  return function()
    repeat
      i = i + 1
    until items[i] == nil or type(items[i]) == "table"
    return items[i]
  end
end

-- "1.2M" documents.
function M.count(n)
  return host.count(M.number(n))
end

-- "6,954,802"
function M.grouped(n)
  local sign, digits = string.format("%d", M.number(n)):match "^(-?)(%d+)$"
  local head = #digits % 3
  local groups = head > 0 and { digits:sub(1, head) } or {}
  for at = head + 1, #digits, 3 do
    groups[#groups + 1] = digits:sub(at, at + 2)
  end
  return sign .. table.concat(groups, ",")
end

-- "3 files", "1 file": the word with an s where it is not one.
function M.many(n, word, words)
  return string.format("%d %s", M.number(n), M.number(n) == 1 and word or words or word .. "s")
end

-- Tasks that were given up, the first of them.
function M.failures(run, begin)
  local failures = M.list(run.failures)
  for k, failure in ipairs(failures) do
    if k > 10 then
      M.say("%sand %d more that failed\n", begin, #failures - 10)
      break
    end
    M.say("%stask %d failed, %s, %s, the last on %s: %s\n", begin, M.number(failure.task), M.text(failure.class),
      M.many(failure.attempts, "time"), M.text(failure.host), M.text(failure.message))
  end
end

-- How many records of a run are in quarantine, if any are, and how to see them.
function M.quarantined(run, begin)
  local n = M.number(run.quarantined)
  if n > 0 then
    M.say("%s%d record%s quarantined: sluice why %s --quarantine\n", begin, n, n == 1 and " is" or "s are", M.text(run.run_dir))
  end
end

-- What stages asked of servers: "judge: 1,200 answers (5 refused, 13 repeated; 2 MB sent, 300 KB came), 800 known before".
function M.asks(stages, begin)
  for stage in M.each(stages) do
    local asks, parts, more = M.list(stage.asks), {}, {}
    local answered, known = M.number(asks.answered), M.number(asks.known)
    if answered > 0 then
      if M.number(asks.refused) > 0 then more[1] = M.grouped(asks.refused) .. " refused" end
      if M.number(asks.retries) > 0 then more[#more + 1] = M.grouped(asks.retries) .. " repeated" end
      if M.number(asks.hedges) > 0 then more[#more + 1] = M.grouped(asks.hedges) .. " hedged" end
      parts[1] = string.format("%s %s (%s%s%s sent, %s came)", M.grouped(answered), answered == 1 and "answer" or "answers",
        table.concat(more, ", "), more[1] and "; " or "", M.bytes(M.real(asks.bytes_out)), M.bytes(M.real(asks.bytes_in)))
    end
    if known > 0 then parts[#parts + 1] = M.grouped(known) .. (answered > 0 and " known before" or " answers, all known before") end
    if parts[1] then M.say("%s%s: %s\n", begin, M.text(stage.name), table.concat(parts, ", ")) end
  end
end

-- What servers answered a stage about a document: "answered: POST http://localhost:8000/score: 200, 14 bytes, 2026-05-01T10:00:00Z".
function M.answers(answers, begin)
  for ask in M.each(answers.asks) do
    local request = M.excerpt(M.text(ask.request), 120)
    if ask.found == true then
      M.say("%sanswered: %s: %d%s, %s%s\n", begin, request, M.number(ask.code), ask.refused == true and " (refused)" or "",
        M.many(ask.bytes, "byte"), ask.answered_at ~= nil and ", " .. M.text(ask.answered_at) or "")
    else
      M.say("%sasked: %s: not in the journal\n", begin, request)
    end
  end
  if not M.empty(answers.asks) then M.say("%srecorded in %s\n", begin, M.excerpt(M.text(answers.journal))) end
end

-- "12.3 %", "<0.1 %"
function M.share(part, whole)
  local percent = whole > 0 and 100 * part / whole or 0
  return percent > 0 and percent < 0.05 and "<0.1 %" or string.format("%.1f %%", percent)
end

-- Text of at least so many columns of a terminal, on one line, with blanks behind or before it.
function M.left(text, columns)
  local line = host.excerpt(text)
  return line .. (" "):rep(columns - host.width(line))
end
function M.right(text, columns)
  local line = host.excerpt(text)
  return (" "):rep(columns - host.width(line)) .. line
end

-- Text broken between words into lines of so many columns, each but the first indented; column is where the first begins.
function M.wrap(text, columns, indent, column)
  local out, first = {}, true
  for word in text:gmatch "[^ \n]+" do
    local width = host.width(word)
    if not first and column + 1 + width > columns then
      out[#out + 1] = "\n" .. (" "):rep(indent)
      column = indent
    elseif not first then
      out[#out + 1] = " "
      column = column + 1
    end
    out[#out + 1] = word
    column = column + width
    first = false
  end
  return table.concat(out)
end

-- The first characters of a text, as many as have room in so many columns.
function M.cut(text, columns)
  local line = host.excerpt(text)
  if host.width(line) <= columns then
    return line
  end
  local used = 0
  for at, code in utf8.codes(line) do
    used = used + host.width(utf8.char(code))
    if used > columns then
      return line:sub(1, at - 1)
    end
  end
  return line
end

-- The members of an object of counts as {name, count}, the most first.
function M.most_first(counts)
  local sorted = {}
  for name, n in pairs(M.list(counts)) do
    sorted[#sorted + 1] = { tostring(name), M.number(n) }
  end
  table.sort(sorted, function(a, b)
    return a[2] > b[2] or (a[2] == b[2] and a[1] < b[1])
  end)
  return sorted
end

-- Prints rows of n cells, the first of them the heading: the first column to the left, the others to the right. In Markdown a first cell that
-- begins with blanks is indented.
function M.columns(rows, n, markdown)
  local widths = {}
  for _, row in ipairs(rows) do
    for c = 1, n do
      row[c] = host.excerpt(row[c] or "")
      widths[c] = math.max(widths[c] or 0, host.width(row[c]))
    end
  end
  for r, row in ipairs(rows) do
    if markdown then
      for c = 1, n do
        local blanks, cell = row[c]:match "^( *)(.*)$"
        local indented = c == 1 and blanks ~= ""
        M.write("| " .. (indented and "&emsp;" .. cell or row[c]) .. " ")
      end
      M.write "|\n"
      if r == 1 then
        M.write("|:---" .. ("|---:"):rep(n - 1) .. "|\n")
      end
    else
      local last = n
      while last > 1 and row[last] == "" do
        last = last - 1
      end
      M.write("  " .. (last == 1 and row[1] or M.left(row[1], widths[1])))
      for c = 2, last do
        M.write("  " .. M.right(row[c], widths[c]))
      end
      M.write "\n"
    end
  end
end

-- The tokens of a report: what the first stage that counts them says.
function M.tokens_of(report)
  for stage in M.each(report.funnel) do
    local tokens = M.number(M.list(stage.measures).tokens)
    if tokens > 0 then
      return tokens
    end
  end
  return 0
end

-- Datasets that were made of one whose rows are removed, or beside it, and what they have of these (remove, verify --absent).
function M.below(list)
  for dataset in M.each(list) do
    local files, rows = M.list(dataset.files), M.number(dataset.rows)
    local told = {}
    if rows > 0 then told[#told + 1] = M.many(rows, "row has one", "rows have one") end
    if M.number(files.bytes) > 0 then told[#told + 1] = M.many(files.bytes, "file may hold one", "files may hold one") end
    if dataset.index ~= nil then
      told[#told + 1] = M.text(dataset.index) .. " index, which keeps hashes of what it was made of until it is written anew"
    elseif M.number(files.none) > 0 then
      told[#told + 1] = M.many(files.none, "file that tells no ids", "files that tell no ids")
    end
    if #told > 0 or dataset.made == true then
      M.say("%s: %s: %s\n", dataset.made == true and "made of it" or "by the same pipeline", M.text(dataset.dataset),
        #told > 0 and table.concat(told, ", ") or "no row has one")
    end
  end
end

return M
