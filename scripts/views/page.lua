-- What pages are made of: one HTML file that loads nothing, legible in light and dark, on paper and on a phone. Texts come from outside: every
-- one goes through text() or attr().

local v = require "lib"

local M = {}

local STYLE = [[
:root{color-scheme:light dark;--back:#fff;--card:#f5f7fa;--ink:#1d2530;--soft:#5b6675;--line:#d5dae1;--bar:#4f81bd;--kept:#0f8a5f;--cut:#c0392b}
@media(prefers-color-scheme:dark){:root{--back:#14181e;--card:#1c222b;--ink:#e4e8ee;--soft:#9aa5b4;--line:#343c47;--bar:#6b9bd6;--kept:#4fd1a0;--cut:#ff7b6b}}
*{box-sizing:border-box}body{margin:2rem auto;max-width:70rem;padding:0 1rem;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2.2rem 0 .6rem}h3{font-size:1rem;margin:1.4rem 0 .4rem;overflow-wrap:anywhere}
p,figcaption,.soft{color:var(--soft)}p{margin:.3rem 0}figure{margin:0}figure svg{width:100%;max-width:44rem;height:auto}svg text{fill:var(--soft);font:12px system-ui,sans-serif}
.verdict{font-size:1.05rem;color:var(--ink)}.bad{color:var(--cut)}.good{color:var(--kept)}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(11rem,1fr));gap:.7rem;margin:1.2rem 0}
.card{background:var(--card);border-radius:.5rem;padding:.6rem .8rem;overflow-wrap:anywhere}.card b{display:block;font-size:1.25rem}
.wide{overflow-x:auto;max-width:100%}.tall{max-height:32rem;overflow:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}th,td{padding:.22rem .7rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--soft);font-weight:600;position:sticky;top:0;background:var(--back)}th:first-child,td:first-child{text-align:left;max-width:26rem;overflow:hidden;text-overflow:ellipsis}
.meter{display:inline-block;width:7rem;height:.6rem;background:var(--line);border-radius:.3rem;overflow:hidden;vertical-align:middle}
.meter i{display:block;height:100%;background:var(--bar)}.meter i.kept{background:var(--kept)}.meter i.cut{background:var(--cut)}
.sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:1rem}
.doc{background:var(--card);border-radius:.5rem;padding:.5rem .8rem;margin:.4rem 0;overflow-wrap:anywhere;white-space:pre-wrap}
.doc .soft{white-space:normal;font-size:.9em}details{margin:.4rem 0}summary{cursor:pointer;color:var(--soft)}
ins{background:color-mix(in srgb,var(--kept) 25%,transparent);text-decoration:none}del{background:color-mix(in srgb,var(--cut) 25%,transparent)}
code{font:13px/1.4 ui-monospace,monospace;overflow-wrap:anywhere}]]

-- Texts as they stand between tags: characters of control as escapes, at most so many columns of a line (nil: all).
function M.text(text, columns)
  local shown = v.excerpt(v.text(text), columns or 0):gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" })
  return shown
end

-- The same, between quotes.
function M.attr(text, columns)
  local shown = M.text(text, columns):gsub('"', "&quot;")
  return shown
end

-- Lines of a text, each as text() gives it: what is left of it after so many characters is cut.
function M.lines(text, most)
  local out, used = {}, 0
  for line in (v.text(text) .. "\n"):gmatch "(.-)\n" do
    used = used + #line + 1
    out[#out + 1] = M.text(line, math.max(1, most - (used - #line - 1)))
    if used >= most then break end
  end
  return (table.concat(out, "\n"):gsub("%s+$", ""))
end

-- Begins the page. Nothing is loaded from anywhere, and no script runs but those that script() puts (script: there will be some).
function M.begin(title, script)
  v.write('<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
    .. '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\''
    .. (script and "; script-src 'unsafe-inline'" or "") .. '; img-src data:">'
    .. "<title>" .. M.text(title, 80) .. "</title>\n<style>" .. STYLE .. "</style>\n")
end

function M.finish()
  v.write "</html>\n"
end

function M.script(text)
  v.write("<script>\n" .. text .. "</script>\n")
end

-- put(format, ...): as string.format; what is given must be markup already, or numbers.
function M.put(format, ...)
  v.write(format:format(...))
end

function M.heading(text)
  v.write("<h2>" .. M.text(text) .. "</h2>\n")
end

-- Cards of {name, value}: the numbers that matter.
function M.cards(list)
  v.write '<div class="cards">'
  for _, card in ipairs(list) do
    v.write('<div class="card"><span class="soft">' .. M.text(card[1]) .. "</span><b>" .. M.text(card[2], 60) .. "</b></div>")
  end
  v.write "</div>\n"
end

-- A bar that is filled to a share of 0 to 1.
function M.meter(share, class)
  return ('<span class="meter"><i%s style="width:%.1f%%"></i></span>'):format(class and (' class="' .. class .. '"') or "",
    100 * math.max(0, math.min(1, share)))
end

-- A table: heads, and rows of cells that are markup. tall: scrolls in itself.
function M.table(heads, rows, tall)
  v.write('<div class="wide' .. (tall and " tall" or "") .. '"><table><tr>')
  for _, head in ipairs(heads) do
    v.write("<th>" .. M.text(head) .. "</th>")
  end
  v.write "</tr>\n"
  for _, row in ipairs(rows) do
    v.write("<tr><td>" .. table.concat(row, "</td><td>") .. "</td></tr>\n")
  end
  v.write "</table></div>\n"
end

-- ---- drawings ----

local WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 200, 50, 12, 16, 36
local MARKS = 5 -- numbers below

-- A number on an axis: few digits.
function M.brief(n)
  local size = math.abs(n)
  if size >= 1e5 or (size > 0 and size < 1e-3) then
    return (("%.2g"):format(n):gsub("e%+?(%-?)0*", "e%1"))
  end
  return ("%.4g"):format(n)
end

-- The next number that four steps of a scale divide well.
local function round_up(most)
  if most <= 4 then return 4 end
  local power = 10.0 ^ math.floor(math.log(most, 10))
  for _, step in ipairs { 1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10 } do
    if step * power >= most then return step * power end
  end
  return most
end

-- Axes from low to high (log: of a logarithm) and from 0 to top; plots are drawn with x and y.
local function axes_of(low, high, log, top)
  local axes = { top = top }
  local function scaled(value)
    return log and math.log(math.max(value, low)) or value
  end
  local from, to = scaled(low), scaled(high)
  function axes.x(value)
    local part = to > from and (scaled(value) - from) / (to - from) or 0.5
    return LEFT + math.max(0, math.min(1, part)) * (WIDTH - LEFT - RIGHT)
  end
  function axes.y(value)
    return HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM)
  end
  function axes.at(part)
    return log and math.exp(from + part * (to - from)) or low + part * (high - low)
  end
  return axes
end

local function begin_plot(name, axes, unit)
  M.put('<figure><svg viewBox="0 0 %d %d" role="img" aria-label="%s" xmlns="http://www.w3.org/2000/svg">\n', WIDTH, HEIGHT, M.attr(name, 200))
  for k = 0, 4 do
    local value = axes.top * k / 4
    M.put('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="var(--line)"/><text x="%d" y="%.1f" text-anchor="end">%s%s</text>\n', LEFT, WIDTH - RIGHT,
      axes.y(value), axes.y(value), LEFT - 6, axes.y(value) + 4, M.brief(value), unit)
  end
  for k = 0, MARKS do
    local value = axes.at(k / MARKS)
    M.put('<text x="%.1f" y="%d" text-anchor="%s">%s</text>\n', axes.x(value), HEIGHT - BOTTOM + 18, k == 0 and "start" or k == MARKS and "end" or "middle",
      M.brief(value))
  end
end

local function put_limit(axes, limit, name, low)
  local x = axes.x(limit)
  local right = x > WIDTH * 0.8
  M.put('<line class="limit" x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="var(--cut)" stroke-width="2" stroke-dasharray="5 3"/>'
    .. '<text x="%.1f" y="%d" text-anchor="%s" style="fill:var(--cut)">%s %s</text>\n', x, x, TOP, HEIGHT - BOTTOM, right and x - 6 or x + 6,
    low and HEIGHT - BOTTOM - 10 or TOP + 10, right and "end" or "start", M.text(name, 40), M.brief(limit))
end

-- A histogram of bins (counts) in equal steps from low to high (log: of logarithms), with a limit (nil: none). over: counts that stand on top
-- of those, in the colour of what is dropped.
function M.histogram(of)
  local most, n, over = 1, #of.bins, of.over or {}
  for k, count in ipairs(of.bins) do
    most = math.max(most, v.number(count) + v.number(over[k]))
  end
  local axes = axes_of(of.low, of.high, of.log, round_up(most))
  local wide = (WIDTH - LEFT - RIGHT) / math.max(n, 1)
  local function bar(k, below, count, class, what)
    if count > 0 then
      local from, to, y = axes.at((k - 1) / n), axes.at(k / n), axes.y(below + count)
      M.put('<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="var(--%s)"><title>%s to %s%s: %s %s</title></rect>\n', class,
        LEFT + (k - 1) * wide + 0.5, y, wide - 1, axes.y(below) - y, class, M.brief(from), M.brief(to), of.open and k == n and " and above" or "",
        v.grouped(count), what)
    end
  end
  begin_plot(of.name, axes, "")
  for k = 1, n do
    bar(k, 0, v.number(of.bins[k]), of.over and "kept" or "bar", of.over and "kept" or "documents")
    bar(k, v.number(of.bins[k]), v.number(over[k]), "cut", "dropped")
  end
  if of.limit then
    put_limit(axes, of.limit, of.limit_name or "limit")
  end
  M.put("</svg><figcaption>%s</figcaption></figure>\n", M.text(of.caption))
end

-- Curves over a range: of.curves of {name, colour, points = {{x, y}}}, y in percent.
function M.curves(of)
  local axes = axes_of(of.low, of.high, false, 100)
  begin_plot(of.name, axes, " %")
  for _, curve in ipairs(of.curves) do
    local points = {}
    for _, point in ipairs(curve.points) do
      points[#points + 1] = ("%.1f,%.1f"):format(axes.x(point[1]), axes.y(math.max(0, math.min(100, point[2]))))
    end
    M.put('<polyline fill="none" stroke-width="2" stroke="var(--%s)" points="%s"/>\n', curve.colour, table.concat(points, " "))
  end
  if of.limit and of.limit >= of.low and of.limit <= of.high then
    put_limit(axes, of.limit, of.limit_name, true)
  end
  local names = {}
  for _, curve in ipairs(of.curves) do
    names[#names + 1] = ('<span style="color:var(--%s)">&#9644;</span> %s'):format(curve.colour, M.text(curve.name))
  end
  M.put("</svg><figcaption>%s%s</figcaption></figure>\n", table.concat(names, ", "), M.text(of.caption))
end

-- ---- a graph ----

-- How far every box is from a begin, and the boxes of each such layer, those beside each other that come from the same.
local function layers_of(boxes, edges)
  local into, depth, layers = {}, {}, {}
  for _, edge in ipairs(edges) do
    into[edge.to] = into[edge.to] or {}
    table.insert(into[edge.to], edge.from)
  end
  local function depth_of(name, above)
    if depth[name] == nil then
      depth[name] = 0 -- where facts go round in a circle
      local deepest = 0
      for _, from in ipairs(above < 1000 and into[name] or {}) do
        deepest = math.max(deepest, depth_of(from, above + 1) + 1)
      end
      depth[name] = deepest
    end
    return depth[name]
  end
  for _, box in ipairs(boxes) do
    local at = depth_of(box.name, 0) + 1
    while #layers < at do
      layers[#layers + 1] = {}
    end
    table.insert(layers[at], box)
  end
  local place = {}
  for _, layer in ipairs(layers) do
    for k, box in ipairs(layer) do
      local sum, n = 0, 0
      for _, from in ipairs(into[box.name] or {}) do
        if place[from] then sum, n = sum + place[from], n + 1 end
      end
      box.want = n > 0 and sum / n or k
      box.order = k
    end
    table.sort(layer, function(a, b)
      return a.want < b.want or (a.want == b.want and a.order < b.order)
    end)
    for k, box in ipairs(layer) do
      place[box.name] = k - (#layer + 1) / 2
    end
  end
  return layers
end

local BOX, TALL, GAP, BETWEEN = 210, 46, 24, 46

-- Boxes of {name, first, second, share (0 to 1 or nil), class} with edges of {from, to, label, share, dropped} between them, from above to below.
function M.graph(name, boxes, edges)
  local layers, at, widest = layers_of(boxes, edges), {}, 1
  for _, layer in ipairs(layers) do
    widest = math.max(widest, #layer)
  end
  local width = widest * (BOX + GAP) + GAP
  local height = #layers * (TALL + BETWEEN)
  for l, layer in ipairs(layers) do
    local begin = (width - #layer * (BOX + GAP) + GAP) / 2
    for k, box in ipairs(layer) do
      at[box.name] = { x = begin + (k - 1) * (BOX + GAP), y = (l - 1) * (TALL + BETWEEN) + 4 }
    end
  end
  M.put('<div class="wide"><svg class="graph" width="%d" height="%d" viewBox="0 0 %d %d" style="max-width:none" role="img" aria-label="%s" xmlns="http://www.w3.org/2000/svg">\n',
    width, height, width, height, M.attr(name, 200))
  for _, edge in ipairs(edges) do
    local from, to = at[edge.from], at[edge.to]
    if from and to then
      local x1, y1, x2, y2 = from.x + BOX / 2, from.y + TALL, to.x + BOX / 2, to.y
      local middle = (y1 + y2) / 2
      M.put('<path class="edge" d="M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f" fill="none" stroke="var(--%s)" stroke-opacity=".6" stroke-width="%.1f"%s/>\n', x1, y1, x1, middle,
        x2, middle, x2, y2, edge.dropped and "cut" or "bar", 1 + 13 * math.max(0, math.min(1, edge.share or 0)), edge.dropped and ' stroke-dasharray="6 4"' or "")
      M.put('<text x="%.1f" y="%.1f">%s</text>\n', (x1 + x2) / 2 + 8, middle + 4, M.text(edge.label, 40))
    end
  end
  for _, box in ipairs(boxes) do
    local place = at[box.name]
    M.put('<g class="box"><title>%s</title><rect x="%.1f" y="%.1f" width="%d" height="%d" rx="6" fill="var(--card)" stroke="var(--line)"/>', M.text(box.name, 200), place.x,
      place.y, BOX, TALL)
    if box.share then
      M.put('<rect x="%.1f" y="%.1f" width="%.1f" height="4" rx="2" fill="var(--kept)"/>', place.x + 4, place.y + TALL - 7, (BOX - 8) * math.max(0, math.min(1, box.share)))
    end
    M.put('<text x="%.1f" y="%.1f" style="fill:var(--ink);font-weight:600">%s</text><text x="%.1f" y="%.1f">%s</text></g>\n', place.x + 10, place.y + 17, M.text(box.first, 27),
      place.x + 10, place.y + 33, M.text(box.second, 32))
  end
  M.put "</svg></div>\n"
end

return M
