# places.sh - what is read or written where this program can't reach is refused by `check`, with the line, and before anything is read
. "$SRC/tests/lib.sh"

refused() {
    printf '%s\n' 'local s = require "sluice"' "return s.pipeline { \"p\", s.files { $1 } | s.read_jsonl {}" \
        "  | s.write_jsonl { \"$2\" } }" >p.lua
    for command in check plan run; do
        expect 2 "$SLUICE" $command p.lua
        says "p.lua:$3" "'$4' begins with 'nowhere://', which this build doesn't support"
    done
}
refused '"nowhere://bucket/*.jsonl"' out 2 'nowhere://bucket/*.jsonl'
refused '"in/*.jsonl", "@nowhere://bucket/list.txt"' out 2 'nowhere://bucket/list.txt'
refused '"in/*.jsonl"' nowhere://bucket/out 3 nowhere://bucket/out
