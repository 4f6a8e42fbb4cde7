# read_csv against Python's csv, pyarrow and DuckDB: 120 files of random tables, and as many of random delimiters, quotes and line ends.
# time limit: 1800
set -eu
[ -f "$BUILD/plugins/read_csv.so" ] || { echo 'the plugin read_csv is not built'; exit 77; }
# shellcheck source=tests/parity/columnar_peers
. "$SRC/tests/parity/columnar_peers"
peers parquet --no-deps
PYTHONPATH=$folder exec "$PYTHON" "$SRC/tests/parity/parity_csv.py" "$SLUICE" "$TMP" --files "${PARITY_FILES:-240}"
