# MinHash against datatrove: signature files byte for byte, clusters and survivors document for document.
# time limit: 1800
set -eu
export TQDM_DISABLE=1
exec "$PYTHON" "$SRC/tests/parity/parity_minhash.py" --dump "$BUILD/tests/parity/minhash_dump" --tmp "$TMP"
