# sluice new --lang lua, every role: make and make test with nothing but what is installed; and a heuristic.
. "$SRC/tests/conform/scaffold_kit"
installed
projects lua end
notices lua reader my_reader.lua 'id = id, text = text' 'id = text, text = id'
"$SLUICE" new heuristic my_heuristic >/dev/null
expect 0 "$SLUICE" test my_heuristic.lua
says '2 examples, 0 failed'
expect 0 "$SLUICE" test-plugin my_heuristic.lua
