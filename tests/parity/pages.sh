# pages.sh - the pages of report, try, diff and label in a browser: what is drawn and what a key does, at 10 and at 10,000 reasons, with nothing
# asked of any network and no word of the console.
. "$SRC/tests/lib.sh"

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip 'no chromium: apt-get install chromium'
PAGES_TO=$TMP/pages
export PAGES_TO
mkdir -p "$PAGES_TO" work
(cd work && TMP=$TMP/work && export TMP && sh -eu "$SRC/tests/cli/pages.sh") || fail 'the pages were not made'

# browse PAGE OPTION... : at a port that nothing listens to all requests would end; those to it are told on standard error
browse() {
    _page=$1
    shift
    timeout 300 "$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --disable-extensions --disable-background-networking --disable-component-update \
        --no-first-run --user-data-dir="$TMP/profile" --enable-logging=stderr --log-level=0 --virtual-time-budget=3000 --proxy-server=127.0.0.1:9 "$@" "file://$_page" 2>"$TMP/browser.log"
}

for page in report try edit diff label many; do
    browse "$PAGES_TO/$page.html" --dump-dom >"$page.dom" || fail "$page: the browser failed: $(tail -n 3 "$TMP/browser.log")"
    ! grep 'CONSOLE' "$TMP/browser.log" || fail "$page: the console says something"
    "$PYTHON" - "$page.dom" "$PAGES_TO/$page.html" <<'P' || fail "$page: the browser's tree is another one"
import re, sys
dom, page = open(sys.argv[1], encoding="utf-8").read(), open(sys.argv[2], encoding="utf-8").read()
for tag in ("rect", "path", "polyline", "tr", "svg"):
    found, expected = (len(re.findall(rf"<{tag}\b", text)) for text in (dom, page))
    assert found == expected, (tag, found, expected)
assert "alert(1)" not in re.sub(r"&lt;script&gt;alert\(1\)", "", dom)
P
done

# Drawn: at three widths nothing stands outside of its page, and a picture has the colours of what is drawn.
for page in report many; do
    for width in 360 800 1400; do
        browse "$PAGES_TO/$page.html" --window-size="$width,6000" --screenshot="$TMP/$page-$width.png" || fail "$page: no picture"
    done
done
"$PYTHON" - report-1400.png report-360.png many-1400.png many-360.png <<'P' || fail 'the pictures lack what is drawn'
import struct, sys, zlib

def picture(path):
    raw = open(path, "rb").read()
    at, data, head = 8, b"", None
    while at < len(raw):
        size, kind = struct.unpack(">I4s", raw[at:at + 8])
        body = raw[at + 8:at + 8 + size]
        if kind == b"IHDR":
            head = struct.unpack(">IIBBBBB", body)
        if kind == b"IDAT":
            data += body
        at += 12 + size
    width, height, depth, colour = head[:4]
    assert depth == 8 and colour in (2, 6)
    n = 3 if colour == 2 else 4
    data, rows, before = zlib.decompress(data), [], bytearray(width * n)
    for y in range(height):
        line = y * (width * n + 1)
        way, row = data[line], bytearray(data[line + 1:line + 1 + width * n])
        for x in range(width * n):
            left = row[x - n] if x >= n else 0
            up, corner = before[x], before[x - n] if x >= n else 0
            if way == 1: row[x] = (row[x] + left) & 255
            elif way == 2: row[x] = (row[x] + up) & 255
            elif way == 3: row[x] = (row[x] + (left + up) // 2) & 255
            elif way == 4:
                p = left + up - corner
                pa, pb, pc = abs(p - left), abs(p - up), abs(p - corner)
                row[x] = (row[x] + (left if pa <= pb and pa <= pc else up if pb <= pc else corner)) & 255
        rows.append(row)
        before = row
    return width, height, n, rows

def near(pixel, colour):
    return all(abs(a - b) <= 12 for a, b in zip(pixel, colour))

colours = {"bar": (0x4f, 0x81, 0xbd), "kept": (0x0f, 0x8a, 0x5f), "cut": (0xc0, 0x39, 0x2b)}
for path in sys.argv[1:]:
    width, height, n, rows = picture(path)
    counts = dict.fromkeys(colours, 0)
    edge = 0
    for row in rows[::2]:
        for x in range(0, width, 2):
            pixel = row[x * n:x * n + 3]
            for name, colour in colours.items():
                counts[name] += near(pixel, colour)
        # The last columns of the page are its margin: what reaches them runs out of it.
        edge += sum(not near(row[x * n:x * n + 3], (255, 255, 255)) for x in range(width - 3, width))
    print(path, width, height, counts, edge)
    assert counts["kept"] > 50 and counts["bar"] > 50 and (width < 500 or counts["cut"] > 50), (path, counts)
    assert edge == 0, (path, "runs out of the page", edge)
P

# Keys label documents, and undo takes the last answer back.
sed 's|</body>|<script>for (const key of "kdksuk") document.dispatchEvent(new KeyboardEvent("keydown", { key })); document.title = JSON.stringify(Object.values(said)) + document.getElementById("state").textContent;</script></body>|' \
    "$PAGES_TO/label.html" >keys.html
browse "$TMP/keys.html" --dump-dom >keys.dom || fail 'the browser failed'
says_keys=$(sed -n 's|.*<title>\(.*\)</title>.*|\1|p' keys.dom | head -n 1)
is "$says_keys" '["keep","drop","keep"]3 of 50 labelled' 'what keys said'
