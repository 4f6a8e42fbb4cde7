# Time and memory of planning grow with files and tasks as they should; `make soak` does it with a hundred thousand.
set -eu
[ -x "$BUILD/tests/bench/measure" ] || { echo 'no build/tests/bench/measure (make benches)'; exit 77; }
FILES=2000 exec sh "$SRC/tests/soak/plan.sh"
