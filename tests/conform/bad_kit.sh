# bad_kit.sh - sluice test-plugin names what is wrong with the hostile plugins, files and scripts of this folder (kit.sh has the plain ones): the check that fails
# and what it says. The same stages run in pipelines in bad_run.sh.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

# No stage gets hold of the machine's memory.
grep -q -e -fsanitize= "$BUILD/flags" || ulimit -d 1500000

for face in null name size; do cp "$BUILD/tests/conform/bad_faces.so" "open_faces_$face.so"; done

# file  stage  check  words of the message: one of those between |
cat >table <<'TABLE'
conform/bad_throws throws runs signal 6
conform/bad_throws throws_early runs prepare crashes with signal 6
conform/bad_hostile scribbles runs overwrites memory
conform/bad_hostile scribbles_on processes still run|overwrites memory|crashes
conform/bad_hostile closes_all descriptors changes the open file descriptors
conform/bad_hostile logs_without_end runs does not return
conform/bad_hostile logs_on processes still run|the check crashes
conform/bad_hostile complains_on processes still run
conform/bad_hostile kills_parent outside sends a signal to the process
conform/bad_hostile executes outside runs the program /bin/true
conform/bad_hostile writes_file outside writes to the file bad_hostile_was_here
conform/bad_hostile limits_files process_state resource limit
conform/bad_hostile stops runs process does not return
conform/bad_hostile takes_host_memory runs memory is used up
conform/bad_hostile takes_all_memory runs process crashes with signal
conform/bad_hostile recurses_without_end runs process crashes
conform/bad_hostile dangling_dup verdicts process crashes
conform/bad_hostile similar_nan verdicts similarity outside [0, 1]
conform/bad_hostile dup_no_text verdicts dup_of that is no UTF-8
conform/bad_hostile dup_too_long verdicts dup_of that is no UTF-8|process crashes
conform/bad_hostile reason_beyond verdicts has the reason -2147483648
conform/bad_hostile wild_offsets schema its offsets
conform/bad_hostile falling_offsets schema its offsets
conform/bad_hostile wrong_type schema title
conform/bad_hostile missing_column schema column
conform/bad_hostile no_buffer schema title
conform/bad_hostile short_column schema title
conform/bad_hostile emits_without_end runs memory is used up|does not return|process crashes
conform/bad_hostile false_origin origin names the row 70000
conform/bad_hostile hang_in_open runs open does not return
conform/bad_hostile hang_in_prepare runs prepare does not return
conform/bad_hostile shows_address deterministic two processes
conform/bad_units units_overlap runs behind byte 100
conform/bad_units units_miscount runs gives 1 rows (with bad and skipped ones), the survey says 2
conform/bad_units units_beyond runs asks for
conform/bad_units units_endless runs asks without end
conform/bad_units units_remember units from the last to the first
conform/bad_units units_keep units from the last to the first|resume crashes
conform/bad_units units_hold units still held after workers were closed while they waited for bytes
abi/crash - load crashes with signal 6
abi/hangs - load does not return
abi/exits - load ends the process with exit status 0
abi/no_plugin - load has no function sluice_plugin_v1
abi/major2 - load is a plugin for ABI 2
abi/minor9 - load needs plugin ABI 1.4000000000
abi/liar_major - load says it is for ABI 3
abi/small_stage - load has 64 bytes, expected at least
abi/bad_table - load outside or unaligned
abi/bad_stride - load verdict_stride is 32
abi/no_process - load needs the function process
open_faces_null - load sluice_plugin_v1() returned NULL
lua loops runs does not return
lua catches runs does not return
lua eats_memory runs lua_memory|does not return
lua eats_text runs lua_memory|does not return
lua fails runs bad_lua.lua:24: bad luck
lua reads_nil runs did you mean 'text'?
lua returns_text runs measure returned a string, expected a number
lua returns_nan runs measure returned nan
lua recurses runs stack overflow|does not return|needs more than its
lua pattern runs pattern too expensive|does not return
lua counts runs changes its upvalue
lua writes_global runs the global 'leaked' is assigned
TABLE
# A sanitizer's allocator ends the process when memory is short.
! grep -q -e -fsanitize= "$BUILD/flags" || sed -i '/takes_.*_memory/d' table

one() {
    case $1 in
    lua) file=$SRC/tests/conform/bad_lua.lua ;;
    open_*) file=$TMP/$1.so ;;
    *) file=$BUILD/tests/$1.so ;;
    esac
    stage=$2
    check=$3
    shift 3
    limit=60
    case "$stage $file $*" in hang* | stops* | logs_without* | *"does not return"*) limit=3 ;; esac
    set -- "$*"
    # Where three seconds do not suffice for what comes before the endless loop, thirty do.
    if ! judge "$1" && { [ $limit = 60 ] || { limit=30 && ! judge "$1"; }; }; then
        echo "$command: exit status $status, expected 1, check '$check' and '$1'; it said:"
        cat "$out"
    fi
    echo "$stage" >>"$out.done"
}
# judge WORDS - whether the kit says one of them of $file, $stage and $check within $limit
judge() {
    words=$1
    out=$TMP/$stage.$check.${file##*/}
    set -- - test-plugin "$file"
    [ "$stage" = - ] || set -- "$@" "$stage" --only "$check"
    shift
    command=$*
    status=0
    "$SLUICE" "$@" --time-limit "$limit" --quiet >"$out" 2>&1 || status=$?
    found=no
    IFS='|'
    for word in $words; do
        ! tr '\n' ' ' <"$out" | grep -qF -e "$word" || found=yes
    done
    unset IFS
    [ "$status" = 1 ] && [ $found = yes ] && grep -q "^FAILED .*: $check: " "$out"
}
run() {
    while read -r line; do
        # shellcheck disable=SC2086
        one $line
    done
}

awk 'NR % 2' table | run >odd &
first=$!
awk 'NR % 2 == 0' table | run >even
wait "$first"
[ "$(cat ./*.done | wc -l)" = "$(wc -l <table)" ] || fail 'not every case was run'
[ ! -e bad_hostile_was_here ] || fail 'a file was written outside'
if [ -s odd ] || [ -s even ]; then
    cat odd even >&2
    fail 'the kit does not name every defect'
fi

expect 0 "$SLUICE" test-plugin "$BUILD/tests/conform/bad_units.so" units_fine units_rounds --quiet

# What is a danger to others is not run again.
expect 1 "$SLUICE" test-plugin "$BUILD/tests/conform/bad_hostile.so" kills_parent
says 'skipped kills_parent: runs (it reaches out of its process' '3 passed, 1 failed'
# A stage that does not come to an end is not taken for one that reaches out.
expect 1 "$SLUICE" test-plugin "$BUILD/tests/conform/bad_crash.so" crash_process --quiet
says 'crash_process: runs: process crashes'
! grep -q 'FAILED.*outside' "$TMP/stdout" || fail 'a crash is taken for reaching out'
