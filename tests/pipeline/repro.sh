# repro.sh - a run run again from what it keeps, apart from it: the same bytes where script, model, module and library
# are gone since, compactions and indexes that were carried on among them; what is missing is named before anything runs;
# what differs is named by file.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

mkdir in
pad=$(printf '%9000s' '' | sed 's/ / x/g')
for k in 1 2 3 4 5; do
    for j in 1 2 3 4 5 6 7 8; do echo "{\"id\":\"$k-$j\",\"text\":\"the document $j of file $k has some rude words$pad\"}"; done >in/f$k.jsonl
done
echo polite >bad.txt
echo 'return { limit = 7 }' >limits.lua
cat >p.lua <<'L'
local s = require "sluice"
local limits = require "limits"
local a = s.args { out = { "path" } }
local docs = s.files { "in/*.jsonl", split = "64KiB" } | s.read_jsonl {} | s.c4_badwords { en = "bad.txt" }
  | s.filter { "low", function(doc) if tonumber(doc.id:match "-(%d+)") > limits.limit then return "high" end end }
local kept = docs | s.exact { partitions = 2 }
return s.pipeline { "p", kept | s.named("kept", s.write_jsonl { a.out .. "/kept", compression = "gzip" }),
  kept.dropped | s.named("lost", s.write_jsonl { a.out .. "/lost", compression = "none" }) }
L
sleep 3 # what was written just now is believed by its execution only
run_dir=$(place p.run)
expect 0 "$SLUICE" run p.lua --quiet "out=$(place out)" --run-dir "$run_dir" --workers 2
mkdir away
mv p.lua limits.lua bad.txt away/
land out
tree out >before

# ---- the same ----
expect 0 "$SLUICE" repro "$run_dir" --quiet --workers 1
says 'every byte is the same' 'kept@1' 'lost@1'
land out
tree out >after
cmp -s before after || fail 'a dataset was touched'
land p.run
[ -z "$(find p.run -path '*scratch*' -type f)" ] || fail 'something of it stays'
expect 0 "$SLUICE" repro "$run_dir" --quiet --json --into made
is "$(tail -n 1 stdout | json /dev/stdin equal)" true 'equal'
is "$(tail -n 1 stdout | json /dev/stdin 'writers.*.rows')" "$(printf '35\n5')" 'rows'
[ -d made/datasets/kept/v000001 ] && [ -d made/run/tasks ] || fail 'what was made is not kept'
expect 2 "$SLUICE" repro "$run_dir" --quiet --into made
says 'expected a new or empty folder'

# A compaction has the same rows in other files: what it was made of is compared.
expect 0 "$SLUICE" compact "$(place out)/kept" --least 2
says 'snapshot 2'
expect 0 "$SLUICE" repro "$run_dir" --quiet
says 'kept@1' 'every byte is the same' # which is still there
if [ "$STORE" = disk ]; then
    expect 0 "$SLUICE" retain out/kept --keep 1 --older 0s
    expect 0 "$SLUICE" repro "$run_dir" --quiet
    says 'kept@2' 'every byte is the same'
fi

# ---- what is missing is named, and nothing runs ----
if [ "$STORE" = disk ]; then
    kept=$(find p.run/content -name bad.txt)
    chmod u+w "$kept"
    mv in/f2.jsonl away/
    echo '{"id":"3-9","text":"one more"}' >>in/f3.jsonl
    touch in/f4.jsonl
    echo other >"$kept"
    expect 2 "$SLUICE" repro "$run_dir" --quiet
    says 'in/f2.jsonl: is gone' 'in/f3.jsonl: changed: ' 'in/f4.jsonl: was written again' 'bad.txt: the copy of it in the run is gone or was changed' '4 things'
    rm "$kept"
    expect 2 "$SLUICE" repro "$run_dir" --quiet --json
    is "$(grep '"event":"repro"' stdout | json /dev/stdin 'missing.*.kind' | sort | tr '\n' ' ')" 'file input input input ' 'what is missing'
    is "$(grep '"event":"repro"' stdout | json /dev/stdin equal)" false 'equal'
fi
cp away/* .
echo '{"id":"x","text":"made of other files"}' >in/f9.jsonl
expect 0 "$SLUICE" prepare p.lua "out=$(place out)" --run-dir "$run_dir"
expect 2 "$SLUICE" repro "$run_dir" --quiet
says 'no snapshot of this plan is there' '2 things'
expect 2 "$SLUICE" repro nowhere --quiet
says 'no run in'

# ---- an index that was carried on: its new files alone ----
for day in 1 2; do
    for k in 1 2 3 4 5 6; do echo "{\"id\":\"$day-$k\",\"text\":\"day $day has the text number $k, which is long enough for some shingles\"}"; done >day$day.jsonl
done
cat >day.lua <<'L'
local s = require "sluice"
local a = s.args { day = { "int", 1 }, against = { "string", "" }, index = { "string" } }
local options = { ngram = 3, bands = 20, rows = 5, partitions = 2 }
if a.against ~= "" then options.against = a.against end
local unique = s.files { "day" .. a.day .. ".jsonl" } | s.read_jsonl {} | s.minhash(options)
return s.pipeline { "day", unique | s.write_jsonl { a.index .. "_kept" .. a.day }, unique | s.minhash_index { path = a.index, partitions = 2 } }
L
expect 0 "$SLUICE" run day.lua --quiet "index=$(place idx)" --run-dir "$(place d1)"
expect 0 "$SLUICE" run day.lua --quiet day=2 "index=$(place idx)" "against=$(place idx)@1" --run-dir "$(place d2)"
expect 0 "$SLUICE" repro "$(place d2)" --quiet
says 'idx@2' 'every byte is the same'

# ---- rows that were appended: the new ones alone ----
cat >more.lua <<'L'
local s = require "sluice"
local a = s.args { day = { "int", 1 }, out = { "path" } }
return s.pipeline { "more", s.files { "day" .. a.day .. ".jsonl" } | s.read_jsonl {} | s.named("more", s.write_jsonl { a.out, mode = "append", compression = "none" }) }
L
expect 0 "$SLUICE" run more.lua --quiet "out=$(place more)" --run-dir "$(place m1)"
expect 0 "$SLUICE" run more.lua --quiet day=2 "out=$(place more)" --run-dir "$(place m2)"
expect 0 "$SLUICE" repro "$(place m2)" --quiet
says 'more@2: 1 file, 6 rows' 'every byte is the same'
expect 0 "$SLUICE" repro "$(place m1)" --quiet
says 'more@1: 1 file, 6 rows' 'every byte is the same'

# ---- rows that were removed since can't come back unnoticed ----
if [ "$STORE" = disk ]; then
    echo 2-3 >ids
    expect 0 "$SLUICE" remove more --ids ids
    expect 0 "$SLUICE" repro m2 --quiet
    says 'more@2' 'every byte is the same'
    expect 0 "$SLUICE" retain more --keep 1 --older 0s
    expect 2 "$SLUICE" repro m2 --quiet
    says 'rows were removed from what the run made'
fi

# ---- a stage that breaks its word ----
if [ -e "$BUILD/tests/pipeline/fickle.so" ] && [ "$STORE" = disk ]; then
    cp "$BUILD/tests/pipeline/fickle.so" .
    mkdir lines
    for k in 1 2 3; do printf 'a line of %s\nwith NOW-AND-THEN %s\n' $k $k >lines/$k; done
    echo 'steady' >lines/2
    cat >w.lua <<'L'
local s = require "sluice"
local f = s.plugin "./fickle.so"
return s.pipeline { "w", s.files { "lines/*", split = "64KiB" } | f.fickle_reader {} | s.named("w", s.write_jsonl { "w", compression = "none" }) }
L
    expect 0 "$SLUICE" run w.lua --quiet --trust --run-dir w.run
    rm fickle.so
    expect 0 "$SLUICE" repro w.run --quiet
    says 'every byte is the same'
    expect 1 env FICKLE=1 "$SLUICE" repro w.run --quiet --trust
    says 'not the same' 'part-00000-' 'the account of rows is another one' '--into'
    expect 1 env FICKLE=1 "$SLUICE" repro w.run --quiet --trust --json
    is "$(tail -n 1 stdout | json /dev/stdin 'writers.0.different.0.now.rows')" 3 'rows now'
fi

# ---- answers are the recorded ones, from a server that is gone ----
command -v perl >/dev/null || exit 0
: >log
perl "$SRC/tests/http.pl" "$TMP/log" 1 0 2 0 >port &
server=$!
for _ in $(seq 100); do [ -s port ] && break; sleep 0.1; done
[ -s port ] || exit 0
cat >ask.lua <<'L'
local s = require "sluice"
local a = s.args { port = { "string" }, out = { "path" } }
local host = "127.0.0.1:" .. a.port
return s.pipeline { "ask", s.files { "in/f1.jsonl" } | s.read_jsonl {} | s.ask { "judge", function(doc, o, ask)
    return { n = ask { url = "http://" .. host .. "/score", json = { text = doc.text } }.json.n }
  end, adds = { n = "int64" }, ask = { hosts = { host } } } | s.named("asked", s.write_jsonl { a.out, compression = "none" }) }
L
expect 0 "$SLUICE" run ask.lua --quiet "port=$(cat port)" "out=$(place asked)" --run-dir "$(place a.run)"
kill "$server"
expect 0 "$SLUICE" repro "$(place a.run)" --quiet
says 'every byte is the same'
forget a.run/answers
if [ "$STORE" = disk ]; then
    expect 2 "$SLUICE" repro "$(place a.run)" --quiet
    says "is not among the run's recorded ones"
fi
