# Why a document is missing, what was dropped for what, what is quarantined, why a task runs.
# shellcheck disable=SC1091
. "$SRC/tests/cli/look_kit"
make_corpus
make_pipeline
"$SLUICE" why t --dropped 2>&1 | neutral
"$SLUICE" run t.lua --quiet >/dev/null 2>&1 || echo "run failed: $?"
for id in a1 a3 b3 b5; do
    "$SLUICE" why t --id $id | neutral
done
"$SLUICE" why t --task 1 --row 2 | neutral
echo '-- by reason'
"$SLUICE" why t --reason gopher_short_doc
"$SLUICE" why t --reason gopher_short_doc --near -n 2 --text
"$SLUICE" why t --reason exact_duplicate
"$SLUICE" why t --reason gopher_short_doc --stage exact
echo '-- counts'
"$SLUICE" why t
"$SLUICE" why t --dropped --stage exact --json
echo '-- quarantine'
"$SLUICE" why t --quarantine
"$SLUICE" why t --quarantine --json | neutral
echo '-- tasks'
"$SLUICE" why t --task 0
echo '{"id":"a6","text":"a new one with the words"}' >>in/a.jsonl
"$SLUICE" why t --task 0
"$SLUICE" prepare t.lua >/dev/null
"$SLUICE" why t --task 0
"$SLUICE" why t --task 2
echo '-- what was done before the script changed is still known'
make_corpus
sed 's/min_doc_words = 9/min_doc_words = 2/' t.lua >t2.lua
"$SLUICE" run t2.lua --limit 1 --quiet --run-dir .sluice/t >/dev/null 2>&1
sed -i 's/min_doc_words = 2/min_doc_words = 3/' t2.lua
"$SLUICE" prepare t2.lua --limit 1 --run-dir .sluice/t >/dev/null
"$SLUICE" why t --id a1 2>&1 | neutral
echo '-- errors'
for wrong in '--id nobody' '--id lost' '--reason gopher_short' '--stage exat' '--task 99' '--row 3' '--id a --task 1' '-n none'; do
    # shellcheck disable=SC2086
    "$SLUICE" why t $wrong 2>&1
    echo "exit $?"
done
"$SLUICE" why nothing --dropped 2>&1 | neutral
