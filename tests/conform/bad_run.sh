# bad_run.sh - each bad plugin and script beside this file in a pipeline, isolated as plugins from outside the installation are: the run ends with the right data
# for all rows but the one that the stage breaks on, or it ends with the culprit named and publishes nothing. Whatever the plugin does, the program neither crashes nor
# hangs, holds no more memory and descriptors than with an honest stage, and leaves no process.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

# ---- the cases ----
#
# plugin | stage | outcome | limits of isolate | words of the message, with + between
#   right          status 0: every row is judged as by an honest stage
#   loses REASON   status 0: one row is in quarantine for that reason, every other row is judged as by an honest stage
#   halts STATUS   the stage is named, nothing is published
#   refuses        status 2 before any row is read: the file is named
#   lives          0, 1, 4 or 5: what the stage says of its own rows can't be known; otherwise it is named and nothing is published
# plugin is a name in this folder, abi/NAME, faces (bad_faces.so under the name of the stage), lua and lua+ (in the program's own process, and isolated), or
# native: stage is then a prototype.
cat >table <<'TABLE'
bad_crash | crash_open | halts 1 | | SIGSEGV+open
bad_crash | crash_prepare | halts 1 | | SIGSEGV+prepare
bad_crash | crash_worker_open | halts 1 | | SIGSEGV+worker_open
bad_crash | crash_process | loses crash | | SIGSEGV
bad_crash | crash_flush | halts 1 | | SIGSEGV+flush
bad_crash | crash_worker_close | right
bad_crash | crash_close | right
bad_crash | crash_save | right
bad_crash | crash_load | right
bad_crash | crash_judge | halts 1 | | SIGSEGV+judge
bad_process | hangs | halts 1 | timeout = "2s" | 2 s+timeout
bad_process | exits | loses crash | | exit status 7
bad_process | aborts | loses crash | | SIGABRT
bad_process | kills_itself | halts 5 | | SIGKILL
bad_process | forks | right
bad_process | changes_folder | right
bad_process | handles_signals | right
bad_process | masks_signals | right
bad_process | sets_locale | right
bad_process | sets_umask | right
bad_process | sets_environment | right
bad_process | rounds_otherwise | right
bad_process | leaves_open | right
bad_process | closes_others | right
bad_process | opens_socket | right
bad_process | leaves_thread | right
bad_memory | writes_input | loses crash | | SIGSEGV
bad_memory | releases_input | right
bad_memory | leaks | right
bad_memory | leaks_host | right
bad_memory | allocates_without_end | halts 5 | memory = "64MiB" | not enough memory
bad_lies | too_many_verdicts | halts 1 | | verdicts
bad_lies | no_verdicts | halts 1 | | verdicts
bad_lies | unknown_reason | halts 1 | | reason
bad_lies | too_few_rows | halts 1 | | rows
bad_lies | bad_text_column | halts 1 | | UTF-8
bad_lies | ignores_selection | lives
bad_symbols | honest | right
bad_throws | throws | loses crash | | SIGABRT
bad_throws | throws_early | halts 1 | | SIGABRT+prepare
bad_hostile | scribbles | right
bad_hostile | scribbles_on | lives
bad_hostile | forges | loses crash
bad_hostile | closes_all | loses crash
bad_hostile | logs_without_end | halts 1 | timeout = "2s" | 2 s
bad_hostile | logs_on | right
bad_hostile | complains_on | right
bad_hostile | kills_parent | right
bad_hostile | executes | right
bad_hostile | writes_file | right
bad_hostile | limits_files | lives
bad_hostile | stops | halts 1 | timeout = "2s" | 2 s
bad_hostile | takes_host_memory | halts 5 | memory = "64MiB" | not enough memory
bad_hostile | takes_all_memory | loses crash | memory = "64MiB" | SIGSEGV
bad_hostile | recurses_without_end | loses crash | | SIGSEGV
bad_hostile | dangling_dup | loses crash | | SIGSEGV
bad_hostile | similar_nan | halts 1 | | similarity
bad_hostile | dup_no_text | halts 1 | | dup_of
bad_hostile | dup_too_long | lives
bad_hostile | reason_beyond | halts 1 | | reason
bad_hostile | wild_offsets | halts 1 | | title
bad_hostile | falling_offsets | halts 1 | | title
bad_hostile | wrong_type | halts 1 | | title
bad_hostile | missing_column | halts 1 | | column
bad_hostile | no_buffer | halts 1 | | title
bad_hostile | short_column | halts 1 | | title
bad_hostile | emits_without_end | lives | memory = "64MiB"
bad_hostile | false_origin | halts 1 | | origin
bad_hostile | shows_address | right
bad_hostile | hang_in_open | halts 1 | timeout = "2s" | 2 s
bad_hostile | hang_in_prepare | halts 1 | timeout = "2s" | 2 s
abi/crash | keep | refuses | | crashed+signal 6
abi/hangs | keep | refuses | | was not loaded within
abi/exits | keep | refuses | | exit status 0
abi/no_plugin | keep | refuses | | has no function sluice_plugin_v1
abi/major2 | keep | refuses | | ABI 2+ABI 1
abi/minor9 | keep | refuses | | needs plugin ABI 1.4000000000
abi/liar_major | keep | refuses | | ABI 3
abi/small_stage | keep | refuses | | has 64 bytes
abi/bad_table | keep | refuses | | outside or unaligned
faces | open_faces_null | refuses | | returned NULL
faces | faces_crash | halts 1 | | SIGABRT+open()
faces | faces_hang | halts 1 | timeout = "2s" | open() within 2 s
faces | faces_exit | halts 1 | | exit status 0
faces | faces_null | halts 2 | | returned NULL
faces | faces_options | halts 2 | | option 'on'
faces | faces_name | halts 2 | | has no stage 'honest'
faces | faces_role | halts 1 | | without verdicts
faces | faces_size | halts 2 | | has 64 bytes
lua | loops | loses lua_endless | | endless loop
lua+ | catches | loses lua_endless | | endless loop
lua | eats_memory | loses lua_memory | | MiB of memory
lua+ | eats_text | loses lua_memory | | MiB of memory
lua | fails | loses lua_error | | bad_lua.lua:24: bad luck
lua+ | fails | loses lua_error | | bad_lua.lua:24: bad luck
lua | returns_text | loses lua_error | | expected a number
lua | returns_nan | loses lua_error | | returned nan
lua+ | recurses | loses lua_memory | | MiB of memory
lua | pattern | loses lua_error | | pattern too expensive
lua+ | pattern | loses lua_error | | pattern too expensive
lua | writes_global | loses lua_error | | the global 'leaked'
lua | counts | halts 2 | | upvalue
lua+ | counts | halts 2 | | upvalue
lua | reads_nil | halts 2 | | did you mean 'text'?
native | double lib_crash(const char *, size_t) | loses crash | | SIGABRT
native | int lib_scribble(const char *, size_t) | loses crash | | SIGSEGV
native | float lib_share_e(const char *, size_t) | halts 2 | | the type of the result is different
native | double lib_shar(const char *, size_t) | halts 2 | | has no function 'lib_shar'
TABLE

# A sanitizer's allocator ends the process when memory is short, and its search for leaks has an exit status of its own.
! grep -q -e -fsanitize= "$BUILD/flags" || sed -i '/takes_.*_memory\|_without_end .*memory\| exits /d' table

# ---- what they run on ----

perl -e 'for my $k (0 .. 39) {
    my $text = $k == 23 ? "a row that says CRASH-ME, and more" : $k % 7 == 3 ? "short $k" : "row $k has words enough to be kept";
    print qq({"id":"d$k","text":"$text"}\n);
}' >docs.jsonl
grep -v CRASH docs.jsonl >healthy.jsonl

# script NAME INPUT STAGE: a pipeline in the folder NAME
script() {
    mkdir "$1"
    cat >"$1/p.lua" <<L
local s = require "sluice"
return s.pipeline { "p", max_bad = 3, s.files "$TMP/$2" | s.read_jsonl {} | $3 | s.write_jsonl { "out", compression = "none" } }
L
}
# watch NAME SECONDS [ARGUMENT...]: runs it; the line that the watch wrote is in NAME/end
watch() {
    _name=$1
    _seconds=$2
    shift 2
    (cd "$_name" && perl "$SRC/tests/conform/bad_watch.pl" "$_seconds" end "$SLUICE" run p.lua --quiet --workers 2 --batch 4KiB "$@")
}
judge='s.filter { "short", function(doc) if #doc.text < 20 then return "short" end end }'
for input in docs healthy; do
    script "$input" "$input.jsonl" "$judge"
    watch "$input" 60
    lines "$input/out" >"$input.rows"
    [ "$(wc -l <"$input.rows")" -gt 20 ] || fail "the honest run: $(cat "$input/end.stderr")"
done
script usual docs.jsonl "s.plugin '$BUILD/tests/conform/bad_symbols.so'.honest {}"
watch usual 60
IFS=, read -r _ usual_fds usual_memory _ <usual/end
# A child that is started while another one dies needs a few descriptors more; sanitizers keep what is freed.
most_fds=$((usual_fds + 24))
most_memory=$((usual_memory + 65536))
! grep -q -e -fsanitize= "$BUILD/flags" || most_memory=$((most_memory * 4))

# ---- one case ----

one() {
    name=$(echo "$1.$2" | tr -c 'a-z0-9_.+\n' _)
    stage=$2
    limits=$4
    call=
    case $1 in
    abi/*) plugin=$BUILD/tests/$1.so ;;
    faces)
        plugin=$TMP/$2.so
        cp "$BUILD/tests/conform/bad_faces.so" "$plugin"
        stage=honest
        ;;
    lua) call="require 'bad_lua'.$2 { on = 'CRASH-ME' }" ;;
    lua+) call="require 'bad_lua'.$2 { on = 'CRASH-ME', isolate = true }" ;;
    native)
        plugin=$BUILD/tests/conform/native_lib.so
        call="s.native { lib = '$plugin', '$2', as = 'x' } | $judge"
        stage=native
        ;;
    *) plugin=$BUILD/tests/conform/$1.so ;;
    esac
    case $1 in abi/*) call="s.plugin '$plugin'.$2 {}" ;; esac
    script "$name" docs.jsonl "${call:-s.plugin '$plugin'.$stage { on = 'CRASH-ME'${limits:+, isolate = { $limits \}} \}}"
    case $1 in lua*) cp "$SRC/tests/conform/bad_lua.lua" "$name" ;; esac
    watch "$name" 100
    IFS=, read -r status fds memory left <"$name/end"
    said=$(cat "$name/end.stderr")
    bad() {
        echo "$name: $*; status $status; it said:"
        echo "$said" | tail -n 5
    }
    case $3 in
    right | loses*)
        rows=docs.rows
        case $3 in loses*) rows=healthy.rows ;; esac
        if [ "$status" != 0 ]; then
            bad 'expected 0'
        elif ! lines "$name/out" | sed 's/,"x":[^,}]*//' | cmp -s - "$rows"; then
            bad "the rows are not those of $rows"
        elif [ $rows = healthy.rows ]; then
            "$SLUICE" why "$name/.sluice/p" --quarantine >"$name/why" 2>&1
            grep -q "^${3#loses } in $stage: row 23 of" "$name/why" && grep -q '^1 of 1 quarantined' "$name/why" || bad "expected row 23 in quarantine: $(cat "$name/why")"
            said=$(cat "$name/why")
        fi
        ;;
    halts*) [ "$status" = "${3#halts }" ] || bad "expected ${3#halts }" ;;
    refuses) [ "$status" = 2 ] || bad 'expected 2' ;;
    lives) case $status in 0 | 1 | 4 | 5) ;; *) bad 'expected 0, 1, 4 or 5' ;; esac ;;
    esac
    if [ "$status" != 0 ]; then
        [ ! -e "$name/out/latest" ] || bad 'it published'
        case $3:$said in refuses:*"$plugin"* | *"stage '$stage'"* | *"'native'"* | *"$plugin: "*) ;; *) bad 'the culprit is not named' ;; esac
    fi
    echo "$5" | tr '+' '\n' | while read -r word; do
        case $said in *"$word"*) ;; *) bad "no word of '$word'" ;; esac
    done
    [ "$left" = 0 ] || bad "$left processes are left"
    [ "$fds" -le "$most_fds" ] || bad "$fds descriptors, $usual_fds with an honest stage"
    [ "$memory" -le "$most_memory" ] || [ "$1" = lua ] || bad "$memory KiB, $usual_memory with an honest stage"
    [ ! -e "$name/bad_hostile_was_here" ] || bad 'it wrote a file'
    [ -z "$(find "$name/.sluice" -name 'child-*' 2>/dev/null)" ] || bad 'scratch is left behind'
    echo "$name: $3: $status, $fds descriptors, $memory KiB" >>"$name.done"
}
run() {
    while IFS='|' read -r plugin stage outcome limits words; do
        set -- "$plugin" "$stage" "$outcome" "$limits" "$words"
        for field; do
            shift
            field=${field# }
            set -- "$@" "${field% }"
        done
        one "$@"
    done
}
awk 'NR % 2' table | run >odd &
first=$!
awk 'NR % 2 == 0' table | run >even
wait "$first"
cat ./*.done
[ "$(cat ./*.done | wc -l)" = "$(wc -l <table)" ] || fail 'not every case was run'
if [ -s odd ] || [ -s even ]; then
    cat odd even >&2
    fail 'a bad plugin does what it must not'
fi

# A library of the plugin's own does not get in the program's way in one process either: it checks its own results, the program reads and writes zstd.
script trusted docs.jsonl "s.plugin '$BUILD/tests/conform/bad_symbols.so'.honest {} | s.exact { partitions = 2 }"
sed -i 's/, compression = "none"//' trusted/p.lua
watch trusted 60 --trust
lines trusted/out | cmp -s - docs.rows || fail "a plugin with a zstd of its own in the program's process: $(cat trusted/end trusted/end.stderr)"
