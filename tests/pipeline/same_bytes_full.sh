# same_bytes_full.sh - same_bytes.sh on at least 100 MB of real text (SLUICE_TEST_DATA), in the whole
# matrix: 1, 2, 4 and 7 workers x batches of 64 KiB, 1 MiB and 8 MiB x three memories (the least, at which
# sorters spill, twice that, and plenty), eight orders of tasks, every task by a process of its own in
# random order, and once on a processor without AVX, AVX2, AVX-512 and FMA (qemu-user, a part of the
# input); each run in another folder, with another run directory and output.
# Runs only with FULL=1; prints the time of each run.
# time limit: 7200
. "$SRC/tests/lib.sh"

[ -n "${FULL-}" ] || skip 'takes many minutes; FULL=1 runs it'
for file in manpages linux-doc-rst fortunes; do
    [ -f "$SLUICE_TEST_DATA/$file.jsonl.zst" ] || skip "$SLUICE_TEST_DATA/$file.jsonl.zst is absent"
done
mkdir corpus
for file in manpages linux-doc-rst fortunes; do ln -s "$SLUICE_TEST_DATA/$file.jsonl.zst" corpus/; done
# One of them many files, plain and gzip.
zstd -qdc "$SLUICE_TEST_DATA/fortunes.jsonl.zst" >all
split -n l/20 --additional-suffix=.jsonl all corpus/piece-
gzip -n corpus/piece-a[a-j].jsonl
bytes=$(($(wc -c <all) + $(cat corpus/*.zst | zstd -qdc | wc -c)))
rm all
[ "$bytes" -ge 100000000 ] || fail "only $bytes bytes of input"

tokenizer=$SLUICE_ASSETS/o200k_base.tiktoken
[ -f "$tokenizer" ] || tokenizer=$SRC/tests/data/tokenize/tiny_qwen.json
now() { date +%s%N; }

# go NAME PREFIX OPTION...: a run in folders of its own; prints its time
go() {
    name=$1
    prefix=$2
    shift 2
    mkdir -p "cwd.$name"
    start=$(now)
    # shellcheck disable=SC2086
    (cd "cwd.$name" && expect 0 $prefix "$SLUICE" run "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$TMP/$name.run" "input=$TMP/${corpus:-corpus}/*" \
        "out=$TMP/$name.out" gold=true "tokenizer=$tokenizer" split=2MiB partitions=16 "$@") || exit 1
    echo "$name: $((($(now) - start) / 1000000)) ms ($*)"
}

# equal NAME REFERENCE
equal() {
    same "$2.out" "$1.out" "datasets of $1"
    same "$2.run/tasks" "$1.run/tasks" "task records of $1"
    rm -rf "$1.out" "$1.run"
}

go first ''
echo "$(json first.run/last.json 'phases.*.tasks' | paste -s -d ' ') tasks, $bytes bytes of text, $(lines first.out/kept | wc -l) rows kept"
for workers in 1 2 4 7; do
    for batch in 64KiB 1MiB 8MiB; do
        # shellcheck disable=SC2086
        floor=$(least run "$SRC/tests/pipeline/web.lua" --quiet --run-dir "$TMP/least.run" "input=$TMP/corpus/*" "out=$TMP/least.out" gold=true \
            "tokenizer=$tokenizer" split=2MiB partitions=16 --workers $workers --batch $batch) || exit 1
        floor=${floor%MiB}
        for memory in "${floor}MiB" $((floor * 2))MiB 12GiB; do
            go "w$workers-$batch-$memory" '' --workers $workers --batch $batch --memory $memory
            equal "w$workers-$batch-$memory" first
        done
    done
done
for seed in 1 2 3 4 5 6 7 8; do
    SLUICE_TEST_DELAY=$seed
    export SLUICE_TEST_DELAY
    go "order$seed" '' --workers $((1 + seed % 4 * 2))
    unset SLUICE_TEST_DELAY
    equal "order$seed" first
done
go apart '' --workers 2
tasks_apart apart
go apart '' --workers 2
is "$(reran apart.run | sum)" 0 'tasks that the run that publishes works on'
equal apart first
if command -v qemu-x86_64 >/dev/null 2>&1; then
    mkdir part
    cp corpus/piece-ab* corpus/piece-ar* part/
    corpus=part
    go here ''
    go nehalem 'qemu-x86_64 -cpu Nehalem' --workers 2
    equal nehalem here
else
    echo 'qemu-user is not installed; the run without AVX and FMA is left out'
fi
