# kit.sh - sluice test-plugin names what is wrong with each stage of the bad plugins beside this file: the check that must fail, and a word of what it
# says. Runs the stages with two jobs at a time; a stage is given the checks that matter here, so that this stays fast.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

# plugin stage check words-of-the-message
cat >"$TMP/table" <<'TABLE'
bad_crash crash_open runs open crashes
bad_crash crash_prepare runs prepare crashes
bad_crash crash_worker_open runs worker_open crashes
bad_crash crash_process runs process crashes
bad_crash crash_flush runs flush crashes
bad_crash crash_worker_close runs worker_close crashes
bad_crash crash_close runs close crashes
bad_crash crash_save restore save crashes
bad_crash crash_load restore load crashes
bad_crash crash_judge runs judge crashes
bad_process hangs runs process does not return
bad_process exits runs process ends the process with exit status 7
bad_process aborts runs process crashes with signal 6
bad_process kills_itself runs process crashes with signal 9
bad_process forks processes process calls fork
bad_process changes_folder process_state working directory
bad_process handles_signals signals SigCgt
bad_process masks_signals signals SigBlk
bad_process sets_locale process_state locale
bad_process sets_umask process_state Umask
bad_process sets_environment process_state SLUICE_BAD
bad_process rounds_otherwise process_state rounding mode
bad_process leaves_open descriptors /dev/null
bad_process closes_others descriptors descriptor 2
bad_process opens_socket descriptors opens a socket
bad_process leaves_thread processes still run
bad_memory writes_input input_read_only it writes its input
bad_memory releases_input runs releases a column of its input
bad_memory reads_on runs it reads past the end of its input
bad_memory leaks leaks stay allocated
bad_memory leaks_host leaks of the host's memory are still held
bad_memory trusts_malloc allocations process crashes
bad_memory trusts_host allocations process crashes
bad_memory keeps_without_memory allocations carries on with another result
bad_memory recurses huge_string process crashes
bad_memory allocates_without_end runs memory is used up, which it is not
bad_lies too_many_verdicts verdicts verdicts for
bad_lies no_verdicts verdicts without verdicts
bad_lies unknown_reason verdicts has the reason 2
bad_lies remembers row_local smallest example: generated row
bad_lies counts_batches batch_splits depends on how rows are cut
bad_lies races threads disturb each other
bad_lies reads_clock deterministic two instances
bad_lies reads_process_id deterministic two processes
bad_lies reads_home deterministic two processes
bad_lies goes_on cancel after the run was stopped
bad_lies ignores_selection selection not selected
bad_lies needs_a_row empty without rows
bad_lies believes_nulls nulls a null where none was expected
bad_lies too_few_rows schema rows for
bad_lies bad_text_column schema UTF-8
bad_lies invents_origin origin names the row 70000
bad_lies changes_its_mind prepare the second time
bad_lies forgets restore lost between save and load
bad_lies believes_state state_damage load crashes
bad_lies last_row_counts gate_merge how the rows were divided
bad_lies heads_batches batch_splits output 0 differs
bad_lies reads_chunks chunks where chunks end
bad_symbols - symbols which is a name of a library
TABLE

one() {
    plugin=$1 stage=$2 check=$3
    shift 3
    out=$TMP/$plugin.$stage.$check
    if [ "$stage" = - ]; then set -- '' "$@"; else set -- "$stage" "$@"; fi
    limit=90
    if [ "$stage" = hangs ]; then limit=2; fi
    status=0
    # shellcheck disable=SC2086
    "$SLUICE" test-plugin "$BUILD/tests/conform/$plugin.so" $1 --only "$check" --time-limit "$limit" --quiet >"$out" 2>&1 || status=$?
    shift
    if [ "$status" != 1 ] || ! grep -q "^FAILED .*: $check: " "$out" || ! tr '\n' ' ' <"$out" | grep -qF -e "$*"; then
        echo "$plugin $stage $check: exit status $status, expected 1 and '$*'; it said:"
        cat "$out"
    fi
}

run() {
    while read -r line; do
        # shellcheck disable=SC2086
        one $line
    done
}

awk 'NR % 2' "$TMP/table" | run >"$TMP/odd" &
first=$!
awk 'NR % 2 == 0' "$TMP/table" | run >"$TMP/even"
wait "$first"
if [ -s "$TMP/odd" ] || [ -s "$TMP/even" ]; then
    cat "$TMP/odd" "$TMP/even" >&2
    fail 'the kit does not name every defect'
fi

# An honest stage passes everything; the report, its exit status and its formats.
expect 1 "$SLUICE" test-plugin "$BUILD/tests/conform/bad_symbols.so" --junit "$TMP/junit.xml"
says 'passed  honest: runs' 'FAILED  (the file): symbols' ' passed, 1 failed, '
grep -q '<testsuite name=.* failures="1"' "$TMP/junit.xml" || fail 'the JUnit file counts other failures'
grep -q '<testcase classname="honest" name="row_local"' "$TMP/junit.xml" || fail 'the JUnit file lacks a check'
expect 0 "$SLUICE" test-plugin "$BUILD/tests/conform/bad_symbols.so" honest --only row_local --json
json "$TMP/stdout" results.0.verdict >"$TMP/verdict"
is "$(cat "$TMP/verdict")" passed 'the verdict in JSON'
# The rows after a crash are not judged: checks that build on an ordinary run are skipped.
expect 1 "$SLUICE" test-plugin "$BUILD/tests/conform/bad_crash.so" crash_process
says 'skipped crash_process: row_local (an ordinary run fails' 'again: sluice test-plugin'
# Misbehaving on a marker only: the generated rows don't hold it, --data does.
expect 0 "$SLUICE" test-plugin "$BUILD/tests/conform/bad_crash.so" crash_process --option on=CRASH-ME
printf '{"text":"all is well here, really"}\n{"text":"now CRASH-ME please"}\n' >"$TMP/rows.jsonl"
expect 1 "$SLUICE" test-plugin "$BUILD/tests/conform/bad_crash.so" crash_process --option on=CRASH-ME --data "$TMP/rows.jsonl" --only runs
says 'process crashes'

# A reader gets files of the user's own where the generated ones are none of its format.
expect 0 "$SLUICE" test-plugin "$BUILD/tests/conform/bad_lies.so" picky
says 'skipped picky: runs (it refuses the generated JSON; give a file in its format with --data' 'skipped picky: chunks'
printf '!one\n!two\n!three\n' >"$TMP/picky.txt"
expect 0 "$SLUICE" test-plugin "$BUILD/tests/conform/bad_lies.so" picky --data "$TMP/picky.txt"
says 'passed  picky: runs' 'passed  picky: chunks'

# Usage.
expect 2 "$SLUICE" test-plugin "$BUILD/tests/conform/bad_symbols.so" honesty
says "has no stage 'honesty'; it has: honest"
expect 2 "$SLUICE" test-plugin "$BUILD/tests/conform/bad_symbols.so" --only row_lokal
says "did you mean 'row_local'?"
expect 2 "$SLUICE" test-plugin "$TMP/absent.so"
says 'absent.so'
expect 2 "$SLUICE" test-plugin "$TMP/junit.xml"
says "is no plugin: expected a shared object"
expect 0 "$SLUICE" test-plugin --list
says 'input_read_only'
