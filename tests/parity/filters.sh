# URL, language, fastText, C4 paragraph and bad words, unigram, regex, sampler, PII and symbol-line stages against datatrove.
# time limit: 10800
set -eu
exec "$PYTHON" "$SRC/tests/parity/parity_filters.py" "$TMP"
