# asks_store.sh - tests/crash/asks.sh where the run is in a store without folders, links and append, whose requests go wrong.
# time limit: 1800
set -eu
STORE=hostile exec sh "$SRC/tests/crash/asks.sh"
