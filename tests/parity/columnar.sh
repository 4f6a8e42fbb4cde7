# Written columnar files against their readers: 200 random schemas through write_parquet, write_arrow and write_csv, read by pyarrow, DuckDB,
# Polars and pandas; the hub's layout by Hugging Face's datasets. Values must be equal.
# time limit: 1800
set -eu
[ -f "$BUILD/plugins/columnar.so" ] || { echo 'the plugin columnar is not built'; exit 77; }
# shellcheck source=tests/parity/columnar_peers
. "$SRC/tests/parity/columnar_peers"
peers columnar
HF_HUB_OFFLINE=1 HF_HOME=$TMP/hub PYTHONPATH=$folder exec "$PYTHON" "$SRC/tests/parity/parity_columnar.py" "$SLUICE" "$TMP" --files "${PARITY_FILES:-200}"
