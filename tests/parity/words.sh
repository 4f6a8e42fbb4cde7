# The words and sentences of spacy-en against datatrove's English tokenizer, token for token: random strings and the shared corpus.
# time limit: 3600
set -eu
megabytes=${PARITY_MEGABYTES:-50}
set -- --megabytes "$megabytes"
[ -d "${SLUICE_TEST_DATA:-}" ] && set -- "$@" --data "$SLUICE_TEST_DATA"
"$PYTHON" "$SRC/tests/parity/corpus.py" "$TMP/corpus.jsonl" "$@"
exec "$PYTHON" "$SRC/tests/parity/parity_words.py" "$BUILD/tests/parity/words_dump" "$TMP/corpus.jsonl" --strings "$((megabytes * 2000))"
