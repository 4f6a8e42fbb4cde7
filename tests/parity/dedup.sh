# Exact and sentence deduplication and n-gram decontamination against datatrove, the janitor against lm-evaluation-harness, and Dolma's
# deduplication fixtures: survivors, texts and what was found, document for document.
# time limit: 3600
set -eu
exec "$PYTHON" "$SRC/tests/parity/parity_dedup.py" --tmp "$TMP"
