# gopher_quality, gopher_repetition, c4_quality and fineweb_quality against datatrove's, document by document, with spaCy's words.
# time limit: 3600
set -eu
exec "$PYTHON" "$SRC/tests/parity/parity_quality.py" "$TMP"
