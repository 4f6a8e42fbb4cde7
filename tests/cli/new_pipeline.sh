# new_pipeline.sh - sluice new pipeline: a file that runs as it is written, on members of other names too, and says what to type; what is there stays.
. "$SRC/tests/lib.sh"

expect 0 "$SLUICE" new pipeline mine
says 'sluice check mine.lua' 'sluice why mine'
perl "$CORPUS" corpus files=2 docs=200 >made || fail 'no corpus'
expect 0 "$SLUICE" check mine.lua "input=corpus/*"
expect 0 "$SLUICE" run mine.lua "input=corpus/*" --quiet
rows=$(($(lines out/kept | wc -l) + $(lines out/dropped | wc -l)))
is "$rows" "$(sed -n 's/^documents //p' made)" 'kept + dropped'
expect 0 "$SLUICE" why mine
says 'gopher_short_doc'
mkdir other && printf '{"name":"a","body":"a lorem ipsum"}\n' >other/a.jsonl
expect 0 "$SLUICE" run mine.lua "input=other/*" text=body id=name out=o --quiet
is "$(lines o/dropped | wc -l)" 1 'dropped rows of other members'
expect 2 "$SLUICE" new pipeline mine
says 'mine.lua'
expect 0 "$SLUICE" new pipeline other --dir sub --json
[ -s sub/other.lua ] || fail 'no file in another folder'
expect 2 "$SLUICE" new pipeline x --lang c
says 'a pipeline is a file in Lua'
