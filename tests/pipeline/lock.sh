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
local a = s.args { tokenizer = { "path", "t.json" } }
return s.pipeline { "p",
  s.files "in.jsonl" | s.read_jsonl {} | short(3) | s.exact {} | s.tokenize { tokenizer = a.tokenizer, eos = false }
    | s.pack { sequence_length = 8 } | s.write_megatron { "out" },
}
END
cp "$SRC/tests/data/tokenize/tiny_qwen.json" one/t.json

# refused WORDS...: are in the message, and nothing was published
refused() {
    says "$@"
    [ ! -e one/out ] || fail 'something was published'
}

expect 2 "$SLUICE" run one/p.lua --quiet --locked
refused 'one/p.lock' 'sluice lock writes it'
expect 0 "$SLUICE" lock one/p.lua
says 'one/p.lock: 7 scripts, '
is "$(json one/p.lock 'scripts.*.name' | paste -s -d ' ')" 'p.lua lib/sluice.lua modules/short.lua lib/std.lua lib/std_gate.lua lib/std_stats.lua lib/std_shuffle.lua' 'scripts'
is "$(json one/p.lock 'files.*.sha256')" "$(sha256sum one/t.json | cut -d ' ' -f 1)" 'the hash of the tokenizer'
for name in dedup pack read_jsonl tokenize write_megatron; do
    hash=$(sha256sum "$BUILD/plugins/$name.so" | cut -d ' ' -f 1)
    grep -q "$hash" one/p.lock || fail "the plugin $name is not in the lock file"
done
cp one/p.lock kept.lock

# Another byte in a module, in the model, another model, another argument.
echo '-- changed' >>one/modules/short.lua
expect 2 "$SLUICE" run one/p.lua --quiet --locked
refused 'modules/short.lua' 'run sluice lock again'
sed -i '$d' one/modules/short.lua
echo >>one/t.json
expect 2 "$SLUICE" run one/p.lua --quiet --locked
refused "'s tokenizer" 't.json'
cp "$SRC/tests/data/tokenize/tiny_gpt2.json" other.json
cp "$SRC/tests/data/tokenize/tiny_qwen.json" one/t.json
expect 2 "$SLUICE" run one/p.lua tokenizer=other.json --quiet --locked
refused 'other.json'

# A plugin and a program other than those listed.
hash=$(sha256sum "$BUILD/plugins/pack.so" | cut -d ' ' -f 1)
sed "s/$hash/$(echo "$hash" | tr 0-9a-f 1-90a-f)/" kept.lock >one/p.lock
expect 2 "$SLUICE" run one/p.lua --quiet --locked
refused 'the plugin pack' 'pack.so'
sed '/"pack"/,/"sha256"/s/"pack"/"pick"/' kept.lock >one/p.lock
sed -i 's/"name": "pack"/"name": "pick"/' one/p.lock
expect 2 "$SLUICE" run one/p.lua --quiet --locked
refused 'does not list the plugin pack'
hash=$(json kept.lock program.sha256)
sed "s/$hash/$(echo "$hash" | tr 0-9a-f 1-90a-f)/" kept.lock >one/p.lock
expect 2 "$SLUICE" run one/p.lua --quiet --locked
refused 'core library'
head -c 100 kept.lock >one/p.lock
expect 2 "$SLUICE" run one/p.lua --quiet --locked
refused 'cannot read the lock file'
echo '{}' >one/p.lock
expect 2 "$SLUICE" run one/p.lua --quiet --locked
refused 'format 1'

# The same things at another place; the run directory keeps the list.
rm one/p.lock
mv one two
expect 0 "$SLUICE" run two/p.lua --quiet --lock-file "$TMP/kept.lock"
is "$(json two/.sluice/p/used.json 'files.*.path')" "$TMP/two/t.json" 'the tokenizer in used.json'
is "$(json two/.sluice/p/used.json 'plugins.*.sha256' | sort)" "$(json kept.lock 'plugins.*.sha256' | sort)" 'plugins in used.json'
[ -e two/out/latest ] || fail 'nothing was published'
