# ledger.sh - every row is accounted for: the equations hold in every task's record (checked apart
# from the engine), the whole adds up to the lines of the input, and a count that is wrong anywhere
# fails the run and publishes nothing.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=3 docs=300 bad=6 >made || fail 'no corpus'
lines=$(sed -n 's/^documents //p' made)
bad=$(sed -n 's/^bad //p' made)
[ "$bad" -gt 0 ] || fail 'no bad records'
gold=
"$SLUICE" inspect pack >/dev/null 2>&1 && "$SLUICE" inspect write_megatron >/dev/null 2>&1 &&
    gold="gold=true tokenizer=$SRC/tests/data/tokenize/tiny_qwen.json"

go() {
    name=$1
    command=$2
    shift 2
    # shellcheck disable=SC2086
    "$SLUICE" "$command" "$SRC/tests/pipeline/web.lua" --run-dir "$TMP/$name.run" "input=$TMP/corpus/*" "out=$TMP/$name" \
        partitions=4 max_bad=3% $gold "$@"
}

expect 0 go good run --quiet
expect 0 go good plan --json
cp stdout plan.json
expect 0 perl "$SRC/tests/pipeline/ledger.pl" good.run plan.json
cat stdout

# The whole: lines = quarantined + kept + dropped, in the report, the manifest and the files.
report=good.run/last.json
is "$(json $report quarantined)" "$bad" quarantined
manifest=good/kept/snapshots/000001.json
is "$(json $manifest ledger.read_jsonl.emitted)" $((lines - bad)) 'rows read'
is "$(json $manifest ledger.read_jsonl.quarantined)" "$bad" 'rows quarantined'
kept=$(json $manifest ledger.kept.written)
lost=$(json $manifest ledger.lost.written)
is $((kept + lost)) $((lines - bad)) 'kept + dropped'
is "$(lines good/kept | wc -l)" "$kept" 'rows kept'
is "$(lines good/dropped | wc -l)" "$lost" 'rows dropped'
if [ -n "$gold" ]; then
    is "$(json $manifest ledger.tokenize.emitted)" "$kept" 'documents with tokens'
fi

# break OP:FIELD
fields='gopher_quality:in gopher_quality:kept gopher_quality:dropped gopher_quality:quarantined gopher_quality:emitted
    gopher_repetition:kept gopher_repetition:dropped no_lorem:kept no_lorem:dropped read_jsonl:emitted exact_keys:consumed exact_keys:emitted exact_drops:consumed
    exact_drops:emitted exact:dropped exact:kept minhash_sign:kept minhash_keys:emitted minhash_edges:consumed
    minhash_components:consumed minhash:emitted minhash.dropped:emitted kept:written kept:in kept:quarantined lost:written'
[ -z "$gold" ] || fields="$fields tokenize:kept gold:written gold:in pack:consumed pack:measure"
cases=0
for broken in 'minhash_sign, rows:emitted' 'exact_keys, by key:written' 'minhash.dropped, rows:written' $fields \
    'no_lorem, rows:written'; do
    echo "breaking $broken"
    rm -rf bad bad.run
    SLUICE_TEST_LEDGER=$broken
    export SLUICE_TEST_LEDGER
    expect 1 go bad run --quiet
    unset SLUICE_TEST_LEDGER
    says 'the ledger of' 'does not balance'
    for dataset in kept dropped gold; do
        [ ! -e "bad/$dataset/latest" ] && [ -z "$(ls "bad/$dataset/snapshots" 2>/dev/null)" ] || fail "$broken: $dataset was published"
    done
    cases=$((cases + 1))
done
# The program that people run has no such hooks.
SLUICE_TEST_LEDGER=$broken
export SLUICE_TEST_LEDGER
SLUICE=$BUILD/sluice
expect 0 go released run --quiet
unset SLUICE_TEST_LEDGER
! grep -q 'SLUICE_TEST_[LKF]' "$BUILD/libsluice-core.so" || fail 'there are test hooks in the core library'
# What was kept of the last broken run is sound.
expect 0 go bad run --quiet
same good bad 'datasets after a broken ledger'
echo "$cases wrong counts found"
