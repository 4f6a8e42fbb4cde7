#!/bin/sh
# Runs pipeline.lua over the sample, with a server that gives texts a score (server.pl), and compares what it writes with what is expected;
# then once more, when nothing is asked. `make test` calls it.
#
#   sh test/run.sh            SLUICE: the program, if it is not the `sluice` in PATH
set -eu
cd "$(dirname "$0")/.."
out=$(mktemp -d)
server=
trap 'test -z "$server" || kill "$server"; rm -rf "$out"' EXIT
perl test/server.pl "$out/asked" >"$out/port" &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do [ -s "$out/port" ] && break; sleep 1; done

run() {
    if ! "${SLUICE:-sluice}" run pipeline.lua server="127.0.0.1:$(cat "$out/port")" out="$out/out" --run-dir "$out/run" "$@" >"$out/log" 2>&1; then
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
}
run
asked=$(wc -l <"$out/asked")
run --fresh
if [ "$(wc -l <"$out/asked")" != "$asked" ]; then
    echo "test: what is in the run's journal was asked again: does a request change from run to run?" >&2
    exit 1
fi
echo "test: pipeline.lua writes what is expected, and asks once"
