# RefinedWeb's rules against models of DCLM's and datamap-rs' definitions: every decision, reason, value and edited text.
# time limit: 1800
set -eu
exec "$PYTHON" "$SRC/tests/parity/parity_web.py" "$TMP"
