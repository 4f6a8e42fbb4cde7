# read_arrow against pyarrow: files, streams and Feather files of 210 random schemas, with the types that Parquet has not, value by value.
# time limit: 1800
set -eu
[ -f "$BUILD/plugins/columnar.so" ] || { echo 'the plugin columnar is not built'; exit 77; }
# shellcheck source=tests/parity/columnar_peers
. "$SRC/tests/parity/columnar_peers"
peers parquet --no-deps
PYTHONPATH=$folder exec "$PYTHON" "$SRC/tests/parity/parity_arrow.py" "$SLUICE" "$TMP" --files "${PARITY_FILES:-210}"
