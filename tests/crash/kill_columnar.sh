# kill_columnar.sh - kill.sh (by SLUICE_TEST_KILL) where what is kept is written as Parquet, in files of several row groups.
# time limit: 3600
[ -f "$BUILD/plugins/columnar.so" ] || { echo 'the plugin columnar is not built'; exit 77; }
COLUMNAR=true
KILLS=${KILLS:-15}
. "$SRC/tests/crash/kill.sh"
[ "$(ls whole.out/kept/latest | wc -l)" -gt 8 ] || fail 'no task wrote several files'
