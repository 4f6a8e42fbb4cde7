# Rows of datasets: the first, by value, at random; token rows as ids and as text.
# shellcheck disable=SC1091
. "$SRC/tests/cli/look_kit"
make_corpus
cat >t.lua <<'END'
local s = require "sluice"
local docs = s.files "in/*" | s.read_jsonl {}
local rows = docs | s.tokenize { arg_tokenizer, eos = "default" } | s.pack { 128 }
return s.pipeline { "t", max_bad = 1, docs | s.write_jsonl { "out", shard_size = "200B" }, rows | s.write_megatron { "tokens" } }
END
cp "$SRC/tests/data/tokenize/tiny_gpt2.json" .
sed -i 's|arg_tokenizer|"tiny_gpt2.json"|' t.lua
"$SLUICE" run t.lua --quiet >/dev/null 2>&1 || echo "run failed: $?"
"$SLUICE" head out -n 4
COLUMNS=40 "$SLUICE" head out -n 5 | tail -n 1
"$SLUICE" head out@1 --json -n 1
echo '-- where'
"$SLUICE" head out --where id=b2 --json
"$SLUICE" head out --where n=3 --json
"$SLUICE" head out --where n=3 --where id=a3 --where none=null --json
"$SLUICE" head out --where id=nobody
"$SLUICE" head out --where "id = 'b2' or n in (1, 2) and not id like '_3'" --json
"$SLUICE" head out --where "n > 3 and none is null" --where "id >= 'b'" --json -n 2
"$SLUICE" head out --where "n = '3'" --json
"$SLUICE" head out --where 'id=b2 or so' --json
echo '-- random'
"$SLUICE" head out --random -n 3 --json >one
"$SLUICE" head out --random -n 3 --json >two
cmp one two && wc -l <one
"$SLUICE" head out --random --seed 2 -n 3 --json >two
cmp -s one two && echo 'another seed, the same rows'
"$SLUICE" head out --random -n 100 --json | sort >all
"$SLUICE" head out -n 100 --json | sort | cmp - all && wc -l <all
"$SLUICE" head out --random --where n=4 -n 1 --json | wc -l
echo '-- tokens'
"$SLUICE" head tokens -n 2 | neutral
"$SLUICE" head tokens -n 2 --tokens | neutral
"$SLUICE" head tokens -n 1 --json --tokens | neutral
"$SLUICE" head tokens -n 1 --tokens --tokenizer "$SRC/tests/data/tokenize/tiny_gpt2.json" | neutral | tail -n 1
echo '-- errors'
"$SLUICE" head tokens --tokens --tokenizer "$SRC/tests/data/tokenize/tiny.tiktoken" 2>&1 | sed "s|$SRC|SRC|" | neutral
"$SLUICE" head tokens --tokens --tokenizer t.lua 2>&1
"$SLUICE" head tokens --where a=1 2>&1
"$SLUICE" head out --tokens 2>&1
"$SLUICE" head out --where a 2>&1
"$SLUICE" head out --where "id='b2' adn n=3" 2>&1
"$SLUICE" head out --where 'n > 3 and id = b2' 2>&1
"$SLUICE" head out@7 2>&1 | neutral
"$SLUICE" head nothing 2>&1 | neutral
"$SLUICE" head t.lua 2>&1 | neutral
