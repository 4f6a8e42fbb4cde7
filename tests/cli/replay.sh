# replay.sh - rows in quarantine are kept with the run, listed with the command that gives one to its stage again, and replayed: isolated,
# as JSON, after a change of the script, in this process, under a debugger (a stand-in), and gone with their records.
. "$SRC/tests/lib.sh"

cp "$BUILD/tests/pipeline/fragile.so" .
cat >docs.jsonl <<'END_OF_DOCS'
{"id":"a","text":"one two three"}
{"id":"b","text":"four ABORT-ME five"}
{"id":"c","text":"six DATA-ME seven"}
{"id":"d","text":"eight BAD-ME"}
{"id":"e","text":"nine"}
END_OF_DOCS
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { word = { "string", "nine" } }
local f = s.plugin "./fragile.so"
local docs = s.files "docs.jsonl" | s.read_jsonl {}
local odd = s.heuristic { "odd", options = { max = { "int", 3 } },
  measure = function(doc) if doc.text:find "nine" then error "no nines" end return #doc.text:words() end, drop = { above = "max" } }
return s.pipeline { "p", max_bad = 10, docs | f.fragile {} | odd {} | s.write_jsonl { "out", compression = "none" } }
L
# show COMMAND...: its output and status, without what differs from place to place (K is made from the plugin's hash, too)
show() {
    echo "\$ sluice $*" | plain
    status=0
    "$SLUICE" "$@" >"$TMP/o" 2>"$TMP/e" || status=$?
    plain "$TMP/o" "$TMP/e"
    [ $status = 0 ] || echo "exit $status"
}
plain() {
    sed "s|$PWD/||g;s|$BUILD|BUILD|g;s|quarantine/[0-9a-f]\{16\}|quarantine/K|g" "$@"
}
row() {
    grep -l "\"reason\":\"$1\"" .sluice/p/quarantine/*
}
expect 0 "$SLUICE" run p.lua --quiet
show why p --quarantine
show why p --quarantine --json -n 1
for reason in crash data_error odd lua_error; do
    show replay "$(row $reason)"
    show replay "$(row $reason)" --json
done
echo '-- after a change'
mkdir bin
printf '#!/bin/sh\necho "gdb $*"\n' >bin/gdb
chmod +x bin/gdb
crash=$(row crash)
lua=$(row lua_error)
data=$(row data_error)
show replay "$data" --in-process
status=0
{ (ulimit -c 0 && exec "$SLUICE" replay "$crash" --in-process); } >/dev/null 2>&1 || status=$?
is $status 134 'a crash in this process'
path=$PATH
PATH=$PWD/bin:$path
show replay "$crash" --gdb
mkdir few
for tool in sed sh; do ln -s "$(command -v $tool)" few/; done
PATH=$PWD/few
show replay "$crash" --gdb
PATH=$path
# The run's script is what counts: after the same pipeline ran without the error, the row passes.
sed 's/error "no nines"/return 9/' p.lua >better.lua
expect 0 "$SLUICE" run better.lua --quiet --run-dir .sluice/p
show replay "$lua"
sed -e 's/| odd {}//' -e '/^local odd/,+1d' p.lua >without.lua
expect 0 "$SLUICE" run without.lua --quiet --run-dir .sluice/p
show replay "$lua"
echo '-- what is no row'
show replay
show replay docs.jsonl
show replay .sluice/p/quarantine/nothing
cp "$crash" copied
show replay copied
head -c 100 "$crash" >cut && mv cut "$crash"
show replay "$crash"
expect 0 "$SLUICE" gc p
says 'rows in quarantine'
is "$(find .sluice/p/quarantine -type f | wc -l)" 3 'rows of the last run'
