# holdout.sh - a holdout by hashes: both sides together are the whole, no document changes sides when others come, a larger share only adds,
# documents of one group stay together, shares and numbers hold for each source.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

mkdir -p in/web in/code
perl -e 'for my $source (qw(web code)) { open my $out, ">", "in/$source/a.jsonl" or die;
    for (1 .. ($source eq "web" ? 1500 : 500)) { my $site = int($_ / 5); print $out qq({"id":"$source-$_","site":"$source$site","text":"document $_"}\n) } }'
cat >holdout.lua <<'L'
local s = require "sluice"
local a = s.args { share = { "float", 0.1 }, by = { "string", "id" }, seed = { "int", 0 }, out = { "path", "out" } }
local docs = s.files { "in/{source}/*.jsonl" } | s.read_jsonl { columns = { site = "utf8" } }
local one = { share = a.share, by = a.by, seed = a.seed, source = "source", shares = { code = "0.02" } }
local function side(options, take)
  local all = { take = take }
  for name, value in pairs(options) do all[name] = value end
  return all
end
local few = { documents = 12, source = "source", seed = a.seed, partitions = 2 }
local function write(node, name) return s.named(name, node | s.write_jsonl { a.out .. "/" .. name, compression = "none" }) end
return s.pipeline { "holdout",
  write(docs | s.holdout(side(one, "train")), "train"),
  write(docs | s.holdout(side(one, "holdout")), "valid"),
  write(docs | s.holdout_n(side(few, "train")), "most"),
  write(docs | s.holdout_n(side(few, "holdout")), "few"),
}
L
go() {
    name=$1
    shift
    "$SLUICE" run holdout.lua --quiet --run-dir "$name.run" out="$name.out" "$@"
}
ids() {
    lines "$1" | member id | sort
}

expect 0 go first
cat in/*/* | member id | sort >all
for pair in 'train valid' 'most few'; do
    # shellcheck disable=SC2086
    set -- $pair
    ids "first.out/$1" >left
    ids "first.out/$2" >right
    sort left right | cmp -s - all || fail "$1 and $2 are not the whole"
done
# 150 of 1,500 and 10 of 500, within five standard deviations; 12 of each source exactly.
lines first.out/valid | member source | sort | uniq -c >shares
cat shares
awk '$2 == "web" && ($1 < 92 || $1 > 208) || $2 == "code" && ($1 < 1 || $1 > 26) { exit 1 }' shares || fail 'the shares'
is "$(lines first.out/few | member source | sort | uniq -c | tr -s ' ' | tr '\n' ';')" ' 12 code; 12 web;' 'documents held out by number'
grep -q '"train.share": 0.1' first.out/train/snapshots/000001.json || grep -q '"holdout.share"' first.out/train/snapshots/000001.json ||
    fail 'the manifest does not know the share'
id=$(head -n 1 right)
expect 0 "$SLUICE" why first.run --id "$(ids first.out/valid | head -n 1)"
says 'dropped: holdout, value' 'dropped: train, value'

# A larger share takes the same ones and more; another seed takes others.
expect 0 go more share=0.3
ids first.out/valid >left
ids more.out/valid >right
is "$(comm -23 left right | wc -l)" 0 'documents that a larger share lets go'
[ "$(wc -l <right)" -gt $(($(wc -l <left) + 100)) ] || fail 'a larger share holds no more out'
expect 0 go seed seed=1
ids seed.out/valid >right
[ "$(comm -12 left right | wc -l)" -lt 60 ] || fail 'another seed holds the same documents out'

# Documents of a site are on one side.
expect 0 go group by=site
lines group.out/train | member site | sort -u >left
lines group.out/valid | member site | sort -u >right
is "$(comm -12 left right | wc -l)" 0 'sites on both sides'
[ "$(wc -l <right)" -gt 10 ] || fail 'no site is held out'

# Documents that come move none; only their own task runs.
ids first.out/valid >before
perl -e 'print qq({"id":"new-$_","site":"s","text":"new $_"}\n) for 1 .. 300' >in/web/b.jsonl
expect 0 go first
ids first.out/valid | grep -v '^new-' | cmp -s - before || fail 'documents changed sides when others came'
ids first.out/valid | grep -q '^new-' || fail 'no new document is held out'

# Mistakes.
cat >wrong.lua <<'L'
local s = require "sluice"
local a = s.args { share = { "string", "0.1" } }
local docs = s.files "in/{source}/*" | s.read_jsonl {}
return s.pipeline { "wrong", docs | s.holdout { shares = { web = a.share } } | s.write_jsonl { "wrong" } }
L
expect 2 "$SLUICE" check wrong.lua
says 'shares and source go together'
sed -i 's/s.holdout {/s.holdout { source = "source",/' wrong.lua
expect 2 "$SLUICE" check wrong.lua share=1.5
says "found 1.5 for 'web', expected a number from 0 to 1"
expect 0 "$SLUICE" check wrong.lua
