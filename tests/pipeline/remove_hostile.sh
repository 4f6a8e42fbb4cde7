# remove_hostile.sh - remove.sh where datasets are in a place without links, renaming and folders, which refuses requests, loses answers,
# performs some twice and lists late.
# time limit: 1800
# shellcheck shell=sh
# shellcheck disable=SC2034
STORE=hostile
KILLS=${KILLS:-8}
WITHIN=40 # operations on disks, of which there are few
# shellcheck source=tests/pipeline/remove.sh
. "$SRC/tests/pipeline/remove.sh"
