-- NAME_HERE - a judge: asks a server about each document and adds what it answers, the column `score`.
--
--   local NAME_HERE = require "NAME_HERE"
--   docs | NAME_HERE { url = "http://localhost:8000/score", ask = { hosts = { "localhost:8000" } } }
local s = require "sluice"

return s.ask { "NAME_HERE",
  summary  = "Adds the score that a server gives a document",
  options  = { url = { "string", "http://localhost:8000/score", doc = "Where to ask: the text is posted to it." } },
  adds     = { score = "float64" },
  -- ask waits for the answer, while other documents go on. Equal requests are one: they are made once, and the answer is kept. So nothing in
  -- it may change from run to run, such as a time. A reason ([a-z0-9_]+) drops the document.
  row      = function(doc, o, ask)
    local answer = ask { url = o.url, headers = { ["Content-Type"] = "text/plain" }, method = "POST", body = doc.text or "" }
    if answer.refused or type(answer.json) ~= "table" or type(answer.json.score) ~= "number" then return nil, "no_score" end
    return { score = answer.json.score }
  end,
  -- What a server would answer: a table is JSON, a text is a body, a number refuses.
  examples = {
    { "a text", answers = { { score = 0.5 } }, gives = { score = 0.5 } },
    { "a text", answers = { 404 }, keep = false, reason = "no_score" },
  },
}
