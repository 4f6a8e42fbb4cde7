# same_bytes_place.sh - same_bytes.sh where runs and datasets are in a place without folders, links and renaming, which refuses,
# loses, repeats and lists late.
# time limit: 1200
STORE=hostile
. "$SRC/tests/pipeline/same_bytes.sh"
