# Damage of any recorded file is found, and named.
# shellcheck disable=SC1091
. "$SRC/tests/cli/look_kit"
make_corpus
make_pipeline
"$SLUICE" run t.lua --quiet >/dev/null 2>&1 || echo "run failed: $?"
verify() { "$SLUICE" verify "$@" >said 2>&1; echo "exit $?"; neutral <said; }
verify t
verify out
verify out --quick
# One byte of every kind of file, changed and changed back.
for file in .sluice/t/spill/*-origin-*.slf .sluice/t/spill/*-e*.slf .sluice/t/spill/*-drops-*.slf out/data/*; do
    [ -s "$file" ] || continue
    cp "$file" kept
    printf '\377' | dd of="$file" bs=1 seek=20 conv=notrunc 2>/dev/null
    if cmp -s "$file" kept; then continue; fi
    "$SLUICE" verify t >said 2>&1 && echo "damage of $file was not found"
    grep -q "fault: .*$(basename "$file") has hash" said || { echo "$file:"; cat said; }
    cp kept "$file"
done
echo '-- records'
record=$(find .sluice/t/tasks -name '*.json' | sort | head -n 1)
cp "$record" kept
sed -i 's/"emitted":6/"emitted":7/' "$record"
"$SLUICE" verify t >said 2>&1
echo "exit $?, $(grep -c '^fault' said)"
cp kept "$record"
verify t --json
echo '-- a file of the run'
# Files are named by keys, which change with the plugins' own bytes: which task the first one belongs to is no matter here.
damaged() {
    verify t | sed -E 's/\(table drops of [^)]*\)/(table drops of a task)/; s/: [0-9]+ tasks?, .*: DAMAGED/: DAMAGED/; s/[0-9]+ tasks? (are|is) not done/some tasks are not done/'
}
file=$(find .sluice/t/spill -name '*-drops-*.slf' | sort | head -n 1)
: >"$file"
damaged
rm "$file"
damaged
"$SLUICE" run t.lua --quiet >/dev/null 2>&1 || echo "run failed: $?"
verify t --quick
echo '-- datasets'
file=$(find out/data -type f | sort | head -n 1)
rm "$file"
verify out
echo 'not one of its files' >out/v000001/more
verify out
echo '{' >out/snapshots/000001.json
verify out
verify nothing
