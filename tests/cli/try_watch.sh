# sluice try --watch: a save is answered within a second on 10,000 documents, with what changed; a broken script is reported and waited
# for; Ctrl-C ends.
"$PYTHON" - <<'END'
import json, random
random.seed(1)
words = "the quick brown fox and that lazy dog have met to be of use with 2024 77 x9".split()
with open("s.jsonl", "w") as out:
    for n in range(10000):
        text = " ".join(random.choices(words, k=120)) + " 7" * (n % 100)
        out.write(json.dumps({"id": f"d{n}", "text": text}) + "\n")
END
cat >rule.lua <<'END'
local s = require "sluice"
local limit = require "limit"
return s.heuristic { "digits", options = { max = { "float", limit, min = 0, max = 1 } },
  measure = function(doc) return doc.text:share "digit" end, drop = { above = "max" } }
END
echo 'return 0.15' >limit.lua
# waits until the output has so many waiting lines
wait_for() {
    n=0
    while [ "$(grep -c '^-- waiting' out)" -lt "$1" ]; do
        n=$((n + 1))
        [ $n -lt 1200 ] || { echo "no answer $1"; cat out; kill -INT $watcher; exit 1; }
        sleep 0.05
    done
}
: >out
"$SLUICE" try rule.lua s.jsonl --watch --examples 1 >out 2>&1 &
watcher=$!
wait_for 1
sed -i 's/"digit"/"digit" + 0.01/' rule.lua # a new file under the name
wait_for 2
echo 'return 0.16' >limit.lua # a module that it requires, in place
wait_for 3
echo 'return' >>rule.lua
wait_for 4
sed -i '$d' rule.lua
wait_for 5
kill -INT $watcher
wait $watcher
echo "status $?"
sed -e 's/^  [0-9.]* s: .*save to result$/  SPEED, ANSWER/' -e 's/^  [0-9.]* s: .*/  SPEED/' out
# A second is the aim; a loaded machine and sanitizers get more.
limit=1
grep -q -e -fsanitize= "$BUILD/flags" && limit=20
sed -n 's/.*; \([0-9.]*\) s from save to result$/\1/p' out | sort -n >answers
awk -v limit=$limit 'NR == 1 { if ($1 >= limit) print "the fastest answer took " $1 " s"; else print "answered within a second" }' answers
awk 'END { print NR " answers" }' answers
awk '{ printf "%s s from save to result\n", $1 }' answers >&2
