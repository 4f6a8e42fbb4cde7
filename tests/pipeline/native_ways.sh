# native_ways.sh - one measure as a C plugin's filter, in Lua with the text primitives, through s.native and through ffi.def: the same rows
# are dropped with the same value, whichever way.
. "$SRC/tests/lib.sh"

LIB=$BUILD/tests/conform/native_share.so
[ -f "$LIB" ] || skip 'tests/conform/native_share.so is not built'
perl "$CORPUS" corpus files=3 docs=100 >made || fail 'no corpus'
judge='if share > 0.012 then return "upper", share, 0.012 end'

way() {
    cat >"$1.lua" <<L
local s = require "sluice"
local a = s.args { lib = { "path", "$LIB" } }
$2
local docs = s.files { "corpus/*", split = "64KiB" } | s.read_jsonl {} | s.named("upper", $3)
return s.pipeline { "$1", docs | s.write_jsonl { "$1.out/kept", compression = "none" },
                    docs.dropped | s.write_jsonl { "$1.out/lost", compression = "none" } }
L
    expect 0 "$SLUICE" run "$1.lua" --quiet
    lines "$1.out/kept" | sed 's/,"share":[^,}]*//' >"$1.kept"
    lines "$1.out/lost" | sed 's/,"share":[^,}]*//' >"$1.lost"
    [ "$1" = plugin ] && return
    cmp -s plugin.kept "$1.kept" || fail "$1 keeps other rows than the plugin"
    cmp -s plugin.lost "$1.lost" || fail "$1 drops other rows, or for other values, than the plugin"
}

way plugin 'local share_plugin = s.plugin(a.lib)' 'share_plugin.upper { max = 0.012 }'
[ "$(wc -l <plugin.kept)" -gt 20 ] || fail 'the plugin keeps too few rows for this test'
[ "$(wc -l <plugin.lost)" -gt 20 ] || fail 'the plugin drops too few rows for this test'
way lua '' "s.filter { 'f', function(doc) local share = doc.text:share 'upper' $judge end, reasons = { 'upper' } }"
way native '' "s.native { lib = a.lib, 'double share_upper(const char *, size_t)', as = 'share' }
    | s.filter { 'f', function(doc) local share = doc.share $judge end, reasons = { 'upper' } }"
way ffi "local measure = require 'ffi'.def { lib = a.lib, 'double share_upper(const char *, size_t)' }" \
    "s.filter { 'f', function(doc) local share = measure(doc.text) $judge end, reasons = { 'upper' } }"
