# asks.sh - stages that ask, and hosts of other days: a plugin of ABI 1.1 runs in this host, beside one of 1.0; a host of ABI 1.0 refuses it with both versions named,
# or is served by one that does without asks there.
# shellcheck shell=sh
. "$SRC/tests/lib.sh"

if grep -q -e -fsanitize= "$BUILD/flags"; then skip 'plugins with sanitizers are not loaded by a program without'; fi
for tool in gcc perl; do command -v "$tool" >/dev/null || skip "no $tool"; done

# ---- a host of ABI 1.0 -------------------------------------------------------------------------------

gcc -std=c11 -D_GNU_SOURCE -O1 -I"$SRC" "$SRC/tests/abi/host_1_0.c" -ldl -o host || fail 'the host can not be compiled'
grep -q 'SLUICE_ABI_MINOR 0u' "$SRC/tests/abi/sluice_1_0.h" || fail 'the frozen header is of another minor'
for name in asks_1_1 asks_now; do
    expect 2 ./host "$BUILD/tests/abi/$name.so" http://localhost/ one three
    says "$name.so needs plugin ABI 1.1, this program has 1.0"
done
expect 0 ./host "$BUILD/tests/abi/asks_either.so" http://localhost/ one three sixteen
is "$(cat "$TMP/stdout")" "1 3
0 5
0 7" 'verdicts of a stage that does without asks'
# What plugins say of themselves by the SDKs' own means.
expect 2 ./host "$BUILD/tests/abi/cxx_asks.so" http://localhost/ one
says 'needs plugin ABI 1.1, this program has 1.0'
expect 2 ./host "$BUILD/examples/units.so" http://localhost/ one
says 'needs plugin ABI 1.1, this program has 1.0'

# ---- this host ---------------------------------------------------------------------------------------

: >log
perl "$SRC/tests/http.pl" log 1 0 0 0 >port &
for _ in $(seq 100); do [ -s port ] && break; sleep 0.1; done
[ -s port ] || skip 'no server could be started'
host=127.0.0.1:$(cat port)
printf 'one\nthree\nfour words are here\nof\n' >in.txt
cat >p.lua <<END
local s = require "sluice"
local a = s.args { stage = { "string" }, out = { "path" } }
return s.pipeline { "p", s.files "in.txt" | s.read_text { separator = "\\n" } | s[a.stage] { url = "http://$host/", ask = { hosts = { "$host" } } }
  | s.old_few_words { min_words = 2 } | s.write_jsonl { a.out, compression = "none" } }
END
for name in asks_1_1 asks_either asks_now; do
    for trust in --trust ''; do
        # shellcheck disable=SC2086
        expect 0 "$SLUICE" run p.lua --quiet $trust --plugin "$BUILD/tests/abi/$name.so" --plugin "$BUILD/tests/abi/old.so" \
            "stage=$name" "out=$name$trust" --run-dir "r$name$trust"
        is "$(lines "$name$trust")" '{"text":"four words are here","id":"in.txt:10"}' "rows of $name $trust"
        expect 0 "$SLUICE" why "r$name$trust" --reason short
        says '2 documents'
    done
done
is "$(sort log | uniq -c | sed 's/^ *\([0-9]*\) .*/\1/' | sort -u)" 6 'asks of each text, by six runs'
# The kit asks whether that was meant.
expect 0 "$SLUICE" test-plugin "$BUILD/tests/abi/asks_either.so" --only descriptor
says 'abi_minor_needed = 1'
expect 0 "$SLUICE" test-plugin "$BUILD/tests/abi/asks_1_1.so" --only descriptor
! grep -q minor "$TMP/stdout" || fail 'a plugin that says what it needs is warned of'
