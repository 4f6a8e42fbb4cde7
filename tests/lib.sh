# lib.sh - helpers of the whole-program tests: sourced by tests/{pipeline,crash,bad}/*.sh.
#
# Depends on sh, coreutils, perl-base, gzip and zstd, and on what tests/run sets (SLUICE, SRC, TMP).
# Promises: every helper that finds a fault says what it found and ends the test with status 1.
# shellcheck shell=sh

JSON=$SRC/tests/pipeline/json.pl
CORPUS=$SRC/tests/pipeline/corpus.pl

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

skip() {
    echo "$*"
    exit 77
}

# expect STATUS COMMAND... runs it; its output goes to $TMP/stdout and $TMP/stderr.
expect() {
    _wanted=$1
    shift
    _status=0
    "$@" >"$TMP/stdout" 2>"$TMP/stderr" || _status=$?
    if [ "$_status" != "$_wanted" ]; then
        tail -n 20 "$TMP/stdout" "$TMP/stderr" >&2
        fail "exit status $_status, expected $_wanted: $*"
    fi
}

# says FRAGMENT... : each of them stands in what the last expect printed.
says() {
    for _fragment in "$@"; do
        if ! grep -qF -e "$_fragment" "$TMP/stderr" "$TMP/stdout"; then
            cat "$TMP/stderr" >&2
            fail "the message has no '$_fragment'"
        fi
    done
}

# is FOUND EXPECTED WHAT
is() {
    [ "$1" = "$2" ] || fail "$3: found '$1', expected '$2'"
}

# json FILE PATH... prints values, one a line (see json.pl).
json() {
    perl "$JSON" "$@"
}

# Where a test's runs and datasets are: on the disk, below $TMP, or, with STORE=hostile, in a place
# without folders and links (core/store/store_hostile.c), whose faults SLUICE_TEST_HOSTILE chooses. A
# test that says place, land and forget runs on both.
STORE=${STORE:-disk}
if [ "$STORE" = hostile ]; then
    SLUICE_TEST_HOSTILE_ROOT=$TMP/objects
    XDG_CACHE_HOME=$TMP/cache
    export SLUICE_TEST_HOSTILE_ROOT XDG_CACHE_HOME
fi

# place NAME prints the name under which the program knows it.
place() {
    case $STORE in
    disk) echo "$TMP/$1" ;;
    *) echo "$STORE://$1" ;;
    esac
}

# land NAME... : what is there is in folders of these names, to be looked at.
land() {
    [ "$STORE" != disk ] || return 0
    for _name in "$@"; do
        rm -rf "${TMP:?}/$_name"
        perl "$SRC/tests/objects.pl" "$TMP/objects" "$_name" "$TMP/$_name" || fail "can't read the objects of $_name"
    done
}

# lift NAME... : what is in the folders of these names is there, and nothing else, after it was changed
# behind the program's back.
lift() {
    [ "$STORE" != disk ] || return 0
    for _name in "$@"; do
        perl "$SRC/tests/objects.pl" --back "$TMP/objects" "$_name" "$TMP/$_name" || fail "can't write the objects of $_name"
    done
}

# forget NAME... : nothing is there any more.
forget() {
    for _name in "$@"; do
        rm -rf "${TMP:?}/$_name"
        [ "$STORE" = disk ] || find "$TMP/objects" -name "o$(echo "$_name" | tr / ,),*" -delete
    done
}

# there NAME : whether a file of this name is there now.
there() {
    [ -e "$TMP/$1" ] && [ "$STORE" = disk ] || [ -e "$TMP/objects/o$(echo "$1" | tr / ,)" ]
}

# faults NUMBER:RATE : what goes wrong from here on where something may (see core/store/store_hostile.c), another for each SEED.
faults() {
    [ "$STORE" = disk ] || export SLUICE_TEST_HOSTILE="$((${1%:*} + 1000 * ${SEED:-0})):${1#*:}"
}

# tree FOLDER... prints every name below them with the hash of its content or its link's target,
# without the folders' own names.
tree() {
    for _folder in "$@"; do
        (
            cd "$_folder" || exit 1
            find . -type f -print0 | LC_ALL=C sort -z | xargs -r -0 sha256sum
            find . -type l | LC_ALL=C sort | while read -r _link; do echo "$_link -> $(readlink "$_link")"; done
        ) || fail "can't list $_folder"
    done
}

# same LEFT RIGHT WHAT: two folders hold the same names and bytes.
same() {
    tree "$1" >"$TMP/left" && tree "$2" >"$TMP/right" || fail "$3: a folder is missing"
    [ -s "$TMP/left" ] || fail "$3: $1 is empty"
    if ! cmp -s "$TMP/left" "$TMP/right"; then
        diff "$TMP/left" "$TMP/right" | head -n 10 >&2
        fail "$3: $1 and $2 differ"
    fi
}

# shards DATASET prints the files of its newest snapshot.
shards() {
    if [ -e "$1/latest" ]; then
        find -L "$1/latest" -type f | LC_ALL=C sort
    else
        json "$(ls -d "$1"/snapshots/*.json | tail -n 1)" 'shards.*.file' | sed "s|^|$1/data/|"
    fi
}

# lines DATASET prints the rows of the newest snapshot of a JSONL dataset.
lines() {
    for _file in $(shards "$1"); do
        [ -e "$_file" ] || continue
        case $_file in
        *.zst) zstd -qdc "$_file" ;;
        *.gz) gzip -dc "$_file" ;;
        *) cat "$_file" ;;
        esac || fail "can't read $_file"
    done
}

# member NAME prints a string or number member of each JSON line on standard input (first one of
# that name; good enough for what the tests write).
member() {
    perl -ne 'print /"'"$1"'":\s*(?:"((?:[^"\\]|\\.)*)"|([-0-9.eE+]+))/ ? (defined $1 ? $1 : $2) : "-", "\n"'
}

# reran RUN prints the number of tasks that the last run of RUN worked on, one a phase.
reran() {
    json "$1/last.json" 'phases.*.tasks' >"$TMP/tasks" && json "$1/last.json" 'phases.*.reused' >"$TMP/reused" ||
        fail "no report in $1"
    paste -d ' ' "$TMP/tasks" "$TMP/reused" | while read -r _all _reused; do echo $((_all - _reused)); done
}

# operations LOG [PATTERN] counts the records of a SLUICE_TEST_OPLOG; with a pattern (perl) those whose
# "number-of-operation path" match.
operations() {
    perl -e 'my ($file, $pattern) = @ARGV; open my $in, "<", $file or die "$file: $!\n"; local $/; my $log = <$in>;
        my ($at, $n) = (0, 0);
        while ($at < length $log) {
            my ($magic, $op, $size, $first, $second) = unpack "VVx24QVV", substr $log, $at, 48;
            die "no record at byte $at\n" if $magic != 0x504f4c53;
            my $path = substr $log, $at + 48, $first;
            $n++ if !defined $pattern || "$op $path" =~ /$pattern/;
            $at += 48 + $first + $second + ($op == 2 ? $size : 0);
        }
        print "$n\n"' "$@" || fail "the log of operations $1"
}

# sum of the numbers on standard input
sum() {
    awk '{ n += $1 } END { print n + 0 }'
}

# least SLUICE-ARGUMENTS... prints the smallest --memory that this run takes: with less it must end
# with 5 and name it.
least() {
    expect 5 "$SLUICE" "$@" --memory 1MiB
    _least=$(sed -n 's/.*give --memory \([0-9]*MiB\).*/\1/p' "$TMP/stderr")
    [ -n "$_least" ] || fail "the message does not name the memory that is needed: $(cat "$TMP/stderr")"
    echo "$_least"
}

# commits RUN prints the number of commit records, of a run at a place as it is now.
commits() {
    if [ "$STORE" = disk ]; then
        find "$1/tasks" -name '*.json' 2>/dev/null | wc -l
    else
        find "$TMP/objects" -name "o$(echo "${1#"$TMP/"}" | tr / ,),tasks,*.json" 2>/dev/null | wc -l
    fi
}

# leases RUN prints how many things are in hand, and by how many processes.
leases() {
    land "$1/leases" "$1/workers"
    find "$1/leases" "$1/workers" -type f 2>/dev/null | wc -l
}

# may_be_killed N:OPERATIONS COMMAND...: runs it to be killed at one of its operations on the disk, by the seed N. Counts $killed when it
# was, and fails unless it ended well otherwise.
may_be_killed() {
    SLUICE_TEST_KILL_SEED=$1
    export SLUICE_TEST_KILL_SEED
    shift
    _status=0
    "$@" >"$TMP/out" 2>&1 || _status=$?
    case $_status in
    137) killed=$((killed + 1)) ;;
    0) ;;
    *) cat "$TMP/out" >&2; fail "seed $SLUICE_TEST_KILL_SEED: status $_status" ;;
    esac
    unset SLUICE_TEST_KILL_SEED
}

# keep NAME: what is there is put back by back NAME, before each kill.
keep() {
    rm -rf "$1.kept" objects.kept
    if [ "$STORE" = disk ]; then cp -a "$1" "$1.kept"; else cp -a objects objects.kept; fi
}

back() {
    if [ "$STORE" = disk ]; then
        rm -rf "$1"
        cp -a "$1.kept" "$1"
    else
        rm -rf objects
        cp -a objects.kept objects
    fi
}

# newest NAME prints the number of the newest snapshot that landed.
newest() {
    json "$(find "$1/snapshots" -name '*.json' | LC_ALL=C sort | tail -n 1)" number
}

# tasks_apart NAME: forgets what NAME.run made (and NAME.out), then runs each of its tasks by a process of its own, in random order
# within what a phase needs, four at a time.
tasks_apart() {
    land "$1.run"
    json "$1.run/last.json" 'phases.*.tasks' >phases
    forget "$1.run/tasks" "$1.run/spill" "$1.out"
    number=0
    while read -r tasks; do
        perl -e 'my ($a, $n) = @ARGV; my $x = 12345 + $a;
            my @t = ($a .. $a + $n - 1);
            for (my $i = @t; $i > 1; $i--) { $x = ($x * 1103515245 + 12345) & 0x7fffffff; my $j = ($x >> 8) % $i; @t[$i - 1, $j] = @t[$j, $i - 1]; }
            print "$_\n" for @t' "$number" "$tasks" |
            xargs -P 4 -n 1 "$SLUICE" task "$(place "$1.run")" >tasks.out 2>tasks.err || { cat tasks.err >&2; fail 'a task of its own'; }
        # Of tasks with one key the first to be run does the work.
        is "$(grep -c ': \(was \)*done$' tasks.out)" "$tasks" 'tasks done alone'
        number=$((number + tasks))
    done <phases
}
