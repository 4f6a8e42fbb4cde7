# The tokenizer engine against tiktoken, Hugging Face tokenizers and SentencePiece, id for id: random strings and real text, every
# vocabulary at hand. PARITY_FULL=1 adds every Unicode character, ten million random strings and up to 120 MB of text.
# time limit: 43200
set -eu
# Real text: the collection where there is one, else what the demonstration reads.
data=$SLUICE_TEST_DATA
[ -d "$data" ] || data=$SRC/build/demo/corpus
megabytes=${PARITY_MEGABYTES:-5}
if [ -n "${PARITY_FULL:-}" ]; then
    [ "$megabytes" -le 120 ] || megabytes=120
    set -- --strings 20000 --more 10000000 --scalars 1
else
    # What is compared is many kinds of files, not much text.
    [ "$megabytes" -le 5 ] || megabytes=5
    set -- --strings $((megabytes * 1000)) --scalars $((1000 / (megabytes + 1))) --share 5
fi
exec "$PYTHON" "$SRC/tests/parity/parity_tokenize.py" "$BUILD/tests/parity/bpe_dump" "$SLUICE_ASSETS" --data "$data" --megabytes "$megabytes" "$@"
