# table.sh - bad input, scripts, options and surroundings: each row of this table checks the exit
# status, what the message says, that no signal and no hang ended the run, and where a run ended
# well or with 4, that every record is accounted for: emitted + quarantined = records.
#
# A cycle can't be written in a script (a stream exists only behind its inputs), so no row has one.
# FULL=1: the long line has 1 GB instead of 80 MB.
. "$SRC/tests/lib.sh"

perl "$CORPUS" good files=3 docs=100 >/dev/null || fail 'no corpus'
cat >read.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "glob", "in/*", doc = "what to read" }, out = { "path", "out" }, max_bad = { "string", "100%" } }
local docs = s.files { a.input, split = "64KiB" } | s.read_jsonl {}
return s.pipeline { "read", max_bad = a.max_bad, docs | s.write_jsonl { a.out, compression = "none" } }
L
rows=0

# try STATUS FRAGMENT... -- SLUICE-ARGUMENTS...
try() {
    wanted=$1
    shift
    fragments=
    while [ "$1" != -- ]; do
        fragments="$fragments$1
"
        shift
    done
    shift
    rm -rf run out
    status=0
    timeout -s KILL 200 "$SLUICE" "$@" >"$TMP/stdout" 2>"$TMP/stderr" </dev/null || status=$?
    if [ "$status" != "$wanted" ]; then
        cat "$TMP/stderr" >&2
        fail "row '$row': status $status, expected $wanted"
    fi
    while read -r fragment; do
        [ -z "$fragment" ] || grep -qF -e "$fragment" "$TMP/stderr" || {
            cat "$TMP/stderr" >&2
            fail "row '$row': the message has no '$fragment'"
        }
    done <<F
$fragments
F
    [ "$wanted" = 0 ] || [ -s "$TMP/stderr" ] || fail "row '$row': failed without a word"
    rows=$((rows + 1))
}

# read_in STATUS FRAGMENT... [-- name=value...]: runs read.lua on in/
read_in() {
    _all=
    for _word; do [ "$_word" = -- ] && _all=yes; done
    [ -n "$_all" ] || set -- "$@" --
    _args=
    _front=
    _n=$#
    _seen=
    while [ "$_n" -gt 0 ]; do
        _word=$1
        shift
        if [ "$_word" = -- ] && [ -z "$_seen" ]; then
            _seen=yes
            set -- "$@" -- run read.lua --quiet --run-dir run
        else
            set -- "$@" "$_word"
        fi
        _n=$((_n - 1))
    done
    try "$@"
}

# account RECORDS QUARANTINED: of the last run of read.lua
account() {
    emitted=$(json run/last.json 'phases.0.stages.0.ledger.emitted')
    quarantined=$(json run/last.json quarantined)
    is "${quarantined:-0}" "$2" "row '$row': quarantined records"
    is $((${emitted:-0} + ${quarantined:-0})) "$1" "row '$row': emitted + quarantined"
    [ ! -e out/latest ] || is "$(lines out | wc -l)" "${emitted:-0}" "row '$row': rows written"
}

begin() {
    row=$1
    rm -rf in
    mkdir in
}

# ---- bytes ---------------------------------------------------------------------------------------

begin 'truncated gzip'
head -c 8000 good/part-00001.jsonl.gz >in/a.jsonl.gz
cp good/part-00000.jsonl in/b.jsonl
read_in 4 a.jsonl.gz truncated
[ ! -e out/latest ] || fail 'a truncated file was published'

begin 'truncated zstd'
head -c 8000 good/part-00002.jsonl.zst >in/a.jsonl.zst
read_in 4 a.jsonl.zst truncated

begin 'damaged gzip'
perl -e 'local $/; $_ = <STDIN>; substr($_, 6000, 4) = "\x00\xff\x00\xff"; print' <good/part-00001.jsonl.gz >in/a.jsonl.gz
read_in 4 a.jsonl.gz

begin 'damaged zstd'
perl -e 'local $/; $_ = <STDIN>; substr($_, 6000, 4) = "\x00\xff\x00\xff"; print' <good/part-00002.jsonl.zst >in/a.jsonl.zst
read_in 4 a.jsonl.zst

begin 'wrong checksum at the end of gzip'
perl -e 'local $/; $_ = <STDIN>; substr($_, -6, 1) ^= "\x01"; print' <good/part-00001.jsonl.gz >in/a.jsonl.gz
read_in 4 a.jsonl.gz

begin 'wrong magic: names that lie about the codec'
cp good/part-00000.jsonl in/a.jsonl.gz
cp good/part-00001.jsonl.gz in/b.jsonl.zst
cp good/part-00002.jsonl.zst in/c.jsonl
read_in 0
account 300 0

begin 'wrong magic: noise in a .gz'
perl -e 'my $x = 1; for (1 .. 20000) { $x = ($x * 1103515245 + 12345) & 0x7fffffff; print chr(($x >> 16) & 255) }' >in/a.jsonl.gz
read_in 4 quarantined -- max_bad=1%
is "$(json run/last.json 'phases.0.stages.0.ledger.emitted')" '' 'rows read from noise'

begin 'invalid UTF-8'
printf '{"text":"a\377b"}\n{"text":"ok"}\n{"text":"\300\200"}\n{"text":"\355\240\200"}\n' >in/a.jsonl
read_in 0
account 4 3
read_in 4 '3 of 4 records (75 %) are quarantined' 'invalid_utf8 in a.jsonl at byte 0:' -- max_bad=0%
account 4 3
read_in 4 '1 record is quarantined, max_bad = 0' invalid_utf8 a.jsonl -- max_bad=0

begin 'NUL bytes'
printf '{"text":"a\000b"}\n{"text":"a\\u0000b"}\n\000\n' >in/a.jsonl
read_in 0
account 3 2

begin 'a long line'
long=80000000
[ -z "${FULL-}" ] || long=1000000000
if [ "$(df -Pk . | awk 'NR == 2 { print $4 }')" -gt $((long / 300)) ]; then
    {
        echo '{"text":"before"}'
        printf '{"text":"'
        head -c "$long" /dev/zero | tr '\0' x
        printf '"}\n{"text":"after"}\n'
    } >in/a.jsonl
    read_in 0 -- --memory 512MiB
    account 3 1
    begin 'a long line, compressed'
    {
        echo '{"text":"before"}'
        printf '{"text":"'
        head -c "$long" /dev/zero | tr '\0' x
        printf '"}\n{"text":"after"}\n'
    } | zstd -q >in/a.jsonl.zst
    read_in 0 -- --memory 512MiB
    account 3 1
fi

begin 'deep nesting'
perl -e 'print "{\"text\":", "[" x 100000, "]" x 100000, "}\n{\"text\":\"ok\",\"z\":", "[" x 3000, "]" x 3000, "}\n", "{\"text\":\"ok\"}\n", "{\"a\":" x 50000, "\n"' >in/a.jsonl
read_in 0
account 4 3

begin 'duplicate keys'
printf '%s\n' '{"text":"a","text":"b"}' '{"id":"a","text":"b","id":"c"}' '{"text":"ok"}' >in/a.jsonl
read_in 0
account 3 2
read_in 4 duplicate_key -- max_bad=0

begin 'lone surrogates'
printf '%s\n' '{"text":"\ud800"}' '{"text":"x","k":"\udc00"}' '{"text":"\ud83d\ude00"}' '{"text":"\ud83dx"}' >in/a.jsonl
read_in 0
account 4 3
is "$(lines out | grep -c "$(printf '\360\237\230\200')\|ud83d")" 1 'the good pair'

begin 'broken values in members that nobody reads'
printf '%s\n' '{"text":"x","k":[1,2,,]}' '{"text":"x","k":nul}' '{"text":"x","k":01.}' '{"text":"x","k":"\q"}' '{"text":"x","k":{"a":}}' \
    '{"text":"x","k":+1}' "{\"text\":\"x\",\"k\":'a'}" '{"text":"x"} {"text":"y"}' '{"text":"x",}' '{"text":"fine","k":[1,2]}' >in/a.jsonl
read_in 0
account 10 9

begin 'records that are no objects'
printf '%s\n' '[1]' 'null' '5' '"text"' '{"text":5}' '{"text":"ok"}' '' '   ' '{"text":"cut' '{"text":"end"}' | head -c -1 >in/a.jsonl
read_in 0
account 8 6

begin 'an empty file'
: >in/a.jsonl
printf '' | gzip >in/b.jsonl.gz
printf '' | zstd -q >in/b.jsonl.zst
cp good/part-00000.jsonl in/c.jsonl
read_in 0
account 100 0
rm in/c.jsonl
read_in 0
account 0 0

begin 'a compressed file of nothing, or of the beginning of a magic'
cp good/part-00000.jsonl in/c.jsonl
for part in 'b.jsonl.gz ' 'b.jsonl.gz \037' 'b.jsonl.zst ' 'b.jsonl.zst \050\265\057'; do
    # shellcheck disable=SC2059
    printf "${part#* }" >"in/${part%% *}"
    read_in 4 "${part%% *} is truncated" 'copy it again'
    [ ! -e out/latest ] || fail 'a truncated file was published'
    rm in/b.*
done

begin 'no file'
read_in 2 'no file matches' 'in/*'
read_in 2 "'nope' does not exist" -- input=nope/x

# ---- files, folders, disks -----------------------------------------------------------------------

# As root these need somebody else, and a place that he can reach.
row='a folder that may not be read'
open=$(TMPDIR=/tmp mktemp -d) || fail 'no folder in /tmp'
trap 'rm -rf "$open"' EXIT
mkdir "$open/closed" "$open/some"
cp good/part-00000.jsonl "$open/closed/b.jsonl"
cp good/part-00000.jsonl "$open/some/b.jsonl"
cp read.lua "$open/read.lua"
chmod 000 "$open/closed" "$open/some/b.jsonl"
chmod 777 "$open"
as=
[ "$(id -u)" != 0 ] || as='setpriv --reuid 65534 --regid 65534 --clear-groups'
if (cd "$open" && $as "$SLUICE" check read.lua input=read.lua >/dev/null 2>&1); then
    for unreadable in closed some; do
        status=0
        (cd "$open" && HOME=$open $as "$SLUICE" run read.lua --quiet --run-dir run "input=$unreadable/*") >stdout 2>stderr || status=$?
        case $status in 2 | 4 | 5) ;; *) cat stderr >&2; fail "row '$row', $unreadable: status $status" ;; esac
        if ! grep -q "$unreadable" stderr || ! grep -q 'Permission denied' stderr; then
            cat stderr >&2
            fail "row '$row', $unreadable: the message"
        fi
        [ ! -e "$open/out/latest" ] || fail "row '$row', $unreadable: something was published"
        rows=$((rows + 1))
    done
else
    echo 'rows of what may not be read are left out: nobody but root can run the program here'
fi
chmod 755 "$open/closed"

begin 'a folder where a file is expected'
mkdir in/a.jsonl
cp good/part-00000.jsonl in/b.jsonl
status=0
"$SLUICE" run read.lua --quiet --run-dir run 'input=in/a.jsonl' >stdout 2>stderr || status=$?
case $status in 2 | 4 | 5) ;; *) fail "row '$row': status $status" ;; esac
rows=$((rows + 1))

begin 'output that can not be written'
cp good/part-00000.jsonl in/a.jsonl
read_in 5 /proc/nope -- out=/proc/nope
try 5 /proc/nope -- run read.lua --quiet --run-dir /proc/nope
printf x >plain
read_in 5 plain -- out=plain/below

begin 'a full disk'
cp good/* in/
for at in 1 7 20 60; do
    SLUICE_TEST_FAIL=$at+:ENOSPC
    export SLUICE_TEST_FAIL
    read_in 5 'No space left on device'
    unset SLUICE_TEST_FAIL
done
if [ "$(id -u)" = 0 ] && mkdir -p small && mount -t tmpfs -o size=64k none small 2>/dev/null; then
    read_in 5 'No space left on device' -- out=small/out
    read_in 0
    try 5 'No space left on device' -- run read.lua --quiet --run-dir small/run
    umount small
fi
begin 'a limit on the size of files'
cp good/part-00000.jsonl in/a.jsonl
rm -rf run out
status=0
(ulimit -f 10 && "$SLUICE" run read.lua --quiet --run-dir run) >stdout 2>stderr || status=$?
is "$status" 5 "row '$row': status"
grep -q 'File too large' stderr || { cat stderr >&2; fail "row '$row': the message"; }
rows=$((rows + 1))
cp -r good in/more
read_in 0
account 100 0

# ---- the command line ----------------------------------------------------------------------------

begin 'command line'
cp good/part-00000.jsonl in/a.jsonl
try 2 "unknown command 'rnu'" "'run'" -- rnu read.lua
try 2 --wrokers --workers -- run read.lua --wrokers 2
try 2 "unknown option 'otu'" "did you mean 'out'" -- run read.lua otu=x
try 2 name=value -- run read.lua x
try 2 "found '0'" '1 to 1024' -- run read.lua --workers 0
try 2 "found 'many'" -- run read.lua --workers many
try 2 "found '5q'" size -- run read.lua --memory 5q
try 2 'needs a value' -- run read.lua --memory
try 2 --limit "found '0'" -- run read.lua --limit 0
try 2 --limit "found '-1'" -- run read.lua --limit -1
try 2 'no run has ended in' -- report "$TMP/nothing"
cat >wide.lua <<'L'
local s = require "sluice"
local columns = {}
for i = 1, 300 do columns["c" .. i] = "int64" end
return s.pipeline { "wide", s.files "good/*" | s.read_jsonl { columns = columns } | s.write_jsonl { "out" } }
L
try 2 'at most 256 are possible' 'in `metadata`' -- check wide.lua
try 2 'takes no value' -- run read.lua --json=1
try 2 nope.lua 'not there' -- run nope.lua
try 2 folder -- run in
try 2 'no pipeline is given' -- run
try 2 'no run in' -- work "$TMP/nothing"
try 2 'no run in' -- task "$TMP/nothing" 0
try 2 "found 'x'" -- work --workers x "$TMP/nothing"
expect 0 "$SLUICE" run read.lua --quiet --run-dir one.run out=one
try 2 'found task 99' 'tasks 0 to 1' -- task "$TMP/one.run" 99
expect 2 "$SLUICE" task "$TMP/one.run" 4294967296
expect 2 "$SLUICE" task "$TMP/one.run" ''

# --help knows what the script declares, also where it is required and not given.
row='help of a script'
cat >declares.lua <<'L'
local s = require "sluice"
local a = s.args { words = { "path", required = true, doc = "list of words" }, share = { "float", 0.5, min = 0, max = 1, doc = "of what" } }
return s.pipeline { "declares", s.files "good/*" | s.read_jsonl {} | s.write_jsonl { "out" } }
L
expect 0 "$SLUICE" run declares.lua --help
grep -qxF '  words=PATH             list of words (required)' "$TMP/stdout" || fail "row '$row': what is required"
grep -qxF '  share=FLOAT            of what (within [0, 1]) (default: 0.5)' "$TMP/stdout" || fail "row '$row': what has a default"
echo 'return 1' >none.lua
expect 0 "$SLUICE" check none.lua --help
grep -qxF 'none.lua takes no arguments.' "$TMP/stdout" || fail "row '$row': a script without arguments"
try 2 nope.lua -- run nope.lua --help

# What leads nowhere was written wrong, wherever it stands.
try 2 in/no.jsonl 'No such file' -- tokenize --tokenizer "$SRC/tests/data/tokenize/tiny_gpt2.json" in/no.jsonl
try 2 no.json 'No such file' -- tokenize --tokenizer no.json in/a.jsonl
try 2 'in is a folder' -- tokenize --tokenizer in in/a.jsonl
try 2 no.jsonl 'No such file' -- try read.lua no.jsonl
try 2 'holds no snapshot' -- head in
try 2 'holds no snapshot' -- trace in 0 0
try 2 no.txt 'No such file' -- run read.lua --quiet --run-dir run input=@no.txt

# ---- scripts -------------------------------------------------------------------------------------

rm -rf in
cp -r good in
docs='s.files { "in/*", split = "64KiB" } | s.read_jsonl {}'
# script STATUS FRAGMENT... -- TEXT: TEXT stands behind the first line of a script
script() {
    row=script
    for _word; do row=$_word; done
    printf 'local s = require "sluice"\n%s\n' "$row" >q.lua
    _n=$(($# - 1))
    while [ "$_n" -gt 0 ]; do
        set -- "$@" "$1"
        shift
        _n=$((_n - 1))
    done
    shift
    try "$@" run q.lua --quiet --run-dir run
}
# stage STATUS FRAGMENT... -- STAGE: on good records
stage() {
    for _word; do :; done
    _n=$(($# - 1))
    while [ "$_n" -gt 0 ]; do
        set -- "$@" "$1"
        shift
        _n=$((_n - 1))
    done
    shift
    script "$@" "return s.pipeline { 'q', $docs | $_word | s.write_jsonl { 'out', compression = 'none' } }"
}

stage 2 q.lua:2 'gopher_qualty' "did you mean 'gopher_quality'" -- 's.gopher_qualty {}'
stage 2 q.lua:2 "unknown option 'min_doc_word'" "did you mean 'min_doc_words'" -- 's.gopher_quality { min_doc_word = 5 }'
stage 2 q.lua:2 "option 'min_doc_words'" 'string "many"' int -- 's.gopher_quality { min_doc_words = "many" }'
stage 2 q.lua:2 "option 'min_doc_words'" 'int -5' -- 's.gopher_quality { min_doc_words = -5 }'
stage 2 q.lua:2 "option 'words'" uax29 -- 's.gopher_quality { words = "uax92" }'
stage 2 q.lua:2 "'txet'" "did you mean 'text'" -- 's.gopher_quality { over = "txet" }'
stage 2 'must be a stage' -- 's.gopher_quality'
stage 2 bands -- 's.minhash { band = 5 }'
stage 2 "there is no 'requier'" require -- 's.gate { requier = { "text" } }'
stage 2 q.lua:2 "'txet'" "did you mean 'text'" -- 's.filter { "f", function(doc) return doc.txet end }'
script 2 "unknown option 'max_bda'" "did you mean 'max_bad'" -- "return s.pipeline { 'q', max_bda = 1, $docs | s.write_jsonl { 'out' } }"
script 2 "unknown option 'spilt'" "did you mean 'split'" -- \
    "return s.pipeline { 'q', s.files { 'in/*', spilt = '1MiB' } | s.read_jsonl {} | s.write_jsonl { 'out' } }"
script 2 "option 'split'" '"splti"' -- "return s.pipeline { 'q', s.files { 'in/*', split = 'splti' } | s.read_jsonl {} | s.write_jsonl { 'out' } }"
script 2 'no writer' -- "return s.pipeline { 'q' }"
script 2 'go nowhere' -- "return s.pipeline { 'q', $docs }"
script 2 "'path'" -- "return s.pipeline { 'q', $docs | s.write_jsonl {} }"
script 2 "'write_jsonl'" 'a column whose name is empty' -- "return s.pipeline { 'q', $docs | s.write_jsonl { 'out', columns = { '' } } }"
script 2 "'url_parts'" 'name of 300 bytes' -- "return s.pipeline { 'q', s.files 'good/*' | s.read_jsonl { columns = { url = 'utf8' } } | s.url_parts { domain = string.rep('d', 300) } | s.write_jsonl { 'out' } }"
script 2 'the same dataset' -- "local x = $docs return s.pipeline { 'q', x | s.write_jsonl { 'out' }, x | s.write_jsonl { './out/' } }"
script 2 'no pipeline' -- 'return 5'
script 2 'no pipeline' -- ''
script 2 q.lua:2 'unexpected symbol' -- 'return return'
script 2 q.lua:2 'nil value' -- 'local t = nil; t.x = 1'
script 2 nope.so 'No such file' -- "local p = s.plugin './nope.so'"
script 2 "'io'" -- "io.open 'x'"
script 2 'does not come to an end' -- 'while true do end'
script 5 'of memory' -- "local t = {} while true do t[#t + 1] = string.rep('a', 1 << 20) end"
script 2 'MiB' -- "local x = string.rep('a', 1 << 40)"
script 2 -- 'local function f() return f() + 1 end f()'
script 2 'unknown type' -- "s.args { x = { 'itn', 5 } }"

# ---- plugins -------------------------------------------------------------------------------------

row=plugins
if [ -f "$BUILD/tests/abi/major2.so" ]; then
    try 2 'ABI 2' 'ABI 1' -- run read.lua --quiet --run-dir run --trust --plugin "$BUILD/tests/abi/major2.so"
    try 2 no_plugin -- run read.lua --quiet --run-dir run --plugin "$BUILD/tests/abi/no_plugin.so"
    try 2 crash -- run read.lua --quiet --run-dir run --plugin "$BUILD/tests/abi/crash.so"
    try 2 no_plugin -- run read.lua --quiet --run-dir run --trust --plugin "$BUILD/tests/abi/no_plugin.so"
    try 2 crash -- run read.lua --quiet --run-dir run --trust --plugin "$BUILD/tests/abi/crash.so"
fi
try 2 plain -- run read.lua --quiet --run-dir run --trust --plugin plain
try 2 nope.so -- run read.lua --quiet --run-dir run --plugin nope.so

# ---- rows in Lua ---------------------------------------------------------------------------------

# row_function QUARANTINED BODY: of 300 rows, max_bad = 100 %
row_function() {
    script 0 -- "return s.pipeline { 'q', max_bad = '100%', $docs | s.filter { 'f', function(doc) $2 end } | s.write_jsonl { 'out', compression = 'none' } }"
    is "$(json run/last.json quarantined)" "$1" "row '$row': quarantined rows"
    kept=$(lines out | wc -l)
    dropped=$(json run/last.json 'phases.0.stages.1.ledger.dropped.*' | sum)
    is $((kept + dropped + $1)) 300 "row '$row': kept + dropped + quarantined"
}
one='if doc.id == "s1/1/7" then'
row_function 1 "$one error 'boom' end"
row_function 1 "$one local x = nil; x.y = 1 end"
row_function 1 "$one while true do end end"
row_function 1 "$one local t = {} while true do t[#t + 1] = doc.text .. #t end end"
row_function 1 "$one return string.find(string.rep('a', 100000), string.rep('a*', 50) .. 'b') end"
row_function 1 "$one local function f() return f() + 1 end return f() end"
row_function 1 "$one x = 5 end"
row_function 1 "$one return 5 end"
row_function 300 "return 'not a reason!'"
row_function 0 "if doc.text:find 'qu' then return 'has_qu' end"
script 4 'lua_error' q.lua:2 boom max_bad -- \
    "return s.pipeline { 'q', $docs | s.filter { 'f', function(doc) $one error 'boom' end end } | s.write_jsonl { 'out' } }"
script 2 q.lua:2 "upvalue 'n'" ordered -- \
    "local n = 0 return s.pipeline { 'q', $docs | s.filter { 'f', function(doc) n = n + 1 end } | s.write_jsonl { 'out' } }"

row='an error in row 100,000'
rm -rf in
mkdir in
awk 'BEGIN { for (i = 1; i <= 120000; i++) print "{\"id\":\"" i "\",\"text\":\"row " i "\"}" }' >in/a.jsonl
script 0 -- "return s.pipeline { 'q', max_bad = 1, s.files 'in/*' | s.read_jsonl {} | s.filter { 'f', function(doc)
  if doc.id == '100000' then error('row ' .. doc.id) end
end } | s.write_jsonl { 'out', compression = 'none' } }"
is "$(lines out | wc -l)" 119999 "row '$row': rows written"
lines out | grep -q '"row 100000"' && fail "row '$row': it was written"
script 4 'row 100000' q.lua:3 -- "return s.pipeline { 'q', max_bad = 0, s.files 'in/*' | s.read_jsonl {} | s.filter { 'f', function(doc)
  if doc.id == '100000' then error('row ' .. doc.id) end
end } | s.write_jsonl { 'out', compression = 'none' } }"

echo "$rows rows"
