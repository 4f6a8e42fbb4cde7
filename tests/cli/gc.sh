# What no later run can use goes; what a run or a snapshot needs stays.
# shellcheck disable=SC1091
. "$SRC/tests/cli/look_kit"
make_corpus
make_pipeline
run() { "$SLUICE" run t.lua --quiet >/dev/null 2>&1 || echo "run failed: $?"; }
run
echo '-- nothing to do'
"$SLUICE" gc t
sed -i 's/min_doc_words = 9/min_doc_words = 12/' t.lua
run
echo '-- an earlier version'
files=$(find .sluice out dropped -type f | sort)
"$SLUICE" gc t --dry-run | neutral
[ "$files" = "$(find .sluice out dropped -type f | sort)" ] || echo 'a dry run removed something'
"$SLUICE" gc t | neutral
"$SLUICE" gc t
"$SLUICE" plan t.lua | head -n 1
"$SLUICE" verify t >/dev/null || echo 'the run is damaged'
"$SLUICE" verify out --all | neutral
echo '-- files that nothing refers to'
echo spare >.sluice/t/spill/0123456789abcdef0123456789abcdef-e3.slf
echo spare >out/data/0123456789abcdef01234567-0000.jsonl.zst
echo "not the run's" >out/data/notes.txt
# Of another host, and old.
leftover=.tmp-00000001-00000002-00000003-9-10-9-0
for folder in .sluice/t .sluice/t/spill .sluice/t/quarantine .sluice/t/saved .sluice/t/claims out out/data out/snapshots; do
    mkdir -p "$folder"
    echo spare >"$folder/$leftover"
    touch -d '8 days ago' "$folder/$leftover"
done
echo spare >.sluice/t/claims/000001.000001
"$SLUICE" gc t --json --dry-run
"$SLUICE" gc t --json
find . -name "$leftover"
ls .sluice/t/claims
ls out/data/notes.txt
echo '-- of a run that did not end'
make_pipeline
killed_midway
"$SLUICE" gc t >/dev/null || echo "gc failed: $?"
run
"$SLUICE" verify t >/dev/null || echo 'the run is damaged'
echo '-- never beside a run'
SLUICE_TEST_DELAY=1 "$SLUICE" run t.lua --fresh --quiet 2>/dev/null &
pid=$!
waited=0
while [ ! -e .sluice/t/leases/run.1 ] && [ "$waited" -lt 6000 ]; do
    waited=$((waited + 1))
    sleep 0.01
done
kill -STOP "$pid" # it lives, however long it stands still
"$SLUICE" gc t 2>said
echo "exit $?"
grep -c 'is in use by' said
kill -CONT "$pid"
wait "$pid" || echo "run failed: $?"
"$SLUICE" gc nothing 2>&1 | neutral
