# lock.sh - a lock file lists program, scripts, plugins and models with their hashes; a run with
# --locked accepts those, wherever they stand, and refuses everything else by name.
. "$SRC/tests/lib.sh"

mkdir one one/modules
printf '{"id":"a","text":"the first document"}\n{"id":"b","text":"the second document"}\n' >one/in.jsonl
cat >one/modules/short.lua <<'END'
local s = require "sluice"
return function(n)
  return s.filter { "short", function(doc) if #doc.text < n then return "short" end end }
end
END
cat >one/p.lua <<'END'
local s = require "sluice"
local short = require "modules.short"
local a = s.args { tokenizer = { "path", "t.json" }, out = { "path" } }
return s.pipeline { "p",
  s.files "in.jsonl" | s.read_jsonl {} | short(3) | s.exact {} | s.tokenize { tokenizer = a.tokenizer, eos = false }
    | s.pack { sequence_length = 8 } | s.write_megatron { a.out },
}
END
cp "$SRC/tests/data/tokenize/tiny_qwen.json" one/t.json

faults 9:11
go() {
    _wanted=$1
    shift
    expect "$_wanted" "$SLUICE" run "$@" --quiet --run-dir "$(place run)" "out=$(place out)"
}

# refused WORDS...: are in the message, and nothing was published
refused() {
    says "$@"
    land out
    [ ! -e out ] || fail 'something was published'
}

go 2 one/p.lua --locked
refused 'one/p.lock' 'sluice lock writes it'
expect 0 "$SLUICE" lock one/p.lua "out=$(place out)"
says 'one/p.lock: 8 scripts, '
is "$(json one/p.lock 'scripts.*.name' | paste -s -d ' ')" 'p.lua lib/sluice.lua modules/short.lua lib/std.lua lib/std_gate.lua lib/std_contract.lua lib/std_stats.lua lib/std_shuffle.lua' 'scripts'
is "$(json one/p.lock 'files.*.sha256')" "$(sha256sum one/t.json | cut -d ' ' -f 1)" 'the hash of the tokenizer'
for name in dedup pack read_jsonl tokenize write_megatron; do
    hash=$(sha256sum "$BUILD/plugins/$name.so" | cut -d ' ' -f 1)
    grep -q "$hash" one/p.lock || fail "the plugin $name is not in the lock file"
done
cp one/p.lock kept.lock

# Another byte in a module, in the model, another model, another argument.
echo '-- changed' >>one/modules/short.lua
go 2 one/p.lua --locked
refused 'modules/short.lua' 'run sluice lock again'
sed -i '$d' one/modules/short.lua
echo >>one/t.json
go 2 one/p.lua --locked
refused "'s tokenizer" 't.json'
cp "$SRC/tests/data/tokenize/tiny_gpt2.json" other.json
cp "$SRC/tests/data/tokenize/tiny_qwen.json" one/t.json
go 2 one/p.lua tokenizer=other.json --locked
refused 'other.json'

# A plugin and a program other than those listed.
hash=$(sha256sum "$BUILD/plugins/pack.so" | cut -d ' ' -f 1)
sed "s/$hash/$(echo "$hash" | tr 0-9a-f 1-90a-f)/" kept.lock >one/p.lock
go 2 one/p.lua --locked
refused 'the plugin pack' 'pack.so'
sed '/"pack"/,/"sha256"/s/"pack"/"pick"/' kept.lock >one/p.lock
sed -i 's/"name": "pack"/"name": "pick"/' one/p.lock
go 2 one/p.lua --locked
refused 'does not list the plugin pack'
hash=$(json kept.lock program.sha256)
sed "s/$hash/$(echo "$hash" | tr 0-9a-f 1-90a-f)/" kept.lock >one/p.lock
go 2 one/p.lua --locked
refused 'core library'
head -c 100 kept.lock >one/p.lock
go 2 one/p.lua --locked
refused 'cannot read the lock file'
echo '{}' >one/p.lock
go 2 one/p.lua --locked
refused 'format 1'

# The same things at another place; the run directory keeps the list.
rm one/p.lock
mv one two
go 0 two/p.lua --lock-file "$TMP/kept.lock"
land run out
is "$(json run/used.json 'files.*.path')" "$TMP/two/t.json" 'the tokenizer in used.json'
is "$(json run/used.json 'plugins.*.sha256' | sort)" "$(json kept.lock 'plugins.*.sha256' | sort)" 'plugins in used.json'
[ -e out/snapshots/000001.json ] || fail 'nothing was published'
