# units.sh - a reader that reads at random (sdk/examples/units.c): one file of 1,000 units on any number of workers, whatever the splits; units
# that an option rules out are not read, by the run's own counter and by the system's; rows are traced to unit and row; surveys are made once;
# damaged files, units that overlap and files that change are refused; the same in child processes.
. "$SRC/tests/lib.sh"

faults 12:11
make_units() { perl "$SRC/tests/pipeline/units.pl" "$@" || fail "no file of units: $*"; }
# What is found out about a file is remembered when it was not changed just now.
old() { touch -d '1 hour ago' "$@" && sleep 2.1; }

cp "$BUILD/examples/units.so" .
cat >p.lua <<'L'
local s = require "sluice"
local u = s.plugin "./units.so"
local a = s.args { where = { "string", "-9e18.." }, out = { "path", "out" }, split = { "string", "256KiB" }, isolate = { "bool", false },
  place = { "bool", false }, from = { "string", "in/*" } }
return s.pipeline { "p", max_bad = "100%", s.files { a.from, split = a.split } |
  u.read_units { where = a.where, place = a.place, isolate = a.isolate or nil } | s.write_jsonl { a.out, compression = "none" } }
L
run() { # STATUS NAME ARGUMENT...: in the run directory NAME, into NAME.out (without .run)
    _wanted_status=$1
    _run=$2
    shift 2
    expect "$_wanted_status" "$SLUICE" run p.lua --quiet --trust --run-dir "$(place "$_run")" "out=$(place "${_run%.run}.out")" "$@"
    land "$_run" "${_run%.run}.out"
}
latest=latest
[ "$STORE" = disk ] || latest=data
mkdir in
make_units in/a.units units=1000 rows=40 words=60
old in/a.units
size=$(stat -c %s in/a.units)

# ---- the same rows and bytes for any number of workers ----
run 0 one --workers 1
[ "$(lines one.out | wc -l)" = 40000 ] || fail "$(lines one.out | wc -l) rows, expected 40000"
lines one.out | sed -n '1p;$p' | grep -o '"number":[0-9]*' >ends
is "$(tr '\n' ' ' <ends)" '"number":0 "number":39999 ' 'first and last row'
[ "$(find one/tasks -type f | wc -l)" -gt 20 ] || fail 'one file became few tasks'
for workers in 2 5; do
    run 0 "w$workers" --workers $workers --batch $((workers * 7))KiB
    same "one.out/$latest" "w$workers.out/$latest" "datasets of 1 and $workers workers"
    same one/tasks "w$workers/tasks" "records of 1 and $workers workers"
done
run 0 whole split=1GiB
lines whole.out >whole.rows
lines one.out | cmp - whole.rows || fail 'other rows where the file is one split'
run 0 apart isolate=true
lines apart.out | cmp - whole.rows || fail 'other rows from a child process'

# ---- what is ruled out is not read ----
run 0 tenth where=4000..7999
is "$(lines tenth.out | wc -l)" 4000 'rows of a tenth'
read=$(json tenth/last.json input.read_bytes)
[ "$read" -le $((size * 11 / 100)) ] || fail "$read of $size bytes were read for a tenth of the units"
is "$(json tenth/last.json funnel.0.skipped.min_max.units)" 900 'units that were skipped'
is "$(json tenth/last.json funnel.0.skipped.min_max.rows)" 36000 'rows that were skipped'
expect 0 "$SLUICE" report "$(place tenth)"
says '900 units, 36,000 rows' 'skipped by min_max' 'of them read'
# By the system's count of what the process reads in all, with all else that it opens.
cat >io.sh <<'S'
"$@" || exit $?
S
rchar() { # FILE COMMAND...: what it read
    perl -e 'my $out = shift; my $pid = fork; if (!$pid) { exec @ARGV or die } my $n = 0;
        while (1) { if (open my $io, "<", "/proc/$pid/io") { while (<$io>) { $n = $1 if /^rchar: (\d+)/ && $1 > $n } }
        last if waitpid($pid, 1) == $pid; select undef, undef, undef, 0.001 }
        my $bad = $?; open my $to, ">", $out; print $to "$n\n"; exit($bad >> 8)' "$@"
}
if [ "$STORE" = disk ] && [ -r /proc/self/io ]; then
    expect 0 rchar all.io "$SLUICE" run p.lua --quiet --trust --workers 1 --run-dir all.io.run out=all.io.out
    expect 0 rchar few.io "$SLUICE" run p.lua --quiet --trust --workers 1 --run-dir few.io.run out=few.io.out where=4000..7999
    [ $(($(cat all.io) - $(cat few.io))) -ge $((size * 80 / 100)) ] || fail "the system counts $(cat few.io) bytes read, of all units $(cat all.io)"
fi
# Rows of a unit that is read may be skipped as well.
run 0 part where=4010..4019
is "$(lines part.out | wc -l)" 10 'rows of a part of a unit'
is "$(json part/last.json funnel.0.skipped.where.rows)" 30 'rows skipped within a unit'
is "$(json part/last.json funnel.0.skipped.min_max.units)" 999 'units skipped beside it'

# ---- nothing is done twice ----
run 0 one --workers 2
is "$(json one/last.json input.read_bytes)" 0 'bytes read where nothing changed'
run 0 one --fresh --workers 2
# All but the head, the index of 40 bytes a unit, and the trailer, which another execution surveyed.
is "$(json one/last.json input.read_bytes)" $((size - 8 - 40000 - 56)) 'bytes of units that were read anew'
touch in/a.units # the same bytes at another time
run 0 one
is "$(json one/last.json phases.0.reused)" "$(json one/last.json phases.0.tasks)" 'tasks that hold where a file was only touched'

# ---- from rows to units ----
shard=$(basename "$(shards one.out | sed -n 2p)")
number=$(sed -n 8p "one.out/$latest/$shard" | grep -o '"number":[0-9]*' | cut -d: -f2)
expect 0 "$SLUICE" trace "$(place one.out)" "$shard" 7 --run "$(place one)"
says 'a.units  bytes' "(a unit), row $((number % 40)) in it"
expect 0 "$SLUICE" trace "$(place one.out)" "$shard" 7 --run "$(place one)" --text
says "\"number\":$number," '"text":"number '
run 0 place place=true
shard=$(basename "$(shards place.out | sed -n 2p)")
number=$(sed -n 8p "place.out/$latest/$shard" | grep -o '"number":[0-9]*' | cut -d: -f2)
expect 0 "$SLUICE" trace "$(place place.out)" "$shard" 7 --run "$(place place)" --text
says "number $number and some more words"
grep -q 'a unit' "$TMP/stdout" && fail 'a record with a place of its own is traced to a unit'

# ---- records that can't be read ----
mkdir bad
make_units bad/a.units units=20 rows=50 bad=7
old bad/a.units
run 0 bad.run 'from=bad/*'
is "$(lines bad.out | wc -l)" 857 'rows that could be read'
is "$(json bad.run/last.json quarantined)" 143 'records in quarantine'
expect 0 "$SLUICE" why "$(place bad.run)" --quarantine
says 'invalid_utf8' 'a.units bytes'
run 0 bad2 'from=bad/*' isolate=true
is "$(json bad2/last.json quarantined)" 143 'records in quarantine from a child process'

# ---- damaged files name file, unit and byte ----
for rot in trailer index overlap cut; do
    mkdir "$rot"
    make_units "$rot/x.units" rot=$rot
    run 4 "$rot.run" "from=$rot/*"
    says 'x.units' 'damaged' 'byte'
done
mkdir text count
make_units text/x.units rot=text
run 4 text.run 'from=text/*'
says 'x.units, unit 3 (bytes' 'a row at byte'
make_units count/x.units rot=count
run 4 count.run 'from=count/*'
says 'x.units, unit 3 (bytes' 'it gave 100 rows, the survey of the file says 101'

# ---- columns that the first file names, at planning and in a check ----
mkdir named two none
make_units named/a.units column=body
expect 0 "$SLUICE" check p.lua --trust 'from=named/*'
run 0 named.run 'from=named/*'
lines named.out | sed -n 1p | grep -q '"body":"number 0' || fail 'the column has another name than the file says'
run 0 named2.run 'from=named/*' isolate=true
lines named2.out | sed -n 1p | grep -q '"body":"number 0' || fail 'the column has another name in a child process'
expect 0 "$SLUICE" check p.lua --trust 'from=none/*'
make_units two/a.units column=body
make_units two/b.units column=text from=1000
run 4 two.run 'from=two/*'
says 'b.units, unit 0' "its texts are in the column 'text', those of the first file in 'body'"

# ---- looks ----
expect 0 "$SLUICE" sample p.lua --trust --quiet --at write_jsonl -n 7 -o sample.jsonl where=4000..4099
is "$(wc -l <sample.jsonl)" 7 'rows of a sample'
grep -q '"number":40[0-9][0-9][,}]' sample.jsonl || fail 'a sample of other rows'

# ---- memory: a unit that is too large is refused with the number, a million units are not ----
memory() {
    mkdir large
    make_units large/a.units units=2 rows=2000 words=6000
    run 5 large.run 'from=large/*' --memory 128MiB
    says 'a.units, unit 0' 'MiB' '--memory'
    run 0 large.run 'from=large/*' --memory 1GiB
    mkdir many
    make_units many/a.units units=1000000 rows=1 words=0
    old many/a.units
    "$SLUICE" run p.lua --quiet --trust --run-dir many.run out=many.out 'from=many/*' split=8MiB >"$TMP/stdout" 2>"$TMP/stderr" &
    pid=$!
    peak=0
    while kib=$(sed -n 's/VmHWM:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$pid/status" 2>/dev/null) && [ -n "$kib" ]; do
        peak=$kib
        sleep 0.02
    done
    wait $pid || fail "status $? for a million units: $(cat "$TMP/stderr")"
    [ "$peak" -le 262144 ] || fail "a million units took $peak KiB, the index has 40 MB"
    is "$(lines many.out | wc -l)" 1000000 'rows of a million units'
    [ "$(find many.run/cache/inputs.bytes -type f -size -8M | wc -l)" = 1 ] || fail 'the survey is not remembered, or not packed'
}
[ "$STORE" != disk ] || memory # what is held in memory does not hang on where the run is

# ---- ranges without a survey: records are found by their markers ----
cp "$BUILD/tests/pipeline/marked.so" .
mkdir marked
perl -e 'binmode STDOUT; for my $k (0 .. 4999) { my $text = "record $k " . "word " x (($k * 7919) % 90 + ($k == 777 ? 40000 : 0));
    print "\xf5REC\xf5\x01\x02\x03", pack("L<L<", length $text, ~length($text) & 0xffffffff), $text }' >marked/a.warc.gz
cat >m.lua <<'L'
local s = require "sluice"
local m = s.plugin "./marked.so"
local a = s.args { out = { "path", "out" }, split = { "string", "1GiB" } }
return s.pipeline { "m", s.files { "marked/*", split = a.split } | m.read_marked {} | s.write_jsonl { a.out, compression = "none" } }
L
marked() { # STATUS NAME ARGUMENT...
    _wanted_status=$1
    _run=$2
    shift 2
    expect "$_wanted_status" "$SLUICE" run m.lua --quiet --run-dir "$(place "$_run")" "out=$(place "${_run%.run}.out")" "$@"
    land "$_run" "${_run%.run}.out"
}
marked 0 m.run --trust
lines m.out >marked.rows
is "$(grep -o 'record [0-9]* ' marked.rows | uniq | wc -l)" 5000 'records of one range'
for split in 64KiB 65537 100000 333KiB; do
    marked 0 "m$split.run" --trust --workers 3 split=$split
    lines "m$split.out" | cmp - marked.rows || fail "other records in ranges of $split"
done
marked 0 m.apart split=64KiB
lines m.apart.out | cmp - marked.rows || fail 'other records from a child process'
truncate -s -5 marked/a.warc.gz
marked 4 m.run --trust
says 'a.warc.gz, bytes' 'the file ends inside a record'
