# asks_stages_place.sh - asks_stages.sh where runs and datasets are in a place without folders, links and renaming, which refuses, loses, repeats
# and lists late.
STORE=hostile
. "$SRC/tests/pipeline/asks_stages.sh"
