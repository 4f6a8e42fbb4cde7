# A plan that was frozen is all that workers need: not the script, its modules, models, plugins and libraries, which
# may be gone or others by then; they list and hash nothing, and give the bytes of a plain run.
set -eu
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"
mkdir in
for k in 1 2 3 4; do
    for j in 1 2 3 4 5 6 7 8; do echo "{\"id\":\"$k-$j\",\"text\":\"the document $j of file $k has some rude words\"}"; done >in/f$k.jsonl
done
cat >words.lua <<'L'
return { "score" }
L
echo polite >bad.txt
cat >lib.c <<'L'
#include <stddef.h>
double twice(const char *text, size_t n) { (void)text; return 2.0 * (double)n; }
double half(const char *text, size_t n) { (void)text; return 0.5 * (double)n; }
L
cat >p.lua <<'L'
local s = require "sluice"
local words = require "words"
local a = s.args { dir = { "path" }, input = { "glob", required = true } }
local half = require "ffi".def { lib = "./lib.so", "double half(const char *, size_t)" }
local docs = s.files { a.input, split = "64KiB" } | s.read_jsonl {} | s.c4_badwords { en = "bad.txt" }
  | s.native { lib = "./lib.so", "double twice(const char *, size_t)", as = words[1] }
  | s.map { "halve", function(doc) doc.metadata.half = half(doc.text) return doc end }
return s.pipeline { "p", docs | s.exact { partitions = 2 } | s.write_jsonl { a.dir, compression = "none" } }
L
sed -i '/s.map {/d; s/^local half.*$//' p.lua
cat >>words.lua <<'L'
L
cc -shared -fPIC -O1 -o lib.so lib.c 2>/dev/null || skip 'no C compiler'

sleep 3 # what was written just now is believed by its execution only
expect 0 "$SLUICE" run p.lua input=in/*.jsonl "dir=$(place plain)" --run-dir "$(place plain.run)" --quiet
faults 10:11
expect 0 "$SLUICE" prepare p.lua 'input=in/*.jsonl' "dir=$(place out)" --run-dir "$(place frozen.run)" --json
is "$(json stdout files)" 4 'files of the plan'
tasks=$(json stdout tasks)
land out
[ ! -e out ] || fail 'prepare ran something'

# ---- everything around is gone, or another ----
mkdir away
mv p.lua words.lua lib.so away/
echo document >bad.txt
expect 0 "$SLUICE" plan "$(place frozen.run)"
says "$tasks tasks"
expect 0 "$SLUICE" task "$(place frozen.run)" 0..0
expect 0 "$SLUICE" task "$(place frozen.run)" 0
says 'was done'
expect 0 "$SLUICE" work "$(place frozen.run)" --quiet
land plain plain.run out frozen.run
lines plain >a
lines out >b
cmp a b || fail 'work on a frozen plan gives other bytes than a run'
[ -s b ] || fail 'nothing came out'
same_keys() { find "$1/tasks" -name '*.json' -printf '%P\n' | LC_ALL=C sort; }
is "$(same_keys frozen.run)" "$(same_keys plain.run)" 'keys of tasks'
expect 0 "$SLUICE" run "$(place frozen.run)" --quiet
expect 0 "$SLUICE" verify "$(place frozen.run)"
expect 0 "$SLUICE" why "$(place frozen.run)" --id 2-3
expect 0 "$SLUICE" show "$(place frozen.run)"

# ---- another input than planned is an error that names it, and a new file is none of the plan's ----
mv away/* .
echo polite >bad.txt
expect 0 "$SLUICE" prepare p.lua 'input=in/*.jsonl' "dir=$(place other)" --run-dir "$(place changed.run)"
echo '{"id":"5-1","text":"a new document of a new file"}' >in/f5.jsonl
expect 0 "$SLUICE" plan "$(place changed.run)" --files
if grep -q f5.jsonl stdout; then fail 'a worker listed the inputs again'; fi
rm in/f5.jsonl
cp -p in/f2.jsonl kept
echo '{"id":"2-9","text":"one more"}' >>in/f2.jsonl
expect 4 "$SLUICE" work "$(place changed.run)" --quiet
says 'in/f2.jsonl changed since the run was planned'
cp -p kept in/f2.jsonl
expect 0 "$SLUICE" work "$(place changed.run)" --quiet
land other changed.run
lines other >b
cmp a b || fail 'the input is back, and the bytes are others'

# ---- what is damaged or of somebody else is refused with words ----
[ "$STORE" = disk ] || rm -rf cache # another machine, which has no copies yet
place=$(echo changed.run/content/*/bad.txt)
cp -p "$place" kept
echo others >"$place"
lift changed.run
expect 4 "$SLUICE" work "$(place changed.run)" --quiet
says "$place changed since the plan was frozen" 'sluice prepare'
cp -p kept "$place"
lift changed.run
place=$(echo changed.run/content/*/inputs)
cp -p "$place" kept
printf 'x' | dd of="$place" bs=1 seek=40 conv=notrunc 2>/dev/null
lift changed.run
expect 4 "$SLUICE" plan "$(place changed.run)"
says 'changed since the plan was frozen'
rm "$place"
lift changed.run
expect 4 "$SLUICE" plan "$(place changed.run)"
says 'is gone since the plan was frozen'
cp -p kept "$place"
lift changed.run
cp changed.run/plan.json root
sed 's/"sha256": "[0-9a-f]*",\{0,1\}$/&/; s/"version": "[^"]*"/"version": "0.0.1"/' root |
    perl -0pe 's/("program": \{\s*"sha256": ")[0-9a-f]{8}/${1}00000000/' >changed.run/plan.json
lift changed.run
expect 2 "$SLUICE" work "$(place changed.run)"
says 'was made with sluice 0.0.1 (core library 00000000'
grep -v '"format"' root >changed.run/plan.json
lift changed.run
expect 2 "$SLUICE" work "$(place changed.run)"
says 'has format 1, this program reads 2' 'finished tasks stay'
sed 's/"kind": "script"/"kind": "scroll"/' root >changed.run/plan.json
lift changed.run
expect 4 "$SLUICE" work "$(place changed.run)"
says 'is damaged'
head -c 100 root >changed.run/plan.json
lift changed.run
expect 4 "$SLUICE" work "$(place changed.run)"
says 'is damaged'
cp root changed.run/plan.json
lift changed.run
expect 0 "$SLUICE" work "$(place changed.run)" --quiet

# ---- tasks by range: what they need must be done, and no other record is looked for ----
sleep 3
expect 0 "$SLUICE" prepare p.lua 'input=in/*.jsonl' "dir=$(place ranged)" --run-dir "$(place ranged.run)"
last=$((tasks - 1))
expect 2 "$SLUICE" task "$(place ranged.run)" "$last"
says 'which is not done; run that one first'
expect 2 "$SLUICE" task "$(place ranged.run)" "0..$tasks"
says "the run has tasks 0 to $last"
expect 2 "$SLUICE" task "$(place ranged.run)" 1..0
expect 0 "$SLUICE" task "$(place ranged.run)" "0..$last" --workers 2
expect 0 "$SLUICE" task "$(place ranged.run)" "0..$last" --json
says "\"reused\":$tasks"
expect 0 "$SLUICE" work "$(place ranged.run)" --quiet
land ranged
lines ranged >b
cmp a b || fail 'tasks by range give other bytes'

# ---- a large file is linked where that goes, and is there once for two plans ----
cp lib.so big.so
truncate -s 20M big.so
touch -d '1 hour ago' big.so
sed 's/lib.so/big.so/' p.lua >big.lua
expect 0 "$SLUICE" prepare big.lua 'input=in/*.jsonl' "dir=$(place big)" --run-dir "$(place big.run)"
land big.run
kept=$(echo big.run/content/*/big.so)
if [ "$STORE" = disk ] && [ "$(stat -c %d:%i big.so)" != "$(stat -c %d:%i "$kept")" ]; then
    if ln big.so linked 2>/dev/null; then fail 'a large file was copied, not linked'; fi
fi
expect 0 "$SLUICE" prepare big.lua 'input=in/*.jsonl' "dir=$(place big2)" --run-dir "$(place big.run)"
land big.run
is "$(find big.run/content -name big.so | wc -l)" 1 'copies of the large file'
# Who writes into the original is told.
printf 'x' | dd of=big.so bs=1 seek=20000000 conv=notrunc 2>/dev/null
if [ "$(stat -c %d:%i big.so)" = "$(stat -c %d:%i "$kept")" ]; then
    expect 4 "$SLUICE" work "$(place big.run)" --quiet
    says "$kept changed since the plan was frozen"
fi

# ---- gc removes what no plan names, and nothing else ----
expect 0 "$SLUICE" prepare p.lua 'input=in/*.jsonl' "dir=$(place ranged)" --run-dir "$(place big.run)"
expect 0 "$SLUICE" gc "$(place big.run)"
expect 0 "$SLUICE" plan "$(place big.run)"
land big.run
is "$(find big.run/content -name big.lua | wc -l)" 0 'scripts of an earlier plan'
