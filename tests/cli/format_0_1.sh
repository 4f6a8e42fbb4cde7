# format_0_1.sh - datasets and run directories of the first version stay readable: verified, read, shown, reported and continued. Its plans can't be loaded
# (they held no script and no files); what needs one says so and how to go on.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

command -v zstd >/dev/null 2>&1 || skip 'no zstd'
zstd -dcq "$SRC/tests/data/format_0.1/first.tar.zst" | tar -xf - || fail 'the fixture does not unpack'
find out run -type f | LC_ALL=C sort | xargs sha256sum >before

# A dataset: its hashes, its rows, its snapshot by number.
expect 0 "$SLUICE" verify out/kept
expect 0 "$SLUICE" verify out/dropped@1
cat >copy.lua <<'L'
local s = require "sluice"
return s.pipeline { "copy", s.dataset "out/kept@1" | s.read_jsonl {} | s.write_jsonl { "copied", compression = "none" } }
L
expect 0 "$SLUICE" run copy.lua --quiet --run-dir copy.run
cat out/kept/v000001/* >old
cat copied/latest/* >new
cmp old new >&2 || fail 'other rows'
[ "$(wc -l <new)" = 4 ] || fail "$(wc -l <new) rows were read"

# A run directory: shown and reported as it was.
expect 0 "$SLUICE" show run
says '@1, 4 rows in 1 file'
expect 0 "$SLUICE" report run
grep -Eq '^ +exact_duplicate +2 ' "$TMP/stdout" || fail "report: $(cat "$TMP/stdout")"

# Its plan: refused with the way on, and nothing was touched until now.
for command in 'why run --id d5' 'verify run' 'work run' 'task run 0'; do
    # shellcheck disable=SC2086
    expect 2 "$SLUICE" $command
    says 'has format 1, this program reads 2; run `sluice prepare` (or `sluice run`) with the script again'
done
find out run -type f | LC_ALL=C sort | xargs sha256sum | diff before - >&2 || fail 'reading changed something'

# The next run continues there: the same rows, published behind the old snapshot, which stays.
expect 0 "$SLUICE" run first.lua --run-dir run --quiet
expect 0 "$SLUICE" why run --id d5
expect 0 "$SLUICE" verify out/kept@1
for dataset in kept dropped; do
    cat "out/$dataset/v000001"/* >old
    cat "out/$dataset/latest"/* >new
    cmp old new >&2 || fail "$dataset has other rows"
done
expect 0 "$SLUICE" show run
grep -q '^ *2  .*finished' "$TMP/stdout" || fail "no second run in the history: $(cat "$TMP/stdout")"
