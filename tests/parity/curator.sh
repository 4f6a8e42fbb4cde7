# The numeric heuristics of NeMo Curator and Data-Juicer against the packages: every number and decision.
# time limit: 3600
# shellcheck shell=sh
set -eu
# Both packages ask for far more than their text filters use (Ray, torch, video codecs): they are unpacked without what they depend on, and
# parity_curator.py stands in for what they import and these filters do not call.
list=$SRC/tests/parity/requirements-curator.txt
packages=${SLUICE_ASSETS:-$BUILD/assets}/parity-curator
if ! cmp -s "$list" "$packages/installed.txt"; then
    rm -rf "$packages"
    "$PYTHON" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --target "$packages" --requirement "$list"
    cp "$list" "$packages/installed.txt"
fi
exec "$PYTHON" "$SRC/tests/parity/parity_curator.py" "$TMP" "$packages"
