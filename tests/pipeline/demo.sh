# demo.sh - the pipelines that come with Sluice run on a small corpus, their report adds up, their
# heuristics' examples hold, and the cost policy halts a run that costs too much.
. "$SRC/tests/lib.sh"

tokenizer=$SRC/tests/data/tokenize/tiny_gpt2.json
pipelines=$SRC/scripts/pipelines
perl "$CORPUS" corpus files=6 docs=300 bad=0 >made || fail 'no corpus'

# balanced RUN: each stage's in = out + dropped + quarantined, but for transforms and writers
balanced() {
    count=$(json "$1/last.json" 'funnel.#')
    [ "$count" -ge 6 ] || fail "the report of $1 has $count stages"
    row=0
    while [ "$row" -lt "$count" ]; do
        role=$(json "$1/last.json" "funnel.$row.role")
        entered=$(json "$1/last.json" "funnel.$row.in")
        left=$({ json "$1/last.json" "funnel.$row.out" "funnel.$row.dropped.*" "funnel.$row.quarantined" 2>/dev/null || true; } | sum)
        case $role in
        transform | writer) ;;
        *) is "$left" "$entered" "rows of stage $(json "$1/last.json" "funnel.$row.name") in $1" ;;
        esac
        row=$((row + 1))
    done
}

for file in "$SRC"/scripts/heuristics/*.lua; do
    expect 0 "$SLUICE" test "$file"
    says 'examples, 0 failed'
done
for name in demo curate pretrain; do
    set -- "input=$TMP/corpus/*" "out=$TMP/$name"
    [ "$name" = curate ] || set -- "$@" "tokenizer=$tokenizer"
    expect 0 "$SLUICE" test "$pipelines/$name.lua" "$@"
    expect 0 "$SLUICE" check "$pipelines/$name.lua" "$@"
    status=0
    "$SLUICE" run "$pipelines/$name.lua" --run-dir "$TMP/$name.run" "$@" >"$name.out" 2>"$name.err" || status=$?
    is "$status" 0 "$name.lua: $(tail -n 1 "$name.err")"
    balanced "$name.run"
    is "$(json "$name.run/last.json" funnel.0.in)" "$(sed -n 's/^documents //p' made)" "documents that $name.lua read"
    expect 0 "$SLUICE" verify "$TMP/$name/dropped"
    expect 0 "$SLUICE" report "$name.run" --all --price 0.05
    says 'Bound by' 'cost:' 'phase 1'
    expect 0 "$SLUICE" report "$name.run" --md
    says '| stage |' "# $name: finished"
    # Again: nothing runs, and the report says so.
    expect 0 "$SLUICE" run "$pipelines/$name.lua" --run-dir "$TMP/$name.run" "$@"
    says 'Nothing ran' '(unchanged)'
done

expect 3 "$SLUICE" run "$pipelines/pretrain.lua" "input=$TMP/corpus/*" "out=$TMP/dear" "tokenizer=$tokenizer" dollars=0.0000000001 --run-dir "$TMP/dear.run"
says "policy 'cost' halts the run" 'raise budget'
[ ! -e "$TMP/dear/train/latest" ] || fail 'a halted run published'
expect 2 "$SLUICE" report "$TMP/demo.run" --price nothing
says 'expected dollars'
