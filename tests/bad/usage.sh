# usage.sh - wrong command lines and files that are none: a reason and how the command is used on standard error, nothing on standard
# output, status 2; a pipe where a file belongs never hangs.
# shellcheck shell=sh
. "$SRC/tests/lib.sh"

# said STATUS WORDS COMMAND...: ends so, within a time that only a command that waits for ever takes, prints nothing and says all words.
said() {
    _status=$1
    _words=$2
    shift 2
    _got=0
    timeout -k 5 120 "$@" >"$TMP/stdout" 2>"$TMP/stderr" </dev/null || _got=$?
    [ "$_got" = "$_status" ] || fail "$* ended with $_got, expected $_status: $(cat "$TMP/stderr")"
    [ ! -s "$TMP/stdout" ] || fail "$* wrote to standard output: $(head -n 3 "$TMP/stdout")"
    grep -q -e "$_words" "$TMP/stderr" || fail "$*: no '$_words' in: $(cat "$TMP/stderr")"
}

# ---- arguments -------------------------------------------------------------------------------------

for command in run check plan work task show report why replay trace head verify sample try test new lock test-plugin bundle gc; do
    said 2 "sluice $command\|sluice: found 0 of 2" "$SLUICE" "$command"
    said 2 'unknown option --nonsense' "$SLUICE" "$command" --nonsense
    timeout 120 "$SLUICE" "$command" --help >help 2>"$TMP/stderr" || fail "$command --help fails"
    grep -q "^usage: sluice $command" help || fail "$command --help says: $(head -n 1 help)"
done
for command in work show report why replay head verify bundle gc; do
    said 2 "'extra' too many: sluice $command" "$SLUICE" "$command" run extra
done
said 2 "'extra' too many" "$SLUICE" task run 1 extra
said 2 "found 'x' as N" "$SLUICE" task run x
said 2 "'extra' too many" "$SLUICE" inspect words extra
said 2 "'extra' too many" "$SLUICE" plugins extra
said 2 "'extra' too many" "$SLUICE" trace a b c d extra

said 2 'no command is given' "$SLUICE"
said 2 "'extra' too many" "$SLUICE" help extra
said 2 "'extra' too many" "$SLUICE" --help extra

# Every command that a message or a page names is there.
"$SLUICE" --help | sed -n 's/^  \([a-z-]*\)  *.*/\1/p' >commands
grep -rhoE '`sluice [a-z][a-z-]*' "$SRC/core" "$SRC/plugins" "$SRC/scripts" "$SRC/sdk" "$SRC/README.md" "$SRC/pkg" --include='*.c' --include='*.cc' \
    --include='*.h' --include='*.hpp' --include='*.lua' --include='*.md' --include='*.1' | sed 's/.*sluice //' | sort -u >named
[ "$(wc -l <named)" -gt 10 ] || fail "only these commands are named: $(cat named)"
sort commands | comm -13 - named >absent
[ ! -s absent ] || fail "these commands are named and not there: $(tr '\n' ' ' <absent)"

# ---- numbers ---------------------------------------------------------------------------------------

# Digits and nothing else, with one message: strtoul would take "-18446744073709551615" for 1.
echo 'return require "sluice"' >n.lua
for number in ' 3' +3 -3 -18446744073709551615 0 1025 3x 0x3 18446744073709551619 ''; do
    for command in run plan check try work sample; do
        case $command in sample) more=--at=x ;; try) more=docs.jsonl ;; *) more=--quiet ;; esac
        said 2 "^sluice: --workers: found '$number', expected a number from 1 to 1024" "$SLUICE" "$command" n.lua "$more" "--workers=$number"
    done
done
for number in ' 3' +3 -18446744073709551615 0 3x 3filesx files 18446744073709551619 ''; do
    said 2 "^sluice: --limit: found '$number', expected a number of files" "$SLUICE" run n.lua "--limit=$number"
done
for size in ' 64MiB' 0 -1 64Q ''; do
    for command in run work 'sample --at=x'; do
        # shellcheck disable=SC2086
        said 2 "^sluice: --memory: found '$size', expected a size such as" "$SLUICE" $command n.lua "--memory=$size"
    done
done

# ---- sizes -----------------------------------------------------------------------------------------

cat >t.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "glob", "docs.jsonl" }, size = { "size", "1MiB" }, level = { "int", 0 }, codec = { "string", "gzip" } }
return s.pipeline { "t", s.files(a.input) | s.read_jsonl {}
  | s.write_jsonl { "out", shard_size = a.size, compression = a.codec, level = a.level } }
L
printf '{"id":"a","text":"some words"}\n' >docs.jsonl
# One grammar: a letter alone and KiB are binary, kB is decimal, on the command line and in options.
for size in 64M 64MiB 67108864 65536K 0.0625GiB 64MB; do
    expect 0 "$SLUICE" run t.lua --quiet "size=$size" --run-dir "run.$size"
    (cd "run.$size/tasks" && find . -type f) >"keys.$size"
    [ -s "keys.$size" ] || fail 'no task keys'
done
for size in 64MiB 67108864 65536K 0.0625GiB; do
    cmp -s "keys.$size" keys.64M || fail "$size is not 64M"
done
! cmp -s keys.64MB keys.64M || fail '64MB is 64M'
said 5 'memory' "$SLUICE" run t.lua --quiet --memory 2K
for size in 64X -1 '' M 1e400; do
    said 2 'expected a size' "$SLUICE" run t.lua --quiet --memory "$size"
done

# ---- levels ----------------------------------------------------------------------------------------

cat >w.lua <<'L'
local s = require "sluice"
local a = s.args { level = { "int", 0 } }
local w = s.writer { "w", suffix = ".txt", row = function(doc) return doc.text .. "\n" end }
return s.pipeline { "w", s.files "docs.jsonl" | s.read_jsonl {} | w { "lua", compression = "gzip", level = a.level } }
L
for level in 10 11 12 23 -1; do
    said 2 'level' "$SLUICE" check w.lua "level=$level"
    said 2 'level' "$SLUICE" check t.lua "level=$level"
done
expect 0 "$SLUICE" run t.lua --quiet level=9
said 2 'level' "$SLUICE" check t.lua codec=none level=1
expect 0 "$SLUICE" check t.lua codec=zstd level=22

# ---- lists, and files that are none ----------------------------------------------------------------

echo docs.jsonl >list
mkdir elsewhere
for list in @list "@$TMP/list"; do
    rm -rf out .sluice
    expect 0 "$SLUICE" run t.lua --quiet "input=$list"
    is "$(gzip -dc out/latest/* | wc -l)" 1 "rows by input=$list"
done
(cd elsewhere && "$SLUICE" check ../t.lua input=@../list) || fail 'a relative list'
for pipe in pipe.jsonl pipe.lua pipe.so pipe.tiktoken; do mkfifo $pipe || skip 'no pipes here'; done
said 4 'pipe.jsonl is a pipe, expected a file' "$SLUICE" run t.lua --quiet input=pipe.jsonl
said 4 'pipe.jsonl is a pipe, expected a file' "$SLUICE" run t.lua --quiet 'input=pipe.j*'
said 4 '/dev/zero is a device, expected a file' "$SLUICE" run t.lua --quiet input=/dev/zero
said 2 'pipe.jsonl is a pipe, expected a file' "$SLUICE" run t.lua --quiet input=@pipe.jsonl
said 2 'elsewhere is a folder, expected a file' "$SLUICE" run t.lua --quiet input=@elsewhere
said 2 'pipe.lua is a pipe, expected a file' "$SLUICE" check pipe.lua
said 2 'pipe.lua is a pipe, expected a file' "$SLUICE" test pipe.lua
said 2 'pipe.so is a pipe, expected a file' "$SLUICE" check t.lua --plugin ./pipe.so
said 2 'pipe.so is a pipe, expected a file' "$SLUICE" test-plugin ./pipe.so
said 2 'docs.jsonl is no plugin: expected a shared object' "$SLUICE" test-plugin ./docs.jsonl
said 2 "nothing.so can't be opened" "$SLUICE" test-plugin ./nothing.so
said 2 'expected a file' "$SLUICE" try gopher_quality pipe.jsonl
said 2 'expected a file' "$SLUICE" tokenize --tokenizer pipe.tiktoken docs.jsonl
