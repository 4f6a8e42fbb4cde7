# Statistics against datatrove's stats blocks: every value of every document, and every group of every statistic.
# time limit: 1500
set -eu
# Half the size of the other tests: datatrove takes 15 s of a processor for a megabyte here.
exec "$PYTHON" "$SRC/tests/parity/parity_stats.py" "$TMP" "$((${PARITY_MEGABYTES:-50} / 2))"
