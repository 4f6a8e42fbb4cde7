# exact.sh - exact duplicates: of equal texts the one at the smallest position stays, whatever file
# or split it is in; the dropped ones name it; the number of partitions and workers changes nothing.
. "$SRC/tests/lib.sh"

perl "$CORPUS" corpus files=5 docs=150 dup=30 near=0 short=0 lorem=0 >made || fail 'no corpus'
duplicates=$(sed -n 's/^duplicates //p' made)
# Empty texts are equal, too, and so are texts that only look different in JSON; no text at all is
# equal to nothing.
printf '%s\n' '{"id":"e1","text":""}' '{"id":"u1","text":"caf\u00e9"}' '{"id":"n1"}' >corpus/x.jsonl
printf '%s\n' '{"id":"e2","text":""}' '{"id":"u2","text":"café"}' '{"id":"n2"}' '{"id":"u3","text":"cafe"}' >corpus/y.jsonl

cat >exact.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, partitions = { "int", 32 } }
local docs = s.files { "corpus/*", split = "64KiB" } | s.read_jsonl { columns = { kind = "utf8", of = "utf8" } }
local unique = docs | s.exact { partitions = a.partitions }
return s.pipeline { "exact", unique | s.write_jsonl { a.out .. "/kept", compression = "none" },
  unique.dropped | s.write_jsonl { a.out .. "/lost", compression = "none" } }
L
expect 0 "$SLUICE" run exact.lua --quiet --run-dir run
for file in corpus/*; do
    case $file in
    *.gz) gzip -dc "$file" ;;
    *.zst) zstd -qdc "$file" ;;
    *) cat "$file" ;;
    esac
done >all
# What must stay, told by a few lines of perl: the first of each text.
perl -ne '/"id":"([^"]*)"/ or die; my $id = $1; my $t = /"text":"((?:[^"\\]|\\.)*)"/ ? "=$1" : "null"; $t =~ s/\\u00e9/\xc3\xa9/g;
    if ($t eq "null") { print "$id\n" } else { print "$id\n" unless $seen{$t}++ }' <all >expected
lines out/kept | member id >ids
[ "$duplicates" -gt 100 ] || fail 'too few duplicates'
cmp -s expected ids || { diff expected ids | head -n 5 >&2; fail 'the kept documents are not the first ones of each text'; }
is "$(lines out/lost | wc -l)" $((duplicates + 2)) 'duplicates dropped'
# The copy's `of` is the document it was copied from; that or an earlier one stays, named in dup_of.
lines out/lost | grep '"kind":"duplicate"' >lost
member of <lost >left
member dup_of <lost >right
cmp -s left right || fail 'dup_of does not name the document that was copied'
is "$(lines out/lost | member similarity | sort -u)" 1.0 'similarity of exact duplicates'
is "$(lines out/lost | member drop_reason | sort -u)" exact_duplicate 'the reason'
for partitions in 1 7; do
    expect 0 "$SLUICE" run exact.lua --quiet --run-dir run$partitions out=out$partitions partitions=$partitions --workers 4
    for dataset in kept lost; do
        lines out/$dataset >left
        lines out$partitions/$dataset >right
        cmp -s left right || fail "$dataset differs with $partitions partitions"
    done
done
