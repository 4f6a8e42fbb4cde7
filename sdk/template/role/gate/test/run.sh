#!/bin/sh
# Runs pipeline.lua over the sample, once with a limit that passes and once with one that halts the run (exit status 3).
# `make test` calls it.
#
#   sh test/run.sh            SLUICE: the program, if it is not the `sluice` in PATH
set -eu
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# run NAME STATUS ARGUMENT...
run() {
    name=$1
    wanted=$2
    shift 2
    found=0
    "${SLUICE:-sluice}" run pipeline.lua out="$out/$name" --run-dir "$out/run-$name" "$@" >"$out/log" 2>&1 || found=$?
    if [ "$found" != "$wanted" ]; then
        cat "$out/log" >&2
        echo "test: pipeline.lua $* ends with status $found, expected $wanted" >&2
        exit 1
    fi
}

run passes 0
if ! cat "$out"/passes/latest/* | diff -u test/expected.jsonl - >&2; then
    echo "test: pipeline.lua writes something else than test/expected.jsonl (lines with + are what it writes)" >&2
    exit 1
fi
run halts 3 max_share=0.1
if [ -e "$out/halts/latest" ]; then
    echo "test: a run that the gate halted has published its output" >&2
    exit 1
fi
echo "test: the gate passes the sample, and halts the run when the limit is lower"
