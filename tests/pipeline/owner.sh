# owner.sh - a dataset belongs to the node of the pipeline that wrote it: another one is refused before it works, and takes the dataset over
# only when it is told to; a dataset of an earlier version is adopted, and that is said.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

mkdir in
for i in 1 2 3 4; do printf '{"id":"%s","text":"row %s"}\n' "$i" "$i"; done >in/a.jsonl
script() { # PIPELINE NODE DATASET LEAST
    cat <<L
local s = require "sluice"
return s.pipeline { "$1", s.files "in/*" | s.read_jsonl {} | s.filter { "f", function(doc) if doc.id < "$4" then return "small" end end }
  | s.named("$2", s.write_jsonl { "$3", compression = "none" }) }
L
}
script one rows out 0 >one.lua
script two rows out 2 >two.lua
script one others out 2 >other.lua
expect 0 "$SLUICE" run one.lua --quiet
is "$(json out/snapshots/000001.json owner.pipeline owner.node | tr '\n' ' ')" 'one rows ' 'the owner'

for other in two other; do
    expect 2 "$SLUICE" run $other.lua --quiet
    says "out belongs to node 'rows' of pipeline 'one', which wrote its snapshot 1" '--take-over'
    [ ! -e out/snapshots/000002.json ] || fail 'another one wrote it'
done
[ -z "$(find .sluice/two/tasks -name '*.json')" ] || fail 'it worked before it was refused'

# Its own next run goes on, an unchanged one publishes nothing.
expect 0 "$SLUICE" run one.lua --quiet
is "$(ls out/snapshots)" 000001.json 'snapshots of an unchanged run'

expect 0 "$SLUICE" run two.lua --take-over --quiet
is "$(json out/snapshots/000002.json owner.pipeline)" two 'the new owner'
expect 0 "$SLUICE" run two.lua --quiet
expect 2 "$SLUICE" run one.lua --quiet
says "belongs to node 'rows' of pipeline 'two'"
# What it was told once holds for that snapshot alone.
expect 0 "$SLUICE" run one.lua --take-over --quiet
expect 2 "$SLUICE" run two.lua --quiet
says "belongs to node 'rows' of pipeline 'one', which wrote its snapshot 3"
expect 0 "$SLUICE" verify out --all

# Of an earlier version, which named no owner: whoever comes next adopts it.
zstd -dcq "$SRC/tests/data/format_0.1/first.tar.zst" | tar -xf - out/kept || skip 'no zstd'
script one rows out/kept 0 >kept.lua
script two rows out/kept 2 >kept2.lua
expect 0 "$SLUICE" run kept.lua --run-dir kept.run --quiet
says 'out/kept: its snapshots up to 1 name no owner' 'from 2 on it belongs to this node'
expect 0 "$SLUICE" run kept.lua --run-dir kept.run --quiet
[ ! -s "$TMP/stderr" ] || fail "said again: $(cat "$TMP/stderr")"
expect 2 "$SLUICE" run kept2.lua --run-dir kept2.run --quiet
says "out/kept belongs to node 'rows' of pipeline 'one'"
