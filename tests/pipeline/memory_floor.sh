# memory_floor.sh - a --memory that a run can't keep is refused before any work, with the number that
# is enough; with that number it runs, and one MiB below it does not. Fewer workers need less.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=4 docs=400 >made || fail 'no corpus'

# go [OPTION...]
go() {
    "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$TMP/run" "input=$TMP/corpus/*" "out=$TMP/out" "$@"
}

# mebibytes WORKERS prints the least --memory
mebibytes() {
    expect 5 go --workers "$1" --memory 1MiB
    says 'found 1 MiB of memory, expected at least' 'a worker in'
    sed -n 's/.*give --memory \([0-9]*\)MiB.*/\1/p' "$TMP/stderr"
}

four=$(mebibytes 4)
says 'or --workers 1 ('
one=$(mebibytes 1)
[ "$one" -gt 16 ] && [ "$four" -gt "$one" ] || fail "1 worker needs $one MiB, 4 need $four"
[ "$(commits "$TMP/run")" = 0 ] || fail 'a refused run has done something'
# A plan that would be refused is refused, in the same words; with the number it is shown.
for memory in 1 "$((four - 1))MiB"; do
    expect 5 go --workers 4 --memory "$memory"
    cp "$TMP/stderr" "$TMP/refusal"
    expect 5 "$SLUICE" plan "$SRC/tests/pipeline/web.lua" --run-dir "$TMP/run" "input=$TMP/corpus/*" "out=$TMP/out" --workers 4 --memory "$memory"
    cmp "$TMP/stderr" "$TMP/refusal" || fail "plan --memory $memory says something else than run"
done
expect 0 "$SLUICE" plan "$SRC/tests/pipeline/web.lua" --run-dir "$TMP/run" "input=$TMP/corpus/*" "out=$TMP/out" --workers 4 --memory "$four"MiB
[ ! -e "$TMP/out" ] || fail 'a refused run has made output'

expect 5 go --workers 4 --memory $((four - 1))MiB
says "$four MiB"
expect 0 go --workers 4 --memory "$four"MiB
# Work that is done is no reason to take less: the check does not depend on it.
expect 5 go --workers 4 --memory $((four - 1))MiB
expect 5 "$SLUICE" task "$TMP/run" 0 --memory 1MiB
expect 0 go --workers 1 --memory "$one"MiB

# A zstd file's window is of the memory of whoever decodes it: --long costs what it says, as soon as
# the file is opened.
cat "$TMP"/corpus/* | zstd -q --long=27 --zstd=wlog=27 -c >"$TMP/long.zst" 2>/dev/null || fail 'no zstd'
cat "$TMP"/corpus/* | zstd -q -c >"$TMP/usual.zst"
# least FILE MEMORY prints the least --memory to read it with one worker
least() {
    expect 5 "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$TMP/run-zst" "input=$1" "out=$TMP/out-zst" --workers 1 --memory "$2"
    sed -n 's/.*give --memory \([0-9]*\)MiB.*/\1/p' "$TMP/stderr"
}
usual=$(least "$TMP/usual.zst" 1MiB)
grep -q 'window of a zstd' "$TMP/stderr" && fail 'a usual window is none to speak of'
long=$(least "$TMP/long.zst" "$usual"MiB)
says '128 MiB of that for the window of a zstd file: compressed without --long'
[ "$long" = $((usual + 120)) ] || fail "a window of 128 MiB needs $long MiB, one of at most 8 $usual"
