# mapped.sh - files that stages map (host->map), in the process and in child processes: two stages with one file, empty files, files that are
# missing, folders; a file that changes before and after the plan was frozen; one that is larger than the memory that is granted.
. "$SRC/tests/lib.sh"

cp "$BUILD/tests/pipeline/mapped.so" .
cat >p.lua <<'L'
local s = require "sluice"
local m = s.plugin "./mapped.so"
local a = s.args { one = { "path", "list.txt" }, two = { "path", "list.txt" }, out = { "path", "out" }, isolate = { "bool", false } }
return s.pipeline { "p", s.files "in.jsonl" | s.read_jsonl {} | m.mapped { list = a.one, isolate = a.isolate or nil } |
  m.mapped { list = a.two, isolate = a.isolate or nil } | s.write_jsonl { a.out, compression = "none" } }
L
for id in 1 2 3 4; do echo "{\"id\":\"$id\",\"text\":\"a\"}"; done >in.jsonl
printf '1\n2\n' >list.txt
printf '2\n3\n' >other.txt
: >empty.txt
mkdir folder.txt
# kept NAME IDS ARGUMENT...: a run, and the ids that it keeps
kept() {
    name=$1
    ids=$2
    shift 2
    expect 0 "$SLUICE" run p.lua --trust --quiet --run-dir "$name" "out=$name.out" "$@"
    is "$(lines "$name.out" | sed 's/.*"id":"\([0-9]\)".*/\1/' | tr '\n' ' ')" "$ids" "what $name keeps"
}

for isolate in false true; do
    kept "one.$isolate" '1 2 ' isolate=$isolate
    kept "two.$isolate" '2 ' two=other.txt isolate=$isolate
    kept "empty.$isolate" '' one=empty.txt isolate=$isolate
    kept "empties.$isolate" '' one=empty.txt two=empty.txt isolate=$isolate
    for wrong in none folder; do
        expect 2 "$SLUICE" run p.lua --trust --quiet --run-dir wrong one=$wrong.txt isolate=$isolate
        says "$wrong.txt"
    done
done

# ---- another content is another plan; what was frozen stays what it was ----
expect 0 "$SLUICE" prepare p.lua --trust --run-dir frozen out=frozen.out
printf '1\n4\n' >list.txt
expect 0 "$SLUICE" work frozen --trust --quiet
lines frozen.out | grep -q '"id":"2"' || fail 'what was frozen is not what is mapped'
kept one.false '1 4 '
found=$(echo frozen/content/*/list.txt)
printf '1\n3\n' >"$found"
expect 4 "$SLUICE" run frozen --trust --quiet
says "$found changed since the plan was frozen"

# ---- what is mapped is no memory that is granted: its pages are the system's to take back ----
truncate -s 300M list.txt
kept large '1 4 ' --memory 128MiB --workers 1
