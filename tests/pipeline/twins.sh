# twins.sh - tasks with one key are done once, however many tasks a phase has: of 300 inputs, three each of which hold the same rows, the
# phase behind deduplication works on each kind of task once.
. "$SRC/tests/lib.sh"

mkdir in
perl -e 'for my $file (0 .. 299) { my $kind = $file % 100;
    open my $out, ">", sprintf "in/%03d.jsonl", $file or die $!;
    print $out "{\"id\":\"$kind/$_\",\"text\":\"", "words $kind $_ " x 20, "\"}\n" for 1 .. 400 }' || fail 'no input'
cat >twins.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path" } }
return s.pipeline { "twins", spill = "rows", s.files { "in/*.jsonl", split = "64KiB" } | s.read_jsonl { text = "text", id = "id" }
    | s.exact { partitions = 4 } | s.write_jsonl { a.out } }
L
faults 7:11
SLUICE_TEST_OPLOG=$TMP/log
export SLUICE_TEST_OPLOG
expect 0 "$SLUICE" run twins.lua --quiet --run-dir "$(place run)" "out=$(place out)" --workers 3
unset SLUICE_TEST_OPLOG
land run out
tasks=$(json run/last.json 'phases.2.tasks')
[ "$tasks" -ge 300 ] || fail "only $tasks tasks"
is "$(json run/last.json 'phases.2.done')" "$tasks" 'tasks that are done'
records=$(find run/tasks/3-* -name '*.json' | wc -l)
{ [ "$records" -ge 150 ] && [ "$records" -le $((tasks - 90)) ]; } || fail "$records records of $tasks tasks: expected twins and others"
# Each record is begun once (an open of a temporary file in its folder).
[ "$STORE" != disk ] || is "$(operations log '^1 .*/run/tasks/3-.*/[.]tmp-')" "$records" 'tasks that were worked on'
is "$(cat run/attempts/*.jsonl | grep '"phase":"3-' | grep -c '"outcome":"committed"')" "$records" 'attempts that committed'
# A record does not tell which of the twins made it, nor how many processes there were.
expect 0 "$SLUICE" run twins.lua --quiet --run-dir "$(place one.run)" "out=$(place one)" --workers 1
land one one.run
same one.run/tasks run/tasks 'task records of one worker and of three'
is "$(lines out | sort -u | wc -l)" 40000 'documents'
is "$(lines out | wc -l)" 40000 'rows'
