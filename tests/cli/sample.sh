# sluice sample: what reaches a node, what is dropped up to it, what leaves it; and that no run is touched.
# shellcheck disable=SC1091
. "$SRC/tests/cli/look_kit"
make_corpus
make_pipeline
clock() { sed -e 's/, [0-9.]* m\{0,1\}s\(:\|$\)/, TIME\1/' -e 's/"seconds":[0-9.e-]*/"seconds":0/'; }
echo '-- at a composite: what comes in'
"$SLUICE" sample t.lua --at exact --quiet -o a.jsonl | clock
cut -c1-60 a.jsonl
echo '-- after it'
"$SLUICE" sample t.lua --after exact --quiet -n 100 | cut -c1-60
echo '-- dropped up to it, with why'
"$SLUICE" sample t.lua --at exact.dropped --quiet -o d.jsonl | clock
cat d.jsonl
echo '-- after the reader; a part'
"$SLUICE" sample t.lua --after union -n 3 --seed 1 --quiet -o u.jsonl --json | clock
wc -l <u.jsonl
ls -A .sluice
echo '-- a run is there: it is used, and stays as it is'
"$SLUICE" run t.lua --quiet >/dev/null 2>&1
sums() { find .sluice out dropped -type f -print0 | sort -z | xargs -0 cksum; }
sums >before
"$SLUICE" sample t.lua --at write_jsonl -n 100 -o w.jsonl >/dev/null 2>progress
sums | cmp - before && echo 'the run is as it was'
# What the exchange gave was done by the run.
grep -c 'exact_drops.*(2 reused)' progress
cut -c1-60 w.jsonl
echo '-- compressed, and read back'
"$SLUICE" sample t.lua --at exact --quiet -o a.jsonl.zst >/dev/null
"$SLUICE" sample t.lua --at exact --quiet -o a.jsonl.gz >/dev/null
zstd -dc a.jsonl.zst | cmp - a.jsonl && gzip -dc a.jsonl.gz | cmp - a.jsonl && echo 'the same bytes'
echo '-- mistakes'
for wrong in '' '--at exact --after exact' '--at exac' '--at exac.dropped' '--at read_jsonl' '--at union' '--after write_jsonl' '--at exact -n 0' \
    '--at exact --json' '--at read_jsonl.dropped' '--at exact -o no/where.jsonl'; do
    # shellcheck disable=SC2086
    "$SLUICE" sample t.lua $wrong --quiet 2>&1 | neutral
done
ls -A .sluice
