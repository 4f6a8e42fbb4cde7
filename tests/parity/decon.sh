# The rule of decon against a model of it in Python, on ten thousand documents made of benchmark items with words changed, left out and put in.
# shellcheck shell=sh
set -eu
exec "$PYTHON" "$SRC/tests/parity/parity_decon.py" "$TMP"
