# Runs and datasets in a place without folders, links and renaming, under many seeds of what goes wrong there (core/store/store_hostile.c):
# the crash tests and those of same bytes, each as often as there are rounds. ROUNDS (1), SEED, KILLS (20), ONLY: one of them.
# time limit: 7200
# STORE=hostile
set -eu
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"
ROUNDS=${ROUNDS:-1}
first=${SEED:-1}
KILLS=${KILLS:-20}
POINTS=${POINTS:-6}
SEEDS=${SEEDS:-16}
export KILLS POINTS SEEDS
echo "$ROUNDS rounds from seed $first"
round=0
while [ "$round" -lt "$ROUNDS" ]; do
    SEED=$((first + round))
    export SEED
    round=$((round + 1))
    for script in ${ONLY:-crash/kill pipeline/dedup_kill crash/errors crash/finish crash/failures crash/races crash/signals crash/damage crash/claims \
        crash/workers crash/late crash/asks pipeline/asks_stages pipeline/asks_kit pipeline/same_bytes pipeline/incremental pipeline/work pipeline/prepare pipeline/limit pipeline/twins \
        pipeline/again pipeline/lock pipeline/units pipeline/spill pipeline/places_gc pipeline/places_map pipeline/places_looks}; do
        mkdir -p "$TMP/one"
        begin=$(date +%s)
        if ! (cd "$TMP/one" && TMP=$TMP/one STORE=hostile sh "$SRC/tests/$script.sh") >"$TMP/said" 2>&1; then
            tail -n 40 "$TMP/said" >&2
            fail "$script, seed $SEED"
        fi
        echo "$script, seed $SEED: $(($(date +%s) - begin)) s"
        rm -rf "$TMP/one"
    done
done
