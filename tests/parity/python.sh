# python.sh - the wheel: the same build gives the same bytes; in a clean environment pip installs it without an index, and from there pipelines
# run, datasets become DataFrames and Arrow tables, and the tokenizer's ids are tiktoken's, at the speed of `sluice tokenize`.
# time limit: 1800
. "$SRC/tests/lib.sh"

"$PYTHON" "$SRC/pkg/wheel" "$BUILD" 0.1.0 "$TMP/one" >path || fail 'no wheel'
"$PYTHON" "$SRC/pkg/wheel" "$BUILD" 0.1.0 "$TMP/two" >/dev/null || fail 'no second wheel'
wheel=$(tail -n 1 path)
cmp "$wheel" "$TMP/two/$(basename "$wheel")" >&2 || fail 'the same build gives two wheels'
"$PYTHON" -m venv "$TMP/clean" && "$TMP/clean/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel" || fail 'pip'

# tiktoken, numpy, pandas and pyarrow are those of the other tests, behind what is installed.
# shellcheck source=tests/parity/columnar_peers
. "$SRC/tests/parity/columnar_peers"
peers columnar
packages() { "$1" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])'; }
{ packages "$PYTHON" && echo "$folder"; } >"$(packages "$TMP/clean/bin/python")/peers.pth" || fail 'no packages of others'
cp "$SRC/sdk/examples/docs.jsonl" .
env -i HOME="$TMP" PATH=/usr/bin:/bin "$TMP/clean/bin/python" "$SRC/tests/parity/parity_python.py" "$SLUICE_ASSETS" "${SLUICE_TEST_DATA:-}"
