# sluice new project: what is written, and that its pipelines run as they stand.
"$SLUICE" new project lake
cd lake || exit 1
for step in bronze silver gold; do
    "$SLUICE" run $step.lua --quiet 2>&1
    echo "$step: status $?"
done
"$SLUICE" why bronze --quarantine | head -n 2
zstd -dcq lake/gold/lake/latest/*
grep -h -e '\.class"' -e '\.source"' -e '\.tokenizer"' lake/*/lake/snapshots/000001.json
# What came in is written once.
sed -i 's/moon/Moon/' input/docs.jsonl
"$SLUICE" run bronze.lua --quiet 2>&1 | sed 's/^.*lake\/bronze/lake\/bronze/'
grep -rl '[A-Z]_HERE' . || echo 'every word was replaced'
cd ..
"$SLUICE" new project lake 2>&1
echo "status $?"
"$SLUICE" new project flow --lang c 2>&1
echo "status $?"
"$SLUICE" new project flow --json
make -s -C flow SLUICE="$SLUICE" check
