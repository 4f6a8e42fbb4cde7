-- sluice report: what a run did, as text or Markdown.
--
-- style: markdown; all (every reason and measure, and the phases); price (of a core-hour in dollars, 0 = no word about cost).

local bound = require "bound"
local v = require "lib"
local number, real, text, list, each, say, share = v.number, v.real, v.text, v.list, v.each, v.say, v.share

local REASONS = 5 -- shown of a stage unless all are asked for
local NAME = 40 -- columns of a name in the table

-- ---- the first lines ----

local function print_head(report, markdown)
  local input, seconds, work = list(report.input), real(report.seconds), real(report.work_seconds)
  local possible = report.possible_seconds ~= nil and real(report.possible_seconds) or seconds * number(report.workers)
  local tasks, reused, others = 0, 0, 0
  for phase in each(report.phases) do
    tasks = tasks + number(phase.tasks)
    reused = reused + number(phase.reused)
    others = others + number(phase.others)
  end
  say(markdown and "# %s: %s\n\n" or "%s: %s", text(report.name), text(report.state))
  say(markdown and "- %s, %s" or ", %s, %s", v.time(seconds), v.many(report.workers, "worker"))
  if number(report.processes) > 1 then
    say(" in one of %s", v.many(report.processes, "process", "processes"))
    if number(report.hosts) > 1 then say(" on %s", v.many(report.hosts, "host")) end
  end
  if work > 0 and possible > 0 then
    say(", busy %.0f %% of the time", 100 * math.min(work, possible) / possible)
  end
  say(markdown and "\n- " or "\n  ")
  say("%s in %s", v.bytes(real(input.bytes)), v.many(input.files, "file"))
  if number(input.read_bytes) > 0 then
    say(", %s of them read", v.bytes(real(input.read_bytes)))
  end
  if number(input.decoded_bytes) > 0 then
    say(", %s unpacked", v.bytes(real(input.decoded_bytes)))
    if reused + others == 0 and seconds > 0 then
      say(": %s/s", v.bytes(real(input.decoded_bytes) / seconds))
    end
  end
  say("; %d of %d tasks reused", reused, tasks)
  say(others > 0 and ", %d done by other processes\n" or "\n", others)
  if report.error ~= nil then
    v.write((markdown and "- " or "  ") .. text(report.error) .. "\n")
  end
  say "\n"
end

-- ---- the funnel ----

-- Waits too short to speak of are left out.
local function wait_share(waited, time)
  return waited < 0.0005 * time and "" or share(waited, time)
end

local function add_row(rows, name, ...)
  rows[#rows + 1] = { v.cut(name, NAME), ... }
end

local function add_reasons(rows, dropped, rows_in, all)
  local reasons, rest = v.most_first(dropped), 0
  for k, reason in ipairs(reasons) do
    if not all and #reasons > REASONS + 1 and k > REASONS then
      rest = rest + reason[2]
    else
      add_row(rows, "    " .. reason[1], "", "", v.count(reason[2]), share(reason[2], rows_in))
    end
  end
  if rest > 0 then
    add_row(rows, string.format("    %d other reasons", #reasons - REASONS), "", "", v.count(rest), share(rest, rows_in))
  end
end

local function speed_of(stage)
  local seconds, bytes, tokens = real(stage.seconds), real(stage.text_bytes), real(list(stage.measures).tokens)
  if seconds > 0.005 and bytes > 0 then
    return string.format("%.0f MB/s", bytes / seconds / 1e6)
  elseif seconds > 0.005 and tokens > 0 then
    return string.format("%.0f Mtok/s", tokens / seconds / 1e6)
  end
  return ""
end

local function add_stage(rows, stage, time, all)
  local rows_in, dropped, seconds = number(stage["in"]), 0, real(stage.seconds)
  -- A provider's name says from what and how; that is for --all.
  local shared = stage.role == "provider" and not all
  for _, n in pairs(list(stage.dropped)) do
    dropped = dropped + number(n)
  end
  add_row(rows, shared and v.cut(text(stage.kind), NAME) .. " (shared)" or text(stage.name), v.count(rows_in), v.count(stage.out),
    dropped > 0 and v.count(dropped) or "", dropped > 0 and share(dropped, rows_in) or "", speed_of(stage),
    seconds > 0 and share(seconds, time) or "", wait_share(real(stage.wait_seconds), time))
  add_reasons(rows, stage.dropped, rows_in, all)
  if number(stage.quarantined) > 0 then
    add_row(rows, "    quarantined", "", "", v.count(stage.quarantined), share(number(stage.quarantined), rows_in))
  end
end

local function print_bound(report, slowest, time)
  local idle = real(report.idle_seconds)
  say("Speed is of one core at work. Bound by %s: %s of the time", slowest.name, share(slowest.work + slowest.wait, time))
  if slowest.wait > 0.1 * (slowest.work + slowest.wait) then
    say(", %s of that waiting", share(slowest.wait, slowest.work + slowest.wait))
  end
  say "."
  if idle > 0.05 and idle > 0.05 * (idle + time) then
    say(" Workers had no task for %s.", v.time(idle))
  end
  say "\n"
end

local function print_funnel(report, style)
  local rows = { { "stage", "in", "out", "dropped", "", "speed", "work", "wait" } }
  local time = real(report.work_seconds) + real(report.wait_seconds)
  local parts = bound.parts(report)
  local slowest = bound.slowest(parts)
  for _, part in ipairs(parts) do
    if part.stage then
      add_stage(rows, part.stage, time, style.all)
    elseif time > 0 then
      add_row(rows, part.name, "", "", "", "", "", share(part.work, time), wait_share(part.wait, time))
    end
  end
  v.columns(rows, 8, style.markdown)
  if time == 0 or slowest then
    say(style.markdown and "\n" or "\n  ")
  end
  if time == 0 then
    say "Nothing ran: every task was done before.\n"
  elseif slowest then
    print_bound(report, slowest, time)
  end
end

-- ---- the rest ----

local function print_phases(report, begin)
  say "\n"
  for phase in each(report.phases) do
    local work = real(phase.reading_seconds) + real(phase.commit_seconds)
    local wait = real(phase.reading_wait_seconds) + real(phase.commit_wait_seconds)
    for stage in each(phase.stages) do
      work = work + real(stage.seconds)
      wait = wait + real(stage.wait_seconds)
    end
    say("%sphase %s: %d tasks, %d reused, %s of work, %s of waiting", begin, text(phase.name), number(phase.tasks), number(phase.reused),
      v.time(work), v.time(wait))
    if number(phase.failed) + number(phase.lost) > 0 then
      say(", %d attempts: %d failed, %d were lost", number(phase.attempts), number(phase.failed), number(phase.lost))
    end
    if number(phase.resumed) > 0 then
      say(", %d went on from a saved state", number(phase.resumed))
    end
    if number(phase.twins) > 0 then
      say(", %d late and done twice", number(phase.twins))
    end
    say "\n"
  end
end

-- "6,160 documents, 30,926 padding (0.4 %)"
local function print_counts(measures)
  for k, name in ipairs(v.names(measures)) do
    local n = number(measures[name])
    local words = name:gsub("_", " ")
    if n == 1 then
      words = words:gsub("s$", "")
    end
    say("%s %s %s", k > 1 and "," or "", v.grouped(n), words)
    if name == "padding" then
      say(" (%s)", share(n, n + number(measures.tokens)))
    end
  end
end

-- What writers count is what the stages before them counted; that is for --all.
local counted_before = { documents = true, sequences = true, tokens = true, padding = true }

local function print_measures(report, begin, all)
  for stage in each(report.funnel) do
    local measures = {}
    for name, n in pairs(list(stage.measures)) do
      if all or stage.role ~= "writer" or not counted_before[name] then measures[name] = n end
    end
    if next(measures) ~= nil then
      say("%s%s:", begin, text(stage.name))
      print_counts(measures)
      say "\n"
    end
  end
end

-- What readers did not look at, by which means: "read_units: 900 units, 90,000 rows, 40 MB skipped by min_max".
local function print_skipped(report, begin)
  for stage in each(report.funnel) do
    for _, how in ipairs(v.names(stage.skipped)) do
      local skipped, parts = list(stage.skipped)[how], {}
      if number(list(skipped).units) > 0 then
        parts[#parts + 1] = v.grouped(skipped.units) .. (number(skipped.units) == 1 and " unit" or " units")
      end
      if number(list(skipped).rows) > 0 then
        parts[#parts + 1] = v.grouped(skipped.rows) .. (number(skipped.rows) == 1 and " row" or " rows")
      end
      if number(list(skipped).bytes) > 0 then
        parts[#parts + 1] = v.bytes(real(skipped.bytes))
      end
      say("%s%s: %s skipped by %s\n", begin, text(stage.name), table.concat(parts, ", "), how)
    end
  end
end

local function print_document(fate, document, markdown)
  local name = text(document.id) ~= "" and document.id or text(document.file)
  local words = v.excerpt(text(document.text), 72)
  if markdown then
    say("  - %s `%s`: %s\n", fate, name, words)
  else
    say("    %s %s\n             %s\n", v.left(fate, 8), name, words)
  end
end

local function print_example(report, style, begin)
  local pair = report.duplicate_example
  if type(pair) == "table" then
    say("%s%s: an example, similarity %.2f\n", begin, text(pair.stage), real(pair.similarity))
    print_document("dropped", list(pair.dropped), style.markdown)
    print_document("kept", list(pair.kept), style.markdown)
  end
end

local function print_cost(report, price, begin)
  local seconds, tokens = real(report.seconds) * number(report.workers), v.tokens_of(report)
  local dollars = seconds / 3600 * price
  say("%scost: %.1f core-seconds (%s for %.1f s) at $%g a core-hour: $%.6f", begin, seconds, v.many(report.workers, "worker"),
    real(report.seconds), price, dollars)
  if tokens > 0 then
    say(", $%.8f per million tokens", dollars / tokens * 1e6)
  end
  say "\n"
end

-- How even the partitions are; those above four times the median by name.
local function print_partitions(partitions, begin)
  local median, hot = number(partitions.median), {}
  for part in each(partitions.largest) do
    if number(part.bytes) > 4 * median then hot[#hot + 1] = text(part.folder) .. " " .. v.bytes(real(part.bytes)) end
  end
  say("%s  %s, median %s, largest %s%s%s\n", begin, v.many(partitions.n, "partition"), v.bytes(real(partitions.median)),
    v.bytes(real(partitions.most)), median > 0 and string.format(" (%.1f times the median)", number(partitions.most) / median) or "",
    #hot > 0 and "; hot: " .. table.concat(hot, ", ") or "")
end

local function print_dataset(dataset, begin)
  local mended = number(dataset.mended) > 0 and string.format(", %s mended", v.many(dataset.mended, "file")) or ""
  say("%s%s: %s@%d (%s%s), %s in %s, %s\n", begin, text(dataset.writer), text(dataset.path), number(dataset.snapshot),
    dataset.new ~= true and "unchanged" or dataset.appended == true and "appended" or "new", mended, v.many(dataset.rows, "row"), v.many(dataset.shards, "file"),
    v.bytes(real(dataset.bytes)))
  if dataset.partitions ~= nil then print_partitions(dataset.partitions, begin) end
end

local function print_resumed(report, begin)
  local resumed = 0
  for phase in each(report.phases) do
    resumed = resumed + number(phase.resumed)
  end
  if resumed > 0 then
    say("%s%s went on from a saved state\n", begin, v.many(resumed, "attempt"))
  end
end

return function(report, style)
  local begin = style.markdown and "- " or "  "
  print_head(report, style.markdown)
  print_funnel(report, style)
  if style.all then
    print_phases(report, begin)
  end
  say "\n"
  print_measures(report, begin, style.all)
  print_skipped(report, begin)
  print_resumed(report, begin)
  v.asks(report.funnel, begin)
  print_example(report, style, begin)
  if real(style.price) > 0 then
    print_cost(report, style.price, begin)
  end
  v.quarantined(report, begin)
  v.failures(report, begin)
  for dataset in each(report.datasets) do
    print_dataset(dataset, begin)
  end
end
