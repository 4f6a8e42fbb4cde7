# again_place.sh - again.sh where runs and datasets are in a place without folders, links and renaming, which refuses, loses, repeats
# and lists late.
STORE=hostile
. "$SRC/tests/pipeline/again.sh"
