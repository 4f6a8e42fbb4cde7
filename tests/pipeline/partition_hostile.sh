# partition_hostile.sh - partition.sh where runs and datasets are in a place without links, renaming and folders.
# time limit: 1800
# shellcheck shell=sh
# shellcheck disable=SC2034
STORE=hostile
# shellcheck source=tests/pipeline/partition.sh
. "$SRC/tests/pipeline/partition.sh"
