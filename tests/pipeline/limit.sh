# limit.sh - --limit N reads only the first N files of every reader and keeps what it did for the
# run without it; --fresh works everything again and publishes nothing new, since the bytes are equal.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=6 docs=80 >made || fail 'no corpus'
cat >limit.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path" } }
local docs = s.files { "corpus/*", split = "64KiB" } | s.read_jsonl {}
local good = docs | s.gopher_quality {}
return s.pipeline { "limit", good | s.write_jsonl { a.out .. "/kept", compression = "none" }, good.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" } }
L
faults 6:11
go() {
    expect 0 "$SLUICE" run limit.lua --quiet --run-dir "$(place run)" "out=$(place out)" "$@"
    land run out
}
rows() { echo $(($(lines out/kept | wc -l) + $(lines out/lost | wc -l))); }

go --limit 2
is "$(rows)" 160 'rows of two files'
is "$(lines out/kept | member id | cut -d / -f 2 | sort -u | paste -s -d ' ')" '0 1' 'files'
limited=$(json run/last.json phases.0.tasks)
go --limit 3files
is "$(rows)" 240 'rows of three files'
go
is "$(rows)" 480 'rows of all files'
[ "$(json run/last.json phases.0.reused)" -ge $((limited - 1)) ] || fail 'the run of all files did the limited run again'
is "$(find out/kept/snapshots -name '*.json' | wc -l)" 3 'snapshots'
[ "$STORE" != disk ] || is "$(readlink out/kept/latest)" v000003 'the newest snapshot'
go --limit 100
is "$(reran run | sum)" 0 'tasks of a limit above the number of files'

tree out >before
tree run/tasks >records
all=$(json run/last.json phases.0.tasks)
go --fresh --workers 3
is "$(reran run | sum)" "$all" 'tasks that --fresh ran'
tree out >after
cmp -s before after || { diff before after | head -n 5 >&2; fail '--fresh changed the output'; }
tree run/tasks >after
cmp -s records after || fail '--fresh changed the task records'
is "$(json run/last.json 'datasets.*.new' | sort -u)" false 'new snapshots of --fresh'
