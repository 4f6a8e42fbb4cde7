# workers_hostile.sh - workers.sh where runs and datasets are in a place without folders, links and renaming, which refuses, loses, repeats
# and lists late.
# time limit: 900
STORE=hostile
. "$SRC/tests/crash/workers.sh"
