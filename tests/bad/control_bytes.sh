# control_bytes.sh - names of files, columns and stages, messages of scripts and plugins, and values of records may hold what a terminal
# obeys (ESC, CR, C1 bytes): no command prints such a byte, for people or as JSON.
. "$SRC/tests/lib.sh"

esc=$(printf '\033')
name=$(printf 'a\033[31mb\302\2332J.jsonl')
cat >control.pl <<'END_PERL'
local $/;
my $text = <STDIN>;
exit 0 if $text !~ /([\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f])/;
my $at = $-[0];
print "control byte ", unpack("H*", $1), " in ... ", unpack("H*", substr($text, $at > 20 ? $at - 20 : 0, 60)), "\n";
exit 1;
END_PERL

# clean STATUS COMMAND...: ends with it, and prints no control byte.
checked=0
clean() {
    expect "$@"
    for _stream in stdout stderr; do
        perl control.pl <"$_stream" >control.txt || fail "$* prints on $_stream a $(cat control.txt)"
    done
    checked=$((checked + 1))
}

row() {
    printf '{"id": "%s", "text": "%s", "k\\u001b[1m": 1, "lang": "\\u001b[2Jen"}\n' "$1" "$2"
}
mkdir in
{ row 'one\u001b[7m' 'kept \u001b[31m text \u009b2J'; row two 'lorem \u001b[31m'; row three 'raise'; } >"in/$name"
row four 'kept too' >"in/c.jsonl"
cat >p.lua <<'END_LUA'
local s = require "sluice"
print("described\27[31m")
local row = s.filter { "row", function(doc)
    if doc.text:contains "lorem" then return "lorem" end
    if doc.text:contains "raise" then error("bad \27[31m row \155" .. doc.text) end
end }
local docs = s.files "in/*.jsonl" | s.read_jsonl { columns = { lang = "string" } } | row
return s.pipeline { "p", max_bad = 0.9, docs | s.write_jsonl { "out" }, docs.dropped | s.write_jsonl { "dropped" } }
END_LUA

for json in '' --json; do
    # shellcheck disable=SC2086 # no word where it is empty
    {
        clean 0 "$SLUICE" check p.lua $json
        clean 0 "$SLUICE" plan p.lua --run-dir p.run $json
        clean 0 "$SLUICE" run p.lua --run-dir p.run $json
        clean 0 "$SLUICE" run p.lua --run-dir p.run --fresh $json
        clean 0 "$SLUICE" plan p.lua --run-dir p.run --files --tasks $json
        clean 0 "$SLUICE" show p.run $json
        clean 0 "$SLUICE" report p.run $json
        clean 0 "$SLUICE" why p.run $json
        clean 0 "$SLUICE" why p.run --reason lorem $json
        clean 0 "$SLUICE" why p.run --quarantine $json
        clean 0 "$SLUICE" why p.run --id "$(printf 'one\033[7m')" $json
        shard=$(ls out/data | head -n 1)
        clean 0 "$SLUICE" trace out "$shard" 0 --run p.run $json
        clean 0 "$SLUICE" trace out "$shard" 0 --run p.run --text $json
        clean 0 "$SLUICE" head out $json
        clean 0 "$SLUICE" verify p.run $json
        clean 0 "$SLUICE" verify out $json
        clean 0 "$SLUICE" sample p.lua --after row $json -o "sample$json.jsonl"
        clean 0 "$SLUICE" lock p.lua $json
        clean 0 "$SLUICE" gc p.run --dry-run $json
    }
done
# Messages.
clean 2 "$SLUICE" "$(printf 'r\033[31mn')"
clean 2 "$SLUICE" run "$(printf 'no\033[31m.lua')"
clean 2 "$SLUICE" run p.lua "$(printf 'x\033[31m=1')"
clean 2 "$SLUICE" run p.lua "$(printf -- '--x\033[31m')"
clean 2 "$SLUICE" inspect "$(printf 'x\033[31m')"
clean 2 "$SLUICE" head "$(printf 'x\033[31m')"
clean 2 "$SLUICE" report "$(printf 'x\033[31m')"
printf 'error("stop \\27[31m here")\n' >"$(printf 'e\033[31m.lua')"
clean 2 "$SLUICE" run "$(printf 'e\033[31m.lua')"
clean 2 "$SLUICE" run "$(printf 'e\033[31m.lua')" --json
printf 'local s = require "sluice"\nreturn s.pipeline { "p", s.files "in/*" | s.read_jsonl { ["te\\27[31mxt"] = "x" } | s.write_jsonl { "o" } }\n' >option.lua
clean 2 "$SLUICE" check option.lua
printf 'local s = require "sluice"\nreturn s.pipeline { "p", s.files "in/*" | s.read_jsonl { columns = { ["l\\27[31mx"] = "string" } } | s.write_jsonl { "o2" } }\n' >column.lua
"$SLUICE" run column.lua >stdout 2>stderr
for stream in stdout stderr; do perl control.pl <$stream || fail "a column's name reaches $stream"; done
mkdir odd
echo '{"text": "x"}' >"odd/$(printf 'c\033]0;title\007\377.jsonl')"
printf 'local s = require "sluice"\nreturn s.pipeline { "n", s.files "odd/*" | s.read_jsonl {} | s.write_jsonl { "o4" } }\n' >odd.lua
clean 2 "$SLUICE" run odd.lua
mkdir broken
printf '{"text": "cut \033' >"broken/$name"
printf 'local s = require "sluice"\nreturn s.pipeline { "b", s.files "broken/*" | s.read_jsonl {} | s.write_jsonl { "o3" } }\n' >broken.lua
clean 4 "$SLUICE" run broken.lua
printf 'not gzip' >"broken/$name.gz"
clean 4 "$SLUICE" run broken.lua
clean 2 "$SLUICE" plugins --plugin "$(printf 'x\033[31m.so')"
cp "in/$name" "$(printf 'p\033[31m.so')"
clean 2 "$SLUICE" plugins --plugin "$(printf 'p\033[31m.so')"
# It is told, not left out: as an escape.
expect 0 "$SLUICE" why p.run --quarantine
says 'a\u001b[31mb'
case $(cat stdout stderr) in *"$esc"*) fail 'ESC' ;; esac
echo "$checked commands"
