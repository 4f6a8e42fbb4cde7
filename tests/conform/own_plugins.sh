# own_plugins.sh - every stage of our own plugins, hidden ones as well, and of our own heuristics,
# passes the conformance kit.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

data=$SRC/tests/data/tokenize

# test FILE OPTION... : its report goes to a file of its own; prints what fails.
kit() {
    file=$1
    shift
    report=$TMP/$(basename "$file").report
    status=0
    "$SLUICE" test-plugin "$file" --time-limit 300 "$@" >"$report" 2>&1 || status=$?
    if [ "$status" != 0 ]; then
        echo "$file: exit status $status"
        grep -v -e '^passed' -e '^skipped' "$report"
    fi
}

perl "$SRC/tests/data/fasttext_model.pl" >"$TMP/model.bin"
printf 'the\nof\n' >"$TMP/words"
printf 'word,count\nthe,90\nof,10\n' >"$TMP/frequencies.csv"

i=0
echo 'id,text,n,score' >"$TMP/rows.csv"
while [ $i -lt 300 ]; do
    i=$((i + 1))
    printf '%d,"text ""%d"",\nand more",%d,%d.5\n' $i $i $i $i
done >>"$TMP/rows.csv"

run() {
    while read -r file; do
        case $file in
        */decontaminate.so) kit "$file" --option "reference=$SRC/tests/data/decontaminate/reference.jsonl" ;;
        */tokenize.so) kit "$file" --option "tokenizer=$data/tiny_gpt2.json" ;;
        */fasttext.so) kit "$file" --option "model=$TMP/model.bin" --option tagger=ft_lang_id_en_paragraph_with_doc_score_v2 ;;
        */join.so) kit "$file" --option on=id --option columns=text ;;
        */select.so) kit "$file" --option 'regex=[aeiou]{2}' --option "expression=id like '%1%' or text > 'm'" ;;
        */columns.so) kit "$file" --option columns=text --option names=text=body --option types=text=binary ;;
        */columnar.so)
            : >"$TMP/columnar.so.all"
            for stage in read_arrow read_parquet write_arrow write_csv write_parquet; do
                case $stage in
                read_arrow) kit "$file" $stage --data "$SRC/tests/data/arrow/docs.arrow" ;;
                read_*) kit "$file" $stage --data "$SRC/tests/data/parquet/docs.parquet" ;;
                *) kit "$file" $stage ;;
                esac
                cat "$TMP/columnar.so.report" >>"$TMP/columnar.so.all"
            done
            mv "$TMP/columnar.so.all" "$TMP/columnar.so.report"
            ;;
        */read_csv.so) kit "$file" --data "$TMP/rows.csv" ;;
        */url.so) kit "$file" --option extra_domains=example.com --option extra_words=news ;;
        */quality.so) kit "$file" --option "en=$TMP/words" --option "frequencies=$TMP/frequencies.csv" ;;
        */dolma.so) kit "$file" --option taggers=gopher_v1,gopher_v2,c4_v1,c4_v2,repetitions_v1,pii_regex_v2,pii_regex_with_counts_fast_v2,tokenizer_repetitions_v2r2 \
            --option "tokenizer=$data/tiny_deepseek.json" \
            --option no_bad_words=true --option name=web__kit__score --option min_text_length=20 --option aligned=false ;;
        # The kit makes lists of any length: a loss mask would not be the tokens'.
        */pack.so | */write_tokens.so | */write_megatron.so) kit "$file" --option loss_mask= ;;
        # Three dozen stages of one kind: what could differ between them, and everything with FULL=1.
        */curator.lua | */data_juicer.lua)
            if [ -n "${FULL-}" ]; then
                kit "$file"
            else
                for check in runs nulls hostile_text row_local; do kit "$file" --only "$check"; done
            fi
            ;;
        *) kit "$file" ;;
        esac
    done
}

for file in "$BUILD"/plugins/*.so "$SRC"/scripts/heuristics/*.lua; do echo "$file"; done >"$TMP/files"
awk 'NR % 2' "$TMP/files" | run >"$TMP/odd" &
first=$!
awk 'NR % 2 == 0' "$TMP/files" | run >"$TMP/even"
wait "$first"
if [ -s "$TMP/odd" ] || [ -s "$TMP/even" ]; then
    cat "$TMP/odd" "$TMP/even" >&2
    fail 'a plugin of our own fails the kit'
fi

# No stage is skipped as a whole: each one of the index came through an ordinary run.
for file in "$BUILD"/plugins/*.so; do
    grep -q '^passed  .*: runs$' "$TMP/$(basename "$file").report" || fail "no stage of $file ran"
    if grep -q '^skipped .*: runs ' "$TMP/$(basename "$file").report"; then
        grep '^skipped .*: runs ' "$TMP/$(basename "$file").report" >&2
        fail "a stage of $file did not run"
    fi
done
# And the checks that matter most were not skipped where they apply.
for line in 'c4_quality: row_local' 'pack: batch_splits' 'read_jsonl: chunks' 'gate_check: gate_merge' 'contract_check: gate_merge' 'contract_rows: row_local' 'cast_columns: row_local' 'gopher_quality: threads' \
    'write_jsonl: rolls' 'minhash_components: batch_splits' 'tokenize: allocations' 'read_text: deterministic'; do
    grep -qh "^passed  $line\$" "$TMP"/*.report || fail "not passed: $line"
done
