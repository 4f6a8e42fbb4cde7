# mixture.sh - proportions over sources: what comes out has the stated shares to within half a document of each source, copies have ids of their
# own, every document that is left out says why, and nothing depends on splits, memory or workers. The pipeline mixture.lua runs.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

mkdir in
for source in web code books; do
    case $source in web) docs=900 ;; code) docs=120 ;; *) docs=40 ;; esac
    perl "$CORPUS" made files=1 docs=$docs codec=none words=60 dup=0 near=0 lorem=0 >/dev/null || fail 'no corpus'
    mkdir in/$source
    sed "s,\"id\":\"s1/,\"id\":\"$source/," made/part-00000.jsonl >in/$source/a.jsonl
done
cat >mix.lua <<'L'
local s = require "sluice"
local a = s.args { out = { "path", "out" }, split = { "string", "64KiB" }, seed = { "int", 3 }, by = { "string", "source" }, size = { "string", "bytes" },
                   web = { "string", "6" }, total = { "int", 0 }, how = { "string", "weights" }, extra = { "string", "" }, most = { "float", 2.5 } }
local values = { web = a.web, code = "3", books = "1" }
if a.extra ~= "" then values[a.extra] = "1" end
local docs  = s.files { "in/{source}/*", split = a.split } | s.read_jsonl { columns = { kind = "utf8" } }
local mixed = docs | s.mix { by = a.by, [a.how] = values, size = a.size, total = a.total, max_epochs = a.most, seed = a.seed, partitions = 4 }
return s.pipeline { "mix",
  s.named("mixed", mixed | s.shuffle { partitions = 2 } | s.write_jsonl { a.out .. "/mixed", compression = "none" }),
  s.named("table", mixed | s.mix_table {} | s.write_jsonl { a.out .. "/table", compression = "none" }),
  s.named("left", mixed.dropped | s.write_jsonl { a.out .. "/left", compression = "none" }),
}
L
go() {
    name=$1
    shift
    "$SLUICE" run mix.lua --quiet --run-dir "$name.run" out="$name.out" "$@"
}

expect 0 go first --workers 1
cat first.out/table/latest/*
# Counted apart: what is there of each source, what went out, in bytes of text.
cat >count.pl <<'P'
use strict; use warnings;
my (%there, %size, %documents, %copies);
binmode STDIN, ":utf8";
sub text_of { my ($line) = @_; my ($t) = $line =~ /"text":"((?:[^"\\]|\\.)*)"/ or return 0; $t =~ s/\\u[0-9a-f]{4}/?/g; $t =~ s/\\./x/g; utf8::encode($t); return length $t }
for my $file (glob "in/*/*") {
    my ($source) = $file =~ m,in/(\w+)/,;
    open my $in, "<:utf8", $file or die;
    while (<$in>) { my ($id) = /"id":"([^"]*)"/; $size{$id} = text_of($_); $there{$source} += $size{$id} }
}
my %out; my $all = 0; my %ids;
while (<STDIN>) {
    my ($id) = /"id":"([^"]*)"/; my ($source) = /"source":"(\w+)"/; die "twice: $id\n" if $ids{$id}++;
    my ($name, $copy) = $id =~ /^(.*?)(?:#(\d+))?$/; $copy //= 1;
    die "no $id\n" unless exists $size{$name} && text_of($_) == $size{$name};
    $out{$source} += $size{$name}; $all += $size{$name}; $copies{$name}{$copy} = 1;
}
# Copies are numbered without gaps.
for my $name (keys %copies) { for (1 .. keys %{ $copies{$name} }) { die "$name lacks copy $_\n" unless $copies{$name}{$_} } }
printf "%s %d of %d, %.4f of all\n", $_, $out{$_}, $there{$_}, $out{$_} / $all for sort keys %out;
P
lines first.out/mixed | perl count.pl >counted || fail 'copies'
cat counted
perl -ne '/^(\w+) (\d+) of (\d+), ([\d.]+)/ or die; my %w = (web => .6, code => .3, books => .1);
    die "$1: $4\n" if abs($4 - $w{$1}) > 0.004; die "books: $2 of $3\n" if $1 eq "books" && abs($2 - 2.5 * $3) > 200' <counted || fail 'the shares'
# The table says the same.
lines first.out/table | perl -ne '/"source":"(\w+)".*"taken":(\d+),/ and print "$1 $2\n"' >told
sed 's/ of .*//' counted | cmp -s - told || fail 'the table says otherwise'
# What was left out is told, and was not drawn.
lines first.out/left | member id | sort >left
lines first.out/mixed | member id | sed 's/#.*//' | sort -u | comm -12 - left >both
[ ! -s both ] || fail 'a document went both ways'
is $(($(wc -l <left) + $(lines first.out/mixed | member id | grep -vc '#'))) 1060 'documents accounted for'
is "$(lines first.out/left | member drop_reason | sort -u)" not_drawn 'the reason'
id=$(head -n 1 left)
expect 0 "$SLUICE" why first.run --id "$id"
says 'dropped: not_drawn, value'
row=$(lines first.out/mixed | member id | grep -n '#2' | head -n 1)
file=0
at=$((${row%%:*} - 1))
first_rows=$(wc -l <"$(find first.out/mixed/latest/ -name 'part-00000*')")
if [ "$at" -ge "$first_rows" ]; then
    at=$((at - first_rows))
    file=1
fi
expect 0 "$SLUICE" trace first.out/mixed $file $at --run first.run
name=${row#*:}
says "id ${name%#*} "
expect 0 "$SLUICE" why first.run --id "${name%#*}"
says 'mix_draw                     kept' "/mixed@1 part-0000$file-"

# The equations hold in every task's record.
expect 0 "$SLUICE" plan mix.lua --json --run-dir first.run out=first.out
cp stdout plan.json
expect 0 perl "$SRC/tests/pipeline/ledger.pl" first.run plan.json
grep -q '"mix_draw.weights"' first.out/mixed/snapshots/000001.json || fail 'the manifest does not know the weights'

# Nothing else matters.
SLUICE_TEST_FLOOR=off SLUICE_TEST_DELAY=5
export SLUICE_TEST_FLOOR SLUICE_TEST_DELAY
expect 0 go small --workers 4 --memory 2MiB --batch 64KiB
same first.out small.out 'in little memory'
unset SLUICE_TEST_FLOOR SLUICE_TEST_DELAY
expect 0 go splits split=64MiB
lines first.out/mixed >one
lines splits.out/mixed >two
cmp -s one two || fail 'another mixture with other splits'

# A total in documents, taken by number; whole epochs are the same whatever files are added.
expect 0 go total size=documents total=100 most=1
is "$(lines total.out/mixed | member source | sort | uniq -c | tr -s ' ' | tr '\n' ';')" ' 10 books; 30 code; 60 web;' 'documents by source'
expect 0 go epochs how=epochs web=0
is "$(lines epochs.out/mixed | member source | sort | uniq -c | tr -s ' ' | tr '\n' ';')" ' 40 books; 360 code;' 'documents by source and epochs'

# Mistakes end the run, and say what to do.
expect 2 go wrong extra=webb
says "no document is of the source 'webb'" 'correct the name'
expect 2 go wrong total=1000000000
says 'max_epochs = 2.5' 'lower total'
expect 2 go wrong by=kind
says "no document is of the source 'books'" 'there are plain, '
expect 2 go wrong how=weight
says "unknown option 'weight' of 'mix'"
sed 's/code = "3", //' mix.lua >less.lua
expect 2 "$SLUICE" run less.lua --quiet --run-dir less.run out=less.out
says "120 documents are of the source 'code', which weights does not name"
expect 2 "$SLUICE" check mix.lua web=-1 # before anything is counted
says "found -1 for the source 'web'"
echo 'local s = require "sluice"; local d = s.files "in/web/*" | s.read_jsonl {}; return s.pipeline { "x", d | s.mix_table {} | s.write_jsonl { "x" } }' >table.lua
expect 2 "$SLUICE" check table.lua
says 'stands right behind s.mix'

# The pipeline of the collection: kept, held out and mixed by tokens; rows of tokens come out, and the table says how many of each source.
expect 0 "$SLUICE" run "$SRC/scripts/pipelines/mixture.lua" --quiet --run-dir recipe.run input="in/{source}/*" out=recipe.out length=128 holdout=0.05 \
    tokenizer="$SRC/tests/data/tokenize/tiny_qwen.json"
lines recipe.out/mixture | perl -ne '/"source":"(\w+)".*"target":(\d+),"taken":(\d+)/ or die; print "$1 $3 of $2\n"; die "too far off\n" if abs($3 - $2) > 400;
    $all += $3; END { print "$all tokens\n"; exit !($all > 20000) }' || fail 'the tokens taken'
expect 0 "$SLUICE" verify recipe.out/train
[ "$(lines recipe.out/valid | wc -l)" -gt 20 ] || fail 'too few documents are held out'
# What the tokens say of their vocabulary went through the exchange: two bytes are enough for each.
rows=$(json recipe.out/train/snapshots/000001.json ledger.train.written)
is "$(cat recipe.out/train/latest/*.bin | wc -c)" $((rows * 128 * 2)) 'bytes of packed tokens'
