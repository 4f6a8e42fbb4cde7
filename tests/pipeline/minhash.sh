# minhash.sh - near duplicates: known clusters are found (a copy with few words changed shares most
# shingles with its origin), unlike documents stay, the smallest position of a cluster survives, and
# dropped ones name it with a similarity above the threshold of the bands.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=5 docs=200 dup=5 near=15 short=0 lorem=0 words=200 >made || fail 'no corpus'
cat >minhash.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, bands = { "int", 20 }, rows = { "int", 5 } }
local docs = s.files { "corpus/*", split = "64KiB" } | s.read_jsonl { columns = { kind = "utf8", of = "utf8" } }
local unique = docs | s.minhash { ngram = 3, bands = a.bands, rows = a.rows, partitions = 5 }
return s.pipeline { "minhash", unique | s.write_jsonl { a.out .. "/kept", compression = "none" },
  unique.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" } }
L
expect 0 "$SLUICE" run minhash.lua --quiet
near=$(sed -n 's/^near //p' made)
copies=$(sed -n 's/^duplicates //p' made)
plain=$((1000 - near - copies))
kept_plain=$(lines out/kept | grep -c '"kind":"plain"')
is "$kept_plain" "$plain" 'documents unlike any other that stay'
lines out/lost >lost
is "$(grep -c '"kind":"duplicate"' lost)" "$copies" 'exact copies found'
found=$(grep -c '"kind":"near"' lost)
[ $((found * 100)) -ge $((near * 90)) ] || fail "only $found of $near near duplicates are found"
# A cluster is named after its smallest position: the document that all its copies come from.
member of <lost >left
member dup_of <lost >right
cmp -s left right || fail 'dup_of does not name the origin of the cluster'
low=$(member similarity <lost | sort -n | head -n 1)
high=$(member similarity <lost | sort -n | tail -n 1)
awk -v low="$low" -v high="$high" 'BEGIN { exit !(low >= 0.2 && high == 1) }' || fail "similarities from $low to $high"
is "$(grep '"kind":"duplicate"' lost | member similarity | sort -u)" 1.0 'similarity of copies'
is "$(member drop_reason <lost | sort -u)" minhash_duplicate 'the reason'
# Fewer bands of more rows: a higher threshold, so never more is found.
expect 0 "$SLUICE" run minhash.lua --quiet out=strict bands=4 rows=25 --run-dir strict.run
strict=$(lines strict/lost | grep -c '"kind":"near"' || true)
[ "$strict" -lt "$found" ] || fail "$strict near duplicates at a threshold of 0.95, $found at 0.55"
is "$(lines strict/lost | grep -c '"kind":"duplicate"')" "$copies" 'exact copies found by strict bands'

# The same documents survive, and name the same ones, whatever the workers, splits and partitions are, and when tasks are done in any
# order by processes of their own; also verified, and in the order of the peer.
cat >same.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "same.out" }, split = { "string", "512KiB" }, partitions = { "int", 3 }, keep = { "string", "first" }, verify = { "float", 0 } }
local docs = s.files { "corpus/*", split = a.split } | s.read_jsonl {}
local unique = docs | s.minhash { ngram = 3, bands = 20, rows = 5, partitions = a.partitions, keep = a.keep, verify = a.verify }
return s.pipeline { "same", unique | s.write_jsonl { a.out .. "/kept", compression = "none" },
  unique.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" } }
L
survivors() {
    lines "$1/kept" | member id
    lines "$1/lost" | member id >ids
    lines "$1/lost" | member dup_of >of
    lines "$1/lost" | member similarity | paste -d ' ' ids of -
}
expect 0 "$SLUICE" run same.lua --quiet --run-dir same.run --workers 2
survivors same.out >expected
is "$(wc -l <expected)" 1000 'documents accounted for'
for way in '--workers 1' 'split=64KiB --workers 4' 'split=64MiB partitions=1' 'partitions=10 --memory 256MiB'; do
    rm -rf way.out way.run
    # shellcheck disable=SC2086
    expect 0 "$SLUICE" run same.lua --quiet --run-dir way.run out=way.out $way
    survivors way.out >found
    cmp -s expected found || fail "other survivors with $way"
done
for way in keep=longest verify=0.7 keep=peer; do
    rm -rf way.out way.run
    expect 0 "$SLUICE" run same.lua --quiet --run-dir way.run out=way.out "$way"
    survivors way.out >first
    cmp -s expected first && [ "$way" != keep=peer ] && fail "$way changes nothing; the test tests nothing"
    rm -rf way.out way.run
    expect 0 "$SLUICE" run same.lua --quiet --run-dir way.run out=way.out "$way" split=64MiB partitions=1 --workers 4
    survivors way.out >found
    cmp -s first found || fail "other survivors with $way and other splits"
done
tasks_apart same
expect 0 "$SLUICE" run same.lua --quiet --run-dir same.run
survivors same.out >found
cmp -s expected found || fail 'other survivors when tasks are done apart'
# Killed at several moments and taken up again.
rm -rf same.run same.out
for wait in 0.05 0.15 0.3; do
    "$SLUICE" run same.lua --quiet --run-dir same.run >/dev/null 2>&1 &
    pid=$!
    sleep "$wait"
    kill -9 "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
done
expect 0 "$SLUICE" run same.lua --quiet --run-dir same.run
survivors same.out >found
cmp -s expected found || fail 'other survivors after a kill'
