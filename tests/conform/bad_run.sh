# bad_run.sh - each bad plugin beside this file in a pipeline, isolated as plugins from outside the installation are: the run ends with the right data for all
# rows but the one that the stage breaks on, or it ends with the culprit named and publishes nothing. Whatever the plugin does, the program neither crashes nor
# hangs, holds no more memory and descriptors than with an honest stage, and leaves no process.
#
# time limit: 300
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

# ---- the cases ----
#
# plugin  stage  outcome  [limits of isolate]  [words of the message, separated by +]
#   right          status 0: every row is judged as by an honest stage
#   loses REASON   status 0: one row is in quarantine for that reason, every other row is judged as by an honest stage
#   halts STATUS   the stage is named, nothing is published
#   lives          0, 1, 4 or 5: what the stage says of its own rows can't be known; otherwise the stage is named and nothing is published
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
bad_memory | allocates_without_end | halts 5 | memory = "64MiB" | memory
bad_lies | too_many_verdicts | halts 1 | | verdicts
bad_lies | no_verdicts | halts 1 | | verdicts
bad_lies | unknown_reason | halts 1 | | reason
bad_lies | too_few_rows | halts 1 | | rows
bad_lies | bad_text_column | halts 1 | | UTF-8
bad_lies | invents_origin | halts 1 | | origin
bad_lies | ignores_selection | right
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
bad_hostile | takes_host_memory | halts 5 | memory = "64MiB" | memory
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
bad_hostile | hang_in_open | halts 1 | timeout = "2s" | 2 s
bad_hostile | hang_in_prepare | halts 1 | timeout = "2s" | 2 s
TABLE

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
    name=$1.$2
    limits=$4
    script "$name" docs.jsonl "s.plugin '$BUILD/tests/conform/$1.so'.$2 { on = 'CRASH-ME'${limits:+, isolate = { $limits \}} }"
    watch "$name" 60
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
        elif ! lines "$name/out" | cmp -s - "$rows"; then
            bad "the rows are not those of $rows"
        elif [ $rows = healthy.rows ]; then
            "$SLUICE" why "$name/.sluice/p" --quarantine >"$name/why" 2>&1
            [ "$(grep -c " in $2: row 23 of" "$name/why")" = 1 ] && grep -q "^${3#loses } in $2: row 23 of" "$name/why" || bad "expected row 23 in quarantine: $(cat "$name/why")"
            said=$(cat "$name/why")
        fi
        ;;
    halts*) [ "$status" = "${3#halts }" ] || bad "expected ${3#halts }" ;;
    lives) case $status in 0 | 1 | 4 | 5) ;; *) bad 'expected 0, 1, 4 or 5' ;; esac ;;
    esac
    if [ "$status" != 0 ]; then
        [ ! -e "$name/out/latest" ] || bad 'it published'
        case $said in *"stage '$2'"*) ;; *) bad 'the stage is not named' ;; esac
    fi
    echo "$5" | tr '+' '\n' | while read -r word; do
        case $said in *"$word"*) ;; *) bad "no word of '$word'" ;; esac
    done
    [ "$left" = 0 ] || bad "$left processes are left"
    [ "$fds" -le "$most_fds" ] || bad "$fds descriptors, $usual_fds with an honest stage"
    [ "$memory" -le "$most_memory" ] || bad "$memory KiB, $usual_memory with an honest stage"
    [ ! -e "$name/bad_hostile_was_here" ] || bad 'it wrote a file'
    [ -z "$(find "$name/.sluice" -name 'child-*' 2>/dev/null)" ] || bad 'scratch is left behind'
    echo "$name: $3: $status, $fds descriptors, $memory KiB" >>"$name.done"
}
# Every second case, beginning with the one given.
half() {
    while IFS='|' read -r plugin stage outcome limits words; do
        # shellcheck disable=SC2086
        one $plugin $stage "$(echo $outcome)" "$(echo $limits | sed 's/^ *//')" "$(echo "$words" | sed 's/^ *//')"
    done
}
awk 'NR % 2' table | half >odd &
first=$!
awk 'NR % 2 == 0' table | half >even
wait "$first"
cat ./*.done
[ "$(cat ./*.done | wc -l)" = "$(wc -l <table)" ] || fail 'not every case was run'
if [ -s odd ] || [ -s even ]; then
    cat odd even >&2
    fail 'a bad plugin does what it must not'
fi
