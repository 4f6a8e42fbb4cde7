# examples.sh - the plugins of sdk/examples, one of each role in C++ and one with every macro of sluice_simple.h: they pass the conformance tests, and the examples do in a pipeline what
# they say, in this process and in a child.
# shellcheck shell=sh
. "$SRC/tests/lib.sh"

examples=$BUILD/examples
set -- "$BUILD/tests/abi/simple.so" "$examples/paragraphs.so"
# Sanitizers make this slow: two plugins will do there.
if ! grep -q -e -fsanitize= "$BUILD/flags"; then
    set -- "$@" "$BUILD/tests/abi/cxx_roles.so" "$examples/few_lines.so" "$examples/shouting.so"
fi
for plugin; do
    expect 0 "$SLUICE" test-plugin "$plugin" --quiet
    says ' 0 failed'
done

perl "$SRC/tests/pipeline/units.pl" in.units units=30 rows=20 words=10 bad=50 || fail 'no file of units'
expect 0 "$SLUICE" test-plugin "$examples/units.so" --quiet --data in.units
says ' 0 failed'

cat >in.jsonl <<'END'
{"id":"a","text":"The first line of a text.\nThe second line of it.\n\nA THIRD ONE, IN CAPITALS."}
{"id":"b","text":"One line, and that is all."}
{"id":"c","text":"a\nb\nc\nd\ne"}
{"id":"d","text":""}
END
cat >p.lua <<'END'
local s = require "sluice"
local docs = s.files "in.jsonl" | s.read_jsonl {}
local long = docs | s.few_lines { min_lines = 3 }
return s.pipeline { "p",
  s.named("kept", long | s.shouting { as = "loud" } | s.write_jsonl { "kept", compression = "none" }),
  s.named("dropped", long.dropped | s.write_jsonl { "dropped", compression = "none" }),
  s.named("pieces", docs | s.paragraphs { min_bytes = 5 } | s.write_jsonl { "pieces", compression = "none" }),
}
END
cat >simple.lua <<'END'
local s = require "sluice"
local docs = s.files "in.jsonl" | s.read_jsonl {}
return s.pipeline { "simple", docs | s.s_most {} | s.s_mark { mark = "<>", place = "back", as = "back" } | s.s_mark {} | s.s_word {}
  | s.s_common { share = 0.3, bytes = "1KiB" } | s.write_jsonl { "marked", compression = "none", columns = { "id", "most", "back", "marked", "word" } } }
END
expect 0 "$SLUICE" run simple.lua --quiet --trust --plugin "$BUILD/tests/abi/simple.so"
lines marked | tail -n 2 >found
cat >expected <<'END'
{"id":"b","most":5,"back":"One line, and that is all.<>","marked":"+One line, and that is all.","word":"many"}
{"id":"d","most":0,"back":"<>","marked":"+","word":"none"}
END
diff found expected >&2 || fail 'the stages of simple.so give something else'
expect 0 "$SLUICE" why simple --reason one_byte
says '1 of 1 document dropped' 'value 0.444444, limit 0.3'

look() {
    is "$(lines kept | member id | tr '\n' ' ')" 'a ' 'what few_lines keeps'
    is "$(lines kept | member loud)" 0.38181818181818183 'the share of upper case'
    is "$(lines dropped | member id | tr '\n' ' ')" 'b c d ' 'what few_lines drops'
    is "$(lines dropped | member drop_value | tr '\n' ' ')" '1.0 0.0 0.0 ' 'the values'
    is "$(lines pieces | member paragraph | tr '\n' ' ')" '0 1 0 0 ' 'the paragraphs'
    is "$(lines pieces | head -n 2 | tail -n 1 | member text)" 'A THIRD ONE, IN CAPITALS.' 'the second paragraph'
}
expect 0 "$SLUICE" run p.lua --quiet --trust --plugin "$examples/few_lines.so" --plugin "$examples/shouting.so" --plugin "$examples/paragraphs.so"
look
mkdir trusted
mv kept dropped pieces .sluice trusted/
expect 0 "$SLUICE" run p.lua --quiet --plugin "$examples/few_lines.so" --plugin "$examples/shouting.so" --plugin "$examples/paragraphs.so"
look
for folder in kept dropped pieces; do
    same "trusted/$folder/latest/" "$folder/latest/" "$folder in a child"
done
