# bad_asks.sh - stages that ask servers wrongly: the kit names the check that fails and what it says; in a run the stage is named and nothing is published, in this
# process and in one of its own. One that dies over an answer loses its row, one that hangs ends the run; one that opens a connection by itself reaches nobody.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

command -v perl >/dev/null || skip 'no perl'
plugin=$BUILD/tests/conform/bad_asks.so

# ---- the kit ----

# stage check words of the message
cat >table <<'TABLE'
no_resume runs it asks, but has no function resume to go on with: set it
unrecorded runs only a stage that is marked SLUICE_STAGE_RECORDED asks a server
bytes runs it asks for bytes of a file where it was given none
kind runs it asks for something of kind 77, which is unknown
absurd runs it asks with 67108865 bytes, at most 67108864 are possible
brief runs an ask is incomplete
flush runs flush of ordinary rows fails
judged verdicts it gives verdicts twice for one batch
endless runs it asks without end in one call: 100000 times
by_place row_local what a row gives depends on the rows beside it
by_place asks what comes out depends on when answers come
keeps runs it uses what was lent to it for a call that is over
counts asks what comes out depends on when answers come
strict runs the server does not like the text
past runs resume crashes
holds asks of the host's memory are still held after calls closed while they wait
itself outside it opens a socket for the network
TABLE
kit() {
    while read -r stage check words; do
        status=0
        "$SLUICE" test-plugin "$plugin" "asks_$stage" --only "$check" --time-limit 90 --quiet >"kit.$stage" 2>&1 || status=$?
        if [ "$status" != 1 ] || ! grep -q "^FAILED .*: $check: " "kit.$stage" || ! tr '\n' ' ' <"kit.$stage" | grep -qF -e "$words"; then
            echo "asks_$stage $check: exit status $status, expected 1 and '$words'; it said:"
            cat "kit.$stage"
        fi
    done
}
# A sanitizer has its own words for memory that is gone.
! grep -q -e -fsanitize= "$BUILD/flags" || sed -i '/^keeps/d; /^past/d' table
awk 'NR % 2' table | kit >odd &
first=$!
awk 'NR % 2 == 0' table | kit >even
wait "$first"
if [ -s odd ] || [ -s even ]; then
    cat odd even >&2
    fail 'the kit does not name every defect'
fi
expect 0 "$SLUICE" test-plugin "$plugin" asks_fine
says 'passed  asks_fine: asks' 'passed  asks_fine: row_local' 'passed  asks_fine: threads' 'passed  asks_fine: deterministic'
# Who judges by bodies of its server's own form is given them; and the check says so where all made-up ones are refused.
printf '{"n":1}\n{"n":22}\n' >answers
expect 0 "$SLUICE" test-plugin "$plugin" asks_fine --answers answers --quiet
expect 1 "$SLUICE" test-plugin "$plugin" asks_by_place --answers answers --only asks
says "--answers $TMP/answers --only asks"
: >none
expect 1 "$SLUICE" test-plugin "$plugin" asks_fine --answers none --only asks
says 'is empty; expected bodies, one a line'

# ---- runs ----

: >log
perl "$SRC/tests/http.pl" log 1 0 0 0 >port &
for _ in $(seq 100); do [ -s port ] && break; sleep 0.1; done
[ -s port ] || skip 'no server could be started'
host=127.0.0.1:$(cat port)
perl -e 'for my $k (0 .. 39) {
    my $text = $k == 23 ? "a row that says CRASH-ME, and more" : $k % 7 == 3 ? "short $k" : "row $k has words enough to be kept";
    print qq({"id":"d$k","text":"$text"}\n);
}' >docs.jsonl
# run STAGE STATUS NAME OPTIONS: in a folder called NAME
run() {
    mkdir "$3"
    cat >"$3/p.lua" <<L
local s = require "sluice"
return s.pipeline { "p", max_bad = 3, s.files "$TMP/docs.jsonl" | s.read_jsonl {} | s.plugin "$plugin".asks_$1 { url = "http://$host/"$4 }
  | s.write_jsonl { "out", compression = "none" } }
L
    # shellcheck disable=SC2086
    expect "$2" sh -c 'cd "$1" && shift && exec "$@"' - "$3" "$SLUICE" run p.lua --quiet --workers 2 --batch 4KiB $trust
    [ "$2" = 0 ] || { says "asks_$1" && [ ! -e "$3/out/latest" ] || fail "asks_$1: it published"; }
}
ask=", ask = { hosts = { \"$host\" } }"
trust=--trust
run fine 0 honest "$ask"
lines honest/out >want
once=$(wc -l <log)
[ "$(wc -l <want)" -gt 3 ] && [ "$(wc -l <want)" -lt 40 ] || fail 'nothing is judged'
trust=
run fine 0 apart "$ask"
lines apart/out | cmp - want || fail 'other rows from a process of its own'
for trust in --trust ''; do
    name=$trust
    run no_resume 1 "no_resume$name" ""
    says 'has no function resume'
    run unrecorded 1 "unrecorded$name" ""
    says 'SLUICE_STAGE_RECORDED'
    run bytes 1 "bytes$name" "$ask"
    says 'bytes of a file where it was given none'
    run kind 1 "kind$name" "$ask"
    says 'of kind 77'
    run absurd 1 "absurd$name" "$ask"
    says '67108864 are possible'
    run brief 1 "brief$name" "$ask"
    says 'an ask is incomplete'
    run flush 1 "flush$name" "$ask"
    says 'in process and its resume'
    run judged 1 "judged$name" "$ask"
    says 'verdicts twice'
    run endless 1 "endless$name" "$ask"
    says 'asks without end in one call'
done

asked=$(wc -l <log)
# A child that dies while it goes on with answers: the row is found out, what was answered is not asked again.
run crashes 0 crashes "$ask"
grep -v d23 want >want.healthy
lines crashes/out | cmp - want.healthy || fail 'other rows beside the one that crashes'
expect 0 "$SLUICE" why crashes/.sluice/p --quarantine
says 'crash in asks_crashes: row 23 of' '1 of 1 quarantined'
is "$(wc -l <log)" $((asked + once)) 'asks of those that the stage judges in parts'
run hangs 1 hangs "$ask, isolate = { timeout = \"2s\" }"
says '2 s' timeout
run itself 0 itself ''
is "$(lines itself/out | wc -l)" 40 'rows of a stage that was to hear of a server by itself'
