# native.sh - C functions of a plain shared library as columns (s.native) and in rows (ffi.def), in child processes: the same bytes for any
# workers and batches, a new library runs again, a crash costs its row alone, mistakes end the run before any data.
. "$SRC/tests/lib.sh"

LIB=$BUILD/tests/conform/native_lib.so
[ -f "$LIB" ] || skip 'tests/conform/native_lib.so is not built'
cp "$LIB" one.so
perl "$CORPUS" corpus files=4 docs=150 >made || fail 'no corpus'



cat >native.lua <<'L'
local s = require "sluice"
local ffi = require "ffi"
local a = s.args { lib = { "path", "one.so" }, out = { "path", "native.out" } }
local share, language = ffi.def { lib = a.lib, "double lib_share_e(const char *, size_t)",
                                  "const char *lib_language(const char *text, size_t n)" }
local docs = s.files { "corpus/*", split = "64KiB" } | s.read_jsonl {}
local measured = docs | s.native { lib = a.lib, "double lib_share_e(const char *, size_t)", over = "text", as = "share" }
  | s.native { lib = a.lib, "void lib_scale(const double *in, double *out, size_t n, double factor)", over = "share", as = "percent",
               args = { 100 }, thread_safe = true }
  | s.native { lib = a.lib, "size_t lib_strlen(const char *)", as = "bytes" }
  | s.annotate { "again", function(doc) return { again = share(doc.text), size = language(doc.text) } end,
                 adds = { again = "float64", size = "utf8?" } }
local good = measured | s.filter { "odd", function(doc, o)
  if doc.again ~= doc.share or doc.percent ~= doc.share * 100 then return "wrong" end
  if doc.share > 0.055 then return "many_e", doc.share, 0.055 end
end }
return s.pipeline { "native", good | s.write_jsonl { a.out .. "/kept", compression = "none" },
                    good.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" } }
L

expect 0 "$SLUICE" check native.lua
expect 0 "$SLUICE" run native.lua --quiet --workers 1 --run-dir native.run
kept=$(lines native.out/kept | wc -l)
lost=$(lines native.out/lost | wc -l)
[ "$kept" -gt 50 ] && [ "$lost" -gt 50 ] || fail "kept $kept, lost $lost: expected many of both"
is "$(lines native.out/lost | grep -c '"drop_reason":"many_e"')" "$lost" 'reasons'
# What the columns hold is what perl counts.
lines native.out/kept | perl -ne '
    my ($text) = /"text":"((?:[^"\\]|\\.)*)"/; my ($share) = /"share":([-0-9.e]+)/; my ($bytes) = /"bytes":(\d+)/;
    next if $text =~ /\\/; my $e = () = $text =~ /e/g;
    die "found $bytes and $share: $_" if $bytes != length $text || abs($e / length($text) - $share) > 1e-12; $n++;
    END { die "only $n rows were looked at" if $n < 50 }' || fail 'a column is wrong'

# Other workers, batches and processes.
cp -r native.out first
expect 0 "$SLUICE" run native.lua --quiet --fresh --workers 4 --batch 20KiB --run-dir native.run
same first/kept/latest native.out/kept/latest 'four workers and small batches'
tasks_apart native
expect 0 "$SLUICE" run native.lua --quiet --run-dir native.run
is "$(reran native.run | sum)" 0 'tasks after those of processes of their own'
same first/kept/latest native.out/kept/latest 'every task in a process of its own'
same first/lost/latest native.out/lost/latest 'every task in a process of its own'

# The content of the library is what counts, not its name or time.
cp "$LIB" two.so
expect 0 "$SLUICE" run native.lua --quiet lib=two.so --run-dir native.run
is "$(reran native.run | sum)" 0 'tasks of a copy of the library'
printf 'more' >>two.so
expect 0 "$SLUICE" run native.lua --quiet lib=two.so --run-dir native.run
[ "$(reran native.run | sum)" -gt 0 ] || fail 'another library ran nothing again'

# A lock knows the libraries of both.
expect 0 "$SLUICE" lock native.lua
is "$(json native.lock 'files.*.path' | grep -c '/one.so$')" 4 'libraries in the lock file'
expect 0 "$SLUICE" check native.lua --locked
cp one.so kept.so
printf 'more' >>one.so
expect 2 "$SLUICE" check native.lua --locked
says '--locked' one.so
mv kept.so one.so

# A row that crashes the library is quarantined; all others are as they would be without it.
crash() {
    cat >crash.lua <<L
local s = require "sluice"
local a = s.args { input = { "glob", "corpus/*" }, out = { "path", "crash.out" } }
$1
return s.pipeline { "crash", s.files { a.input, split = "64KiB" } | s.read_jsonl {} | $2 | s.write_jsonl { a.out, compression = "none" }, max_bad = 2 }
L
    rm -rf crash.run crash.out sound.out sound.run
    expect 0 "$SLUICE" run crash.lua --quiet --workers 2 --run-dir crash.run "input=$TMP/crashing/*"
    expect 0 "$SLUICE" run crash.lua --quiet --workers 1 --run-dir sound.run "input=$TMP/sound/*" out=sound.out
    lines crash.out >crash.rows
    lines sound.out >sound.rows
    cmp -s crash.rows sound.rows || fail "$3: rows other than the crashing one changed"
    is "$(wc -l <crash.rows)" "$(wc -l <"$TMP/sound/a.jsonl")" "$3: rows"
    expect 0 "$SLUICE" why "$TMP/crash.run" --quarantine
    says "$4" 'row 5 of' '1 of 1 quarantined'
}
mkdir crashing sound
for n in 1 2 3 4 5 6 7 8 9; do echo "{\"id\":\"$n\",\"text\":\"some text, number $n\"}"; done >sound/a.jsonl
sed '6i{"id":"x","text":"a row that says CRASH-ME"}' sound/a.jsonl >crashing/a.jsonl
crash '' 's.native { lib = "one.so", "double lib_crash(const char *, size_t)", as = "x" }' s.native SIGABRT
crash '' 's.native { lib = "one.so", "int lib_scribble(const char *, size_t)", as = "x" }' 's.native that writes to its input' SIGSEGV
crash 'local f = require "ffi".def { lib = "one.so", "double lib_crash(const char *, size_t)" }' \
    's.annotate { "x", function(doc) return { x = f(doc.text) } end, adds = { x = "float64" } }' ffi.def SIGABRT

# One that never returns ends the run, and says which.
cat >hang.lua <<'L'
local s = require "sluice"
return s.pipeline { "hang", s.files "hanging/*" | s.read_jsonl {} | s.native { lib = "one.so", "int lib_hang(const char *, size_t)",
  isolate = { timeout = "1s" } } | s.write_jsonl { "hang.out" } }
L
mkdir hanging
sed 's/CRASH-ME/HANG-ME/' crashing/a.jsonl >hanging/a.jsonl
status=0
"$SLUICE" run hang.lua --quiet >stdout 2>stderr || status=$?
case $status in 1 | 5) ;; *) fail "exit status $status of a function that hangs" ;; esac
grep -q "'native'" stderr || fail 'the run does not name the stage that hangs'
[ ! -e hang.out/latest ] || fail 'a run that hung published its rows'

# Mistakes.
mistake() {
    cat >mistake.lua <<L
local s = require "sluice"
local ffi = require "ffi"
local docs = s.files "sound/*" | s.read_jsonl {}
return s.pipeline { "mistake", docs | $1 | s.write_jsonl { "mistake.out" } }
L
    shift
    expect 2 "$SLUICE" check mistake.lua
    says "$@"
}
mistake 's.native { lib = "no.so", "double f(const char *, size_t)" }' 'no.so'
mistake 's.native { lib = "one.so", "double f(const char *, ...)" }' 'mistake.lua:4' "character 24, '...'"
mistake 's.native { lib = "one.so", "double lib_sum_e(const char *, size_t)" }' "has no function 'lib_sum_e'" 'did you mean'
mistake 's.native { lib = "one.so", "float lib_share_e(const char *, size_t)" }' 'the type of the result is different'
mistake 's.native { lib = "one.so", "double lib_share_e(const char *, size_t)", ower = "text" }' "'ower'" "'over'"
mistake 's.native { lib = "one.so", "double lib_share_e(const char *, size_t)", isolate = false }' 'isolate = false'
mistake 's.filter { "x", (function() local f = ffi.def { lib = "one.so", "int lib_nt(int)" } return function() f(1) end end)() }' \
    "has no function 'lib_nt'" 'mistake.lua:4'
cat >mistake.lua <<'L'
local ffi = require "ffi"
print(ffi.def { lib = "one.so", "int lib_int(int)" } (1))
L
expect 2 "$SLUICE" check mistake.lua
says 'mistake.lua:2' 'which only rows of stages call'

# People find it.
expect 0 "$SLUICE" inspect native
says 'const char *, size_t' thread_safe 'list<float64>'
