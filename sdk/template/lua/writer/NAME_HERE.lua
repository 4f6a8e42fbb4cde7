-- NAME_HERE - a writer: documents as lines of an id, a tab and a text.
--
--   local NAME_HERE = require "NAME_HERE"
--   docs | NAME_HERE { "out/lines" }
--
-- Every writer also has the options path (the folder above), compression, level and shard_size. The host owns the files.
local s = require "sluice"

return s.writer { "NAME_HERE",
  summary  = "Lines of an id, a tab and a text",
  suffix   = ".tsv",
  needs    = { "id" },
  options  = { max_bytes = { "int", 0, min = 0, max = 1000000000, doc = "Longest text that is written whole, in bytes; longer ones end in an ellipsis; 0 is no limit." } },
  -- The row's bytes; "" writes nothing.
  row      = function(doc, o)
    local text = doc.text or "" -- a null is nil
    if o.max_bytes > 0 and #text > o.max_bytes then
      local last = o.max_bytes
      while last > 0 and text:byte(last + 1) >= 0x80 and text:byte(last + 1) < 0xc0 do last = last - 1 end -- not inside a character
      text = text:sub(1, last) .. "…"
    end
    return (doc.id or ""):gsub("[\t\r\n]", " ") .. "\t" .. text:gsub("[\t\r\n]", " ") .. "\n"
  end,
  examples = {
    { "one\ntwo", id = "lines", writes = "lines\tone two\n" },
  },
}
