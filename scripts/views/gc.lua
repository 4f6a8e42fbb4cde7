-- sluice gc: what was removed, or would be, by kind.

local v = require "lib"
local number, list, say = v.number, v.list, v.say

local KINDS = {
  { "records", "commit records" },
  { "spill", "spilled files" },
  { "data", "dataset files" },
  { "quarantine", "rows in quarantine" },
  { "temporary", "temporary files" },
  { "content", "files of earlier plans" },
  { "attempts", "logs of attempts" },
  { "saved", "saved states" },
}

return function(facts)
  local files, bytes = 0, 0
  for _, kind in ipairs(KINDS) do
    local swept = list(facts[kind[1]])
    files = files + number(swept.files)
    bytes = bytes + number(swept.bytes)
    if number(swept.files) > 0 then
      say("%8d %s, %s\n", number(swept.files), kind[2], v.bytes(number(swept.bytes)))
    end
  end
  say(facts.dry_run == true and "%s would be removed, %s\n" or "%s removed, %s\n", v.many(files, "file"), v.bytes(bytes))
end
