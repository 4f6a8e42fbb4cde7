# late_hostile.sh - late.sh where runs and datasets are in a place without folders, links and renaming.
STORE=hostile
. "$SRC/tests/crash/late.sh"
