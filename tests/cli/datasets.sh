# What there is of datasets and their snapshots, told and compared; names for snapshots; old ones forgotten.
# shellcheck disable=SC1091
. "$SRC/tests/cli/look_kit"
make_corpus
make_pipeline
short() { neutral | sed -e 's/ *$//'; }
run() { "$SLUICE" run "$@" --quiet 2>&1 | short; }
"$SLUICE" datasets | short
run t.lua
cat >copy.lua <<'L'
local s = require "sluice"
return s.pipeline { "copy", s.dataset "out@first" | s.read_jsonl {} | s.named("again", s.write_jsonl { "lake/copied", compression = "none" }) }
L
run copy.lua
echo '-- tags'
"$SLUICE" tag out first | short
"$SLUICE" tag out | short
run copy.lua
sed -i 's/min_doc_words = 9/min_doc_words = 12/' t.lua
run t.lua
"$SLUICE" tag out first 2>&1 | short
"$SLUICE" tag out first --move --json | short
"$SLUICE" tag out@1 first --move | short
"$SLUICE" tag out latest 2>&1 | short
"$SLUICE" tag out@7 seven 2>&1 | short
"$SLUICE" tag out first --move --remove 2>&1 | short
"$SLUICE" head out@first -n 1 --json
echo '-- what there is'
"$SLUICE" datasets | short
"$SLUICE" datasets lake --json | short
echo '-- two of them'
"$SLUICE" diff out@first out --key id | short
"$SLUICE" diff out@1 lake/copied --key id --json | short
"$SLUICE" diff out dropped --key nothing 2>&1 | short
"$SLUICE" diff out dropped --text nothing 2>&1 | short
echo '-- old ones'
"$SLUICE" retain out 2>&1 | short
"$SLUICE" retain out --keep 1 --older soon 2>&1 | short
"$SLUICE" retain out --keep 1 | short
"$SLUICE" tag out first --remove | short
"$SLUICE" retain out --keep 1 | short
"$SLUICE" retain out --keep 1 --older 0s --dry-run --json | short
[ -e out/snapshots/000001.json ] || echo 'a dry run removed something'
"$SLUICE" retain out --keep 1 --older 0s | short
"$SLUICE" retain out --keep 1 --older 0s | short
find out -name '*.jsonl.zst' | wc -l
"$SLUICE" verify out --all | short
"$SLUICE" tag out first --remove 2>&1 | short
"$SLUICE" head out@first 2>&1 | short
run t.lua
ls out/snapshots
echo '-- small files'
"$SLUICE" compact out --dry-run | short
"$SLUICE" compact nowhere 2>&1 | short
