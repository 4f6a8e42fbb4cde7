# A host that sees the same files under other device numbers hashes and reads none of them again.
set -eu
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"
mkdir in upper work
for k in 1 2 3; do
    for j in 1 2 3 4; do echo "{\"id\":\"$k-$j\",\"text\":\"document $j of file $k\"}"; done >in/f$k.jsonl
done
cat >p.lua <<'L'
local s = require "sluice"
return s.pipeline { "p", s.files "in/*.jsonl" | s.read_jsonl {} | s.exact { partitions = 2 } | s.write_jsonl { "out" } }
L
sleep 3 # what was written just now is believed by its execution only
expect 0 "$SLUICE" run p.lua --quiet
cp -p in/f1.jsonl kept
# A copy with the times of the original and other bytes: whoever read it would do its tasks again.
cat >there.sh <<'L'
set -eu
mkdir other
for f in in/*; do
    tr 'a-z' 'b-za' <"$f" >"other/${f##*/}"
    touch -r "$f" "other/${f##*/}"
done
mount -t tmpfs none in
cp -p other/* in/
[ "$(stat -c %d in)" != "$(stat -c %d other)" ] || exit 76
"$SLUICE" run p --quiet --json >there.json
"$SLUICE" work p --quiet
L
status=0
unshare -m sh there.sh 2>there.err || status=$?
if [ $status != 0 ] && grep -qE 'unshare|mount' there.err; then
    skip "no mount namespace here: $(head -n 1 there.err)"
fi
[ $status = 0 ] || fail "on the second host: exit status $status: $(cat there.err)"
is "$(tail -n 1 there.json >last.json && json last.json 'report.phases.*.raw_bytes' | sort -u)" 0 'bytes that were read again'
is "$(json last.json 'report.phases.*.reused')" "$(json last.json 'report.phases.*.tasks')" 'tasks that were known'
