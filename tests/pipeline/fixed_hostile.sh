# fixed_hostile.sh - fixed.sh where runs and datasets are in a place without links, renaming and folders, which refuses requests, loses answers,
# performs some twice and lists late.
# time limit: 1800
# shellcheck shell=sh
# shellcheck disable=SC2034
STORE=hostile
# shellcheck source=tests/pipeline/fixed.sh
. "$SRC/tests/pipeline/fixed.sh"
