# dedup_kill_place.sh - dedup_kill.sh where runs and datasets are in a place without folders, links and renaming, which refuses, loses, repeats
# and lists late.
# time limit: 900
STORE=hostile
. "$SRC/tests/pipeline/dedup_kill.sh"
