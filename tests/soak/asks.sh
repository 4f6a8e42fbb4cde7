# Runs that ask a server, killed at fifty points (KILLS) by may_be_killed: see tests/crash/asks.sh, which is the same for every day.
# time limit: 3600
set -eu
KILLS=${KILLS:-50} exec sh "$SRC/tests/crash/asks.sh"
