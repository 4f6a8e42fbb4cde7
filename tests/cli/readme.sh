# readme.sh - runs every example of README.md and of the tour in order and compares what it shows with what comes.
# Times, speeds, shares of time, keys and the folder may differ; everything else may not.
# README_UPDATE=1 tests/run readme writes examples that differ anew (then look at the changes).
[ -f "$SLUICE_ASSETS/o200k_base.tiktoken" ] || { echo 'the vocabulary is not there; pkg/setup --for test fetches it'; exit 77; }

mkdir sluice sluice/build || exit 1
ln -s "$SRC/scripts" "$SRC/sdk" "$SRC/Makefile" "$SRC/tests" sluice/
for file in "$BUILD"/*; do ln -s "$file" sluice/build/; done
rm -f sluice/build/assets
ln -s "$SLUICE_ASSETS" sluice/build/assets
cd sluice || exit 1

status=0
for page in README.md sdk/guides/tour.md; do
    rm -rf tour
    perl "$SRC/tests/cli/readme.pl" "$SRC/$page" ${README_UPDATE:+--update} || status=1
done
exit $status
