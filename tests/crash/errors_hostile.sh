# errors_hostile.sh - errors.sh where runs and datasets are in a place without folders, links and renaming, which refuses, loses, repeats
# and lists late.
# time limit: 1800
STORE=hostile
POINTS=${POINTS:-4}
. "$SRC/tests/crash/errors.sh"
