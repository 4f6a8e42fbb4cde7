# read_parquet against pyarrow: files of 200 random schemas (numbers, texts, dates, times, decimals, lists, structs, maps; nulls, codecs, pages,
# dictionaries), and others' collection of Parquet files, value by value; the bytes that are read for one column of 50. Rows that
# `where` chooses against pyarrow's filters (and DuckDB's, where it is installed).
# time limit: 1800
set -eu
[ -f "$BUILD/plugins/columnar.so" ] || { echo 'the plugin columnar is not built'; exit 77; }
# shellcheck source=tests/parity/columnar_peers
. "$SRC/tests/parity/columnar_peers"
peers parquet --no-deps
set -- "$SLUICE" "$TMP" --files "${PARITY_FILES:-200}"
if [ -f "${SLUICE_TEST_DATA:-}/parquet.tar.zst" ]; then
    mkdir "$TMP/others"
    tar --zstd -xf "$SLUICE_TEST_DATA/parquet.tar.zst" -C "$TMP/others"
    set -- "$@" --data "$TMP/others/parquet/parquet-testing/data"
fi
PYTHONPATH=$folder "$PYTHON" "$SRC/tests/parity/parity_parquet.py" "$@"
PYTHONPATH=$folder exec "$PYTHON" "$SRC/tests/parity/parity_where.py" "$SLUICE" "$TMP/where" --expressions "${PARITY_EXPRESSIONS:-200}"
