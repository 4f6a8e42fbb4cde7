# Dolma's taggers and mixer against dolma_tag and dolma_mix: every span and score, its own end-to-end fixtures, random configurations.
# time limit: 3600
set -eu
# Its pins (tokenizers below 0.20, numpy below 2, an s3fs whose own pins nothing resolves) exclude those of the other peers: an environment of
# its own, of exactly the packages of the list. $PYTHON itself serves if it has the package.
python=$PYTHON
list=$SRC/tests/parity/requirements-dolma.txt
if ! "$python" -c 'import dolma' 2>/dev/null; then
    environment=${SLUICE_ASSETS:-$BUILD/assets}/parity-dolma-python
    if ! cmp -s "$list" "$environment/installed.txt"; then
        rm -rf "$environment"
        python3 -m venv "$environment"
        "$environment/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$list"
        cp "$list" "$environment/installed.txt"
    fi
    python=$environment/bin/python
fi
exec "$python" "$SRC/tests/parity/parity_dolma.py" "$TMP"
