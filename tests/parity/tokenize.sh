# The BPE engine against tiktoken and Hugging Face tokenizers, id for id: random strings and real text, every vocabulary at hand.
# time limit: 900
set -eu
# Real text: the collection where there is one, else what the demonstration reads.
data=$SLUICE_TEST_DATA
[ -d "$data" ] || data=$SRC/build/demo/corpus
megabytes=${PARITY_MEGABYTES:-5}
[ "$megabytes" -le 5 ] || megabytes=5
exec "$PYTHON" "$SRC/tests/parity/parity_tokenize.py" "$BUILD/tests/parity/bpe_dump" "$SLUICE_ASSETS" --data "$data" --megabytes "$megabytes"
