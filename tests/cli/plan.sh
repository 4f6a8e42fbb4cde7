# What a run would do and why: before the first run, after it, after changes of input, options and stages.
# shellcheck disable=SC1091
. "$SRC/tests/cli/look_kit"
make_corpus
make_pipeline
run() { "$SLUICE" run t.lua --quiet >/dev/null 2>&1 || echo "run failed: $?"; }
why() { "$SLUICE" plan t.lua | grep -A 9 '^  runs' | sed -e '/^$/,$d' -e '/^  about/d'; }

echo '-- first'
"$SLUICE" plan t.lua | neutral
[ -e .sluice ] && echo 'plan made a run directory'
run
echo '-- after a run'
"$SLUICE" plan t.lua | neutral | head -n 1
"$SLUICE" plan t --tasks | neutral | grep '  task '
before=$(find .sluice out dropped | sort)
"$SLUICE" plan t.lua --json | grep -o '"reused":6,"run":0'
[ "$before" = "$(find .sluice out dropped | sort)" ] || echo 'plan changed the run directory'
echo '-- an input changed'
echo '{"id":"b6","text":"a new one with the words"}' >>in/b.jsonl
why
echo '-- an option too'
sed -i 's/min_doc_words = 9/min_doc_words = 8/' t.lua
why
"$SLUICE" prepare t.lua >/dev/null
"$SLUICE" why t --task 1
"$SLUICE" plan t.lua | head -n 1
run
echo '-- a stage is new'
sed -i 's/| s.exact/| s.c4_quality {} | s.exact/' t.lua
why
run
echo '-- a stage is gone'
sed -i 's/| s.c4_quality {} //' t.lua
"$SLUICE" plan t.lua | head -n 1
sed -i 's/docs | s.gopher_quality {[^}]*}/docs/' t.lua
why
echo '-- nothing is reused with --fresh'
make_pipeline
"$SLUICE" plan t.lua --fresh | head -n 1
echo '-- another file'
cp in/a.jsonl in/c.jsonl
sed -i 's|in/b.jsonl|in/[bc].jsonl|' t.lua
why
"$SLUICE" plan t.lua --files | grep -c "$TMP/in/"
echo '-- nobody reads it'
{ sleep 0.1; "$SLUICE" plan t.lua 2>&4; } 4>err | :
cat err
