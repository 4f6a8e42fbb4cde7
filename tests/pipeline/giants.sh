# giants.sh - records far above the size of a batch are admitted against --memory, one by one: what does not fit ends the run with the
# number before the memory is taken, what fits stays inside, and the bytes are the same with any memory and workers.
. "$SRC/tests/lib.sh"

# Four records of 2 MB in short words, each with another first line.
perl -e 'for my $k (1 .. 4) { print "{\"id\":\"$k\",\"text\":\"record $k\\n"; print "aa b, c$_ dd. " for 1 .. 160000; print "\"}\n" }' >giants.jsonl
cat >giants.lua <<'END'
local s = require "sluice"
local off = {} -- no rule drops, each is reckoned
for _, name in ipairs { "dup_line_frac", "dup_para_frac", "dup_line_char_frac", "dup_para_char_frac", "top_2_gram", "top_3_gram", "top_4_gram",
                        "dup_5_gram", "dup_6_gram", "dup_7_gram", "dup_8_gram", "dup_9_gram", "dup_10_gram" } do off[name] = 1000 end
local a = s.args { input = { "path", "giants.jsonl" }, out = { "path", "out" }, most = { "size", "64MiB" }, split = { "size", "64MiB" } }
return s.pipeline { "giants", s.files { a.input, max_record = a.most, split = a.split } | s.read_jsonl {}
  | s.gopher_repetition (off) | s.exact {} | s.write_jsonl { a.out } }
END

# go OUT OPTION... runs in the background of itself: PEAK is the most that the process had, in MiB.
go() {
    _out=$1
    shift
    "$SLUICE" run giants.lua --quiet --fresh --run-dir "$TMP/run-$_out" "out=$TMP/$_out" "$@" >"$TMP/stdout" 2>"$TMP/stderr" &
    _pid=$!
    PEAK=0
    while _kib=$(sed -n 's/VmHWM:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$_pid/status" 2>/dev/null) && [ -n "$_kib" ]; do
        PEAK=$((_kib / 1024))
        sleep 0.05
    done
    STATUS=0
    wait $_pid || STATUS=$?
}

go plenty --workers 1 --memory 4GiB
[ "$STATUS" = 0 ] || fail "with 4 GiB: $(cat stderr)"
[ "$(lines "$TMP/plenty" | wc -l)" = 4 ] || fail 'rows are missing'

for workers in 1 3; do
    memory=$((60 + 40 * workers))
    refused=0
    while :; do
        go "few-$workers" --workers $workers --memory "$memory"MiB
        [ "$PEAK" -le "$memory" ] || fail "$workers workers: $PEAK MiB with --memory ${memory}MiB (status $STATUS)"
        [ "$STATUS" != 0 ] || break
        [ "$STATUS" = 5 ] || fail "$workers workers: status $STATUS: $(cat stderr)"
        refused=$((refused + 1))
        [ $refused -le 8 ] || fail "it never has enough: $(cat stderr)"
        # The floor says what the least is; above it each record does.
        grep -q "found $memory MiB of memory" stderr ||
            says 'giants.jsonl, byte' ' for a record of ' "--memory ${memory}MiB leaves" 'a max_record below it'
        next=$(sed -n 's/.*give --memory \([0-9]*\)MiB.*/\1/p' stderr)
        [ "$next" -gt "$memory" ] || fail "it asks for $next MiB and has $memory"
        memory=$next
    done
    [ $refused -gt 0 ] || fail "$workers workers: nothing was refused"
    is "$(lines "$TMP/few-$workers")" "$(lines "$TMP/plenty")" "rows with $workers workers"
done

# Ranges of one compressed frame, decoded for whoever works on them, end with the rest of a giant.
zstd -q giants.jsonl -o giants.jsonl.zst
go fed --workers 3 --memory 2GiB input=giants.jsonl.zst split=1MiB
[ "$STATUS" = 0 ] || fail "ranges of a frame: $(cat stderr)"
is "$(lines "$TMP/fed")" "$(lines "$TMP/plenty")" 'rows of ranges of a frame'

# Such records may be set aside instead: then they need nothing.
go none --workers 1 --memory 120MiB most=1500KiB
[ "$PEAK" -le 120 ] || fail "$PEAK MiB for records that are set aside"
[ "$STATUS" = 4 ] || fail "every record is too long: status $STATUS"
grep -q 'record_too_long' stderr || fail "$(cat stderr)"
