-- sluice label --html: documents, one after the other, to keep or to drop; answers stay in the browser until they are saved as a file that
-- try --labels reads.
--
-- Facts: {documents: [{id, text, cut}], file, labelled, left}.

local v = require "lib"
local page = require "page"
local number, text, list, each = v.number, v.text, v.list, v.each
local put, escape = page.put, page.text

local SCRIPT = [[
"use strict";
const documents = [...document.querySelectorAll("article")], key = "labels:" + document.title;
let said = {}, order = [], at = 0;
try { ({ said, order } = JSON.parse(localStorage.getItem(key)) || { said: {}, order: [] }); } catch (e) { said = {}; order = []; }
const keep = () => { try { localStorage.setItem(key, JSON.stringify({ said, order })); } catch (e) {} };
const next = from => { for (at = from; at < documents.length && said[documents[at].dataset.id]; at++); };
function show() {
  documents.forEach((d, i) => { d.hidden = i !== at; });
  document.getElementById("state").textContent = Object.keys(said).length + " of " + documents.length + " labelled" + (at >= documents.length ? "; no more" : "");
}
function answer(what) {
  if (what === "undo") {
    const id = order.pop();
    if (id !== undefined) { delete said[id]; at = documents.findIndex(d => d.dataset.id === id); }
  } else if (at < documents.length) {
    if (what !== "skip") { said[documents[at].dataset.id] = what; order.push(documents[at].dataset.id); }
    next(at + 1);
  }
  keep();
  show();
}
function save() {
  const lines = order.map(id => JSON.stringify({ id, label: said[id] }) + "\n").join("");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines], { type: "application/x-ndjson" }));
  link.download = document.body.dataset.file;
  link.click();
}
document.querySelectorAll("button").forEach(b => b.addEventListener("click", () => b.value === "save" ? save() : answer(b.value)));
document.addEventListener("keydown", e => {
  const what = { k: "keep", d: "drop", s: "skip", u: "undo" }[e.key];
  if (what && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); answer(what); }
});
next(0);
show();
]]

return function(facts)
  page.begin("Labels", true)
  put('<body data-file="%s"><h1>Keep or drop?</h1>\n', page.attr(text(facts.file):match "[^/]*$", 200))
  put('<p>Keys: k keep, d drop, s skip, u undo. <b id="state"></b></p>\n<p>')
  for _, button in ipairs { { "keep", "keep" }, { "drop", "drop" }, { "skip", "skip" }, { "undo", "undo" }, { "save", "save the labels" } } do
    put('<button value="%s">%s</button> ', button[1], button[2])
  end
  put "</p>\n"
  for document in each(facts.documents) do
    put('<article data-id="%s" hidden><h3>%s</h3><div class="doc">%s%s</div></article>\n', page.attr(document.id), escape(document.id, 120),
      page.lines(text(document.text), 4000), document.cut == true and '<span class="soft"> … and more</span>' or "")
  end
  if number(facts.left) + number(facts.labelled) > 0 then
    put("<p>%s here; %s labelled before.</p>\n", v.many(number(facts.left), "more document is not", "more documents are not"), v.many(facts.labelled, "document was",
      "documents were"))
  end
  page.script(SCRIPT)
  put "</body>"
  page.finish()
end
