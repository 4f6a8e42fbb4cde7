#!/bin/sh
# Runs pipeline.lua over the sample and compares what it writes with what is expected. `make test` calls it.
#
#   sh test/run.sh            SLUICE: the program, if it is not the `sluice` in PATH
set -eu
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
if ! "${SLUICE:-sluice}" run pipeline.lua out="$out/out" --run-dir "$out/run" >"$out/log" 2>&1; then
    cat "$out/log" >&2
    echo "test: pipeline.lua failed" >&2
    exit 1
fi
for expected in test/expected.*; do
    if ! cat "$out"/out/latest/* | diff -u "$expected" - >&2; then
        echo "test: pipeline.lua writes something else than $expected (lines with + are what it writes)" >&2
        exit 1
    fi
done
echo "test: pipeline.lua writes what is expected"
