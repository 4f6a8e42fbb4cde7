# remove_below.sh - `remove` and `verify --absent` name the datasets that were made of one, by way of others too, and what they have of the
# ids: rows, bytes in an index, nothing that tells; what was made of others, or holds none, is not taken for a holder.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

perl -e 'print "{\"id\":\"user-$_\",\"text\":\"row $_ of the first text that is long enough to have shingles of five words\"}\n" for 1 .. 9' >in.jsonl
sed 's/user/other/' in.jsonl >other.jsonl
pipeline() { # NAME INPUT STAGES
    echo "local s = require 'sluice'; return s.pipeline { '$1', $2 | s.read_jsonl {} | $3 }" >"$1.lua"
    expect 0 "$SLUICE" run "$1.lua" --quiet
}
pipeline silver "s.files 'in.jsonl'" "s.write_jsonl { 'd/silver' }"
pipeline other "s.files 'other.jsonl'" "s.write_jsonl { 'd/other' }"
pipeline gold "s.dataset 'd/silver@1'" "s.write_jsonl { 'd/gold' }"
pipeline best "s.dataset 'd/gold'" "s.filter { 'f', function(doc) if doc.id == 'user-1' then return 'three' end end } | s.write_jsonl { 'd/best' }"
cat >index.lua <<'L'
local s = require "sluice"
local unique = s.dataset "d/gold" | s.read_jsonl {} | s.minhash { ngram = 3 }
return s.pipeline { "index", unique | s.write_jsonl { "d/unique" }, unique | s.minhash_index { path = "d/index" } }
L
expect 0 "$SLUICE" run index.lua --quiet
pipeline apart "s.dataset 'd/other'" "s.write_jsonl { 'd/apart' }"

echo user-1 >ids
expect 0 "$SLUICE" remove d/silver --ids ids --json
is "$(json stdout 'below.*.dataset' | sed 's|.*/||' | tr '\n' ' ')" 'best gold index unique ' 'what was made of it'
is "$(json stdout 'below.*.rows' | tr '\n' ' ')" '0 1 0 1 ' 'rows that have the id'
is "$(json stdout below.2.index)" minhash 'the index'
is "$(json stdout below.2.files.bytes)" 1 'files of the index that have the id'
expect 0 "$SLUICE" remove d/silver --ids ids --purge
says 'made of it: ' 'd/gold: 1 row has one' 'd/index: 1 file may hold one, minhash index' 'd/best: no row has one'
# Elsewhere there is nothing of it, and nothing is left of it here but what was made of it.
mkdir empty
expect 0 "$SLUICE" verify d/silver --absent ids --in empty
expect 1 "$SLUICE" verify d/silver --absent ids
says 'NOT ABSENT' 'd/gold: 1 row has one'
for set in gold unique; do
    expect 0 "$SLUICE" remove d/$set --ids ids --purge
done
rm -r d/index .sluice/index
expect 0 "$SLUICE" verify d/silver --absent ids
# It has no row of it, but its run remembers which one it dropped.
expect 1 "$SLUICE" verify d/best --absent ids
says 'may hold one' .sluice/best/spill/
expect 0 "$SLUICE" remove d/best --ids ids --purge
expect 0 "$SLUICE" verify d/best --absent ids
