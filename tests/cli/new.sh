# sluice new: what is written and said, names that are refused, nothing overwritten, nothing left behind after a failure. That the
# projects build and pass their tests is shown by tests/conform/scaffold_*.sh.
list() { (cd "$1" && find . -type f | LC_ALL=C sort); }
refuse() {
    "$SLUICE" new "$@" 2>&1
    echo "status $?"
}
"$SLUICE" new --help
"$SLUICE" new plugin tidy
list tidy
"$SLUICE" new plugin rusty --lang rust --role=reader --dir deep/er
list deep/er
"$SLUICE" new plugin loose --lang lua --role gate --json
grep -h require loose/*.lua
"$SLUICE" new plugin shelved --lang cpp --role random_reader | head -n 1
"$SLUICE" new heuristic dense
"$SLUICE" test dense.lua
grep -rl '[A-Z]_HERE' tidy deep loose dense.lua || echo 'every word was replaced'

# what is there stays
cp tidy/tidy.c before.c
refuse plugin tidy
cmp before.c tidy/tidy.c
mkdir empty
refuse plugin empty
refuse heuristic dense
rm -r empty

# names
refuse plugin Big-Filter.2
refuse plugin 9lives
refuse plugin some/where
refuse plugin ''
refuse plugin abcdefghijklmnopqrstuvwxyz_abcdefghijklmnopqrstuvwxyz
refuse plugin words
refuse plugin sluice

# arguments
refuse
refuse plugn x
refuse plugin
refuse plugin x y
refuse plugin x --lang C
refuse plugin x --role fliter
refuse plugin x --langs c
refuse plugin x --lang lua --role random_reader
refuse heuristic x --lang c

# a disk that is full in the middle leaves nothing
for n in 3 5 8; do
    SLUICE_TEST_FAIL=$n:ENOSPC "$SLUICE" new plugin full >/dev/null 2>&1
    echo "status $?"
done
[ -e full ] || echo 'nothing is left'
