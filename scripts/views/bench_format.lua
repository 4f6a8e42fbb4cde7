-- sluice bench-format: a table of formats.

local v = require "lib"
local number, say = v.number, v.say

return function(facts)
  local bytes, rows = number(facts.bytes), number(facts.rows)
  local function rate(seconds)
    seconds = type(seconds) == "number" and seconds or 0
    return seconds > 0 and v.bytes(bytes / seconds) .. "/s" or "-"
  end
  say("%d rows of %s, %s stored; %s as JSON Lines\n\n", rows, v.many(facts.files, "file"), v.bytes(number(facts.stored)), v.bytes(bytes))
  say("  %-10s %10s %8s %12s %12s %12s\n", "format", "stored", "share", "write", "read", "one column")
  for format in v.each(facts.formats) do
    say("  %-10s %10s %6.1f %% %12s %12s %12s\n", v.text(format.format), v.bytes(number(format.bytes)), 100 * number(format.bytes) / math.max(bytes, 1),
      rate(format.write_seconds), rate(format.read_seconds), rate(format.column_seconds))
  end
  say("\n  Of one core, by processor time, in bytes of JSON Lines; the column is '%s'. zstd alone unpacks the JSON Lines at %s.\n", v.text(facts.column),
    rate(facts.unpack_seconds))
end
