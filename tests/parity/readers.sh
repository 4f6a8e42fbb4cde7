# The token files against the readers of those who train on them: Megatron's IndexedDataset, datatrove's .ds datasets and document reader,
# MosaicML streaming's LocalDataset and StreamingDataset, OLMo-core's NumpyFSLDataset. Each must return exactly our documents. nanoGPT is no
# package, and nanotron's in the registry is older than its memory-mapped dataset: for these two the test has their documented layouts.
# time limit: 900
set -eu
# Megatron, OLMo-core and streaming want torch, which reads no byte of these files: they come without what they depend on, into a folder of their own.
list=$SRC/tests/parity/requirements-readers.txt
folder=${SLUICE_ASSETS:-$BUILD/assets}/parity-readers
if ! cmp -s "$list" "$folder/installed.txt"; then
    rm -rf "$folder"
    mkdir -p "$folder"
    "$PYTHON" -m pip install --quiet --disable-pip-version-check --no-deps --target "$folder" --requirement "$list"
    cp "$list" "$folder/installed.txt"
fi
PYTHONPATH=$folder${PYTHONPATH:+:$PYTHONPATH} exec "$PYTHON" "$SRC/tests/parity/parity_readers.py" "$TMP"
