# Runs in a store (STORE=hostile) that ask a server, killed at fifty points (KILLS): see tests/crash/asks_store.sh, which is the same for every day.
# time limit: 3600
set -eu
KILLS=${KILLS:-50} exec sh "$SRC/tests/crash/asks_store.sh"
