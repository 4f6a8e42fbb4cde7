# One measure (the share of upper-case letters) as the filter of a C plugin in the process, in Lua with the text primitives, as a column of
# s.native, and called from Lua through ffi.def; the last two in a child process.
set -eu
# shellcheck source=tests/bench/kit
. "$SRC/tests/bench/kit"
RUNS=${RUNS_NATIVE:-5}
LIB=$BUILD/tests/conform/native_share.so
[ -f "$LIB" ] || { echo 'tests/conform/native_share.so is not built (make test-libraries)'; exit 77; }
"$GENERATE" ${BYTES_NATIVE:-200000000} >"$TMP/generated.jsonl"
file=$TMP/generated.jsonl
size=$(megabytes "$file")
mean=$(awk 'END { printf "%.1f kB", '"$(stat -c %s "$file")"' / NR / 1000 }' "$file")

# One look at a document costs little beside reading it: COPIES of each, one behind the other, stand out from the noise.
COPIES=5
copies() {
    _c=1
    while [ $_c -le $COPIES ]; do
        printf '%s | ' "$1" | sed "s/NUMBER/$_c/g"
        _c=$((_c + 1))
    done
}
JUDGE='if share > 1 then return "upper", share, 1 end'
pipeline read "$DROP_ALL"
PRELUDE="local share_plugin = s.plugin '$LIB'"
pipeline c "$(copies 'share_plugin.upper { max = 1 }') $DROP_ALL"
PRELUDE=
pipeline lua "$(copies "s.filter { 'upperNUMBER', function(doc) local share = doc.text:share 'upper' $JUDGE end, reasons = { 'upper' } }") $DROP_ALL"
pipeline native "$(copies "s.native { lib = '$LIB', 'double share_upper(const char *, size_t)', as = 'shareNUMBER' } |
    s.filter { 'upperNUMBER', function(doc) local share = doc.shareNUMBER $JUDGE end, reasons = { 'upper' } }") $DROP_ALL"
PRELUDE="local measure = require 'ffi'.def { lib = '$LIB', 'double share_upper(const char *, size_t)' }"
pipeline ffi "$(copies "s.filter { 'upperNUMBER', function(doc) local share = measure(doc.text) $JUDGE end, reasons = { 'upper' } }") $DROP_ALL"

# run NAME [OPTION]: like sluice_run
run() {
    _name=$1
    shift
    rm -rf "$PLACE/run" "$PLACE/out"
    once taskset -c "$CPU" "$SLUICE" run "$TMP/$_name.lua" "input=$file" "out=$PLACE/out" --run-dir "$PLACE/run" --workers 1 --quiet --memory 1GiB "$@"
}
reading() { run read; }
in_c() { run c --trust; }
in_lua() { run lua; }
in_native() { run native; }
in_ffi() { run ffi; }

# above A B: seconds of A beyond B
above() {
    awk -v a="$1" -v b="$2" 'BEGIN { print a - b }'
}

compare() {
    versus in_c reading
    base=$RIGHT_USED
    versus "$1" in_c
    row "$2" "$(rate "$size" "$(above "$LEFT_USED" "$base")")" "$(rate "$size" "$(above "$RIGHT_USED" "$base")")" \
        "$(quotient "$(above "$LEFT_USED" "$base")" "$(above "$RIGHT_USED" "$base")")" "$3"
    echo "    with reading: $(quotient "$LEFT_USED" "$RIGHT_USED")"
}

echo "generated prose, $size MB, documents of $mean, 1 processor, processor time of $COPIES such stages above that of reading"
heading 'the share of upper-case letters' 'C plugin'
compare in_lua 'Lua with primitives' '<= 1.3'
compare in_native 's.native isolated, and a filter in Lua' '<= 1.5'
compare in_ffi 'ffi.def in a filter in Lua, isolated' '<= 1.5'
