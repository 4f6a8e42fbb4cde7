# spill_place.sh - spill.sh where runs and datasets are in a place without folders, links and renaming, which refuses, loses, repeats
# and lists late; scratch is on this machine's disk.
STORE=hostile
WORKERS=${WORKERS:-3}
. "$SRC/tests/pipeline/spill.sh"
