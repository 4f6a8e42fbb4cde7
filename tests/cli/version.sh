# version.sh - `sluice --version` tells the program, every number that the code has for a format or behaviour, and the libraries.
. "$SRC/tests/lib.sh"

expect 0 "$SLUICE" --version
says 'sluice 0.1.0, plugin ABI 1.2' 'snapshot' 'commit' 'edge' 'with ' 'zstd'
cp stdout text
expect 0 "$SLUICE" version
cmp -s stdout text || fail 'version and --version differ'
expect 0 "$SLUICE" --version --json
json stdout version abi epochs.output epochs.snapshot epochs.commit >told || fail 'the JSON lacks a member'
sed -n 3,5p told | grep -qvE '^[0-9]+$' && fail 'an epoch is no number'
grep -q '"libraries":"[^"]*zstd [0-9.]*[",]' stdout || fail "zstd's version is missing"
expect 2 "$SLUICE" --version --jsn
says 'unknown option --jsn, did you mean --json'

# A constant of the code that nobody tells.
grep -rhoE '^#define [A-Z_]+_(FORMAT|EPOCH) ' "$SRC/core" | cut -d ' ' -f 2 | sort -u | while read -r constant; do
    grep -qw "$constant" "$SRC/core/cmd/inspect/version.c" || fail "--version does not tell $constant"
done
