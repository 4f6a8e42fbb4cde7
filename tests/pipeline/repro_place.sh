# repro_place.sh - repro.sh where runs and datasets are in a place without folders, links and renaming, which refuses, loses, repeats
# and lists late.
STORE=hostile
. "$SRC/tests/pipeline/repro.sh"
