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
[ ! -e "$TMP/out" ] || fail 'a refused run has made output'

expect 5 go --workers 4 --memory $((four - 1))MiB
says "$four MiB"
expect 0 go --workers 4 --memory "$four"MiB
# Work that is done is no reason to take less: the check does not depend on it.
expect 5 go --workers 4 --memory $((four - 1))MiB
expect 5 "$SLUICE" task "$TMP/run" 0 --memory 1MiB
expect 0 go --workers 1 --memory "$one"MiB
