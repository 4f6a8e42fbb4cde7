# Normalizers, pre-tokenizers, Unigram and WordPiece against Hugging Face tokenizers and SentencePiece: each alone, and whole files.
set -eu
megabytes=${PARITY_MEGABYTES:-5}
strings=250
[ "$megabytes" -le 2 ] || strings=2500
[ "$megabytes" -le 5 ] || megabytes=5
set -- --megabytes "$megabytes" --seed 5
[ ! -d "${SLUICE_TEST_DATA:-}" ] || set -- "$@" --data "$SLUICE_TEST_DATA"
"$PYTHON" "$SRC/tests/parity/corpus.py" "$TMP/corpus.jsonl" "$@"
exec "$PYTHON" "$SRC/tests/parity/parity_normalize.py" "$BUILD/tests/parity/normalize_dump" --loader "$BUILD/tests/parity/bpe_dump" \
    --strings "$strings" --text "$TMP/corpus.jsonl"
