# The state of a run: phases, datasets, history; while another process works on it; when its inputs are gone.
# shellcheck disable=SC1091
. "$SRC/tests/cli/look_kit"
make_corpus
make_pipeline
"$SLUICE" show t 2>&1 | neutral
"$SLUICE" run t.lua --quiet >/dev/null 2>&1 || echo "run failed: $?"
"$SLUICE" show t | neutral
"$SLUICE" run t.lua --quiet >/dev/null 2>&1 || echo "run failed: $?"
echo '{"id":"b6","text":"a new one with the words"}' >>in/b.jsonl
"$SLUICE" show "$PWD/.sluice/t" --plan | neutral | sed -n 3p
"$SLUICE" prepare t.lua | neutral
"$SLUICE" show "$PWD/.sluice/t" --plan | neutral
"$SLUICE" show t --json | neutral | grep -o '"state":"[a-z]*"' | sort | uniq -c | sed 's/^ *//'
echo '-- a run that did not end'
killed_midway
"$SLUICE" show t | neutral | sed -n 1p
echo '-- inputs are gone'
mv in away
"$SLUICE" show t | neutral | sed -n 3p
