# minhash_recall.sh - planted near-duplicates: for pairs of documents at edit rates from 0 to 50 %, the share
# that is found follows 1 - (1 - s^rows)^bands at each true similarity s, within five standard deviations;
# verified, every dropped document has at least the threshold's similarity with the one it names.
# FULL=1 takes 100,000 documents instead of 4,080.
#
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

documents=4080
[ "${FULL:-0}" = 1 ] && documents=100000
# Pairs o, c: the copy has each word exchanged with probability rate, for rates 0, 1, 2 ... 50 %. truth: the
# Jaccard similarity of each pair's 2-gram sets, from the words themselves.
perl -e '
    my $n = shift;
    my $state = 20;
    use integer;
    sub number { $state = $state * 6364136223846793005 + 1442695040888963407; (($state >> 33) & 0x7fffffff) % $_[0] }
    my @syllables = map { join "", map { chr 97 + number(26) } 1 .. 2 } 1 .. 400;
    sub word { $syllables[number(400)] . $syllables[number(400)] }
    sub set { my %s; $s{"$_[$_] $_[$_ + 1]"} = 1 for 0 .. $#_ - 1; \%s }
    open my $in, ">", "in.jsonl" or die;
    open my $truth, ">", "truth" or die;
    for my $i (0 .. $n / 2 - 1) {
        my $rate = $i % 51;
        my @o = map { word() } 1 .. 60;
        my @c = map { number(100) < $rate ? word() : $_ } @o;
        print $in "{\"id\":\"o$i\",\"text\":\"@o\"}\n{\"id\":\"c$i\",\"text\":\"@c\"}\n";
        my ($a, $b) = (set(@o), set(@c));
        my $both = grep { $b->{$_} } keys %$a;
        no integer;
        printf $truth "c$i %.6f\n", $both / (keys(%$a) + keys(%$b) - $both);
    }' "$documents"
cat >recall.lua <<'L'
local s = require "sluice"
local a = s.args { verify = { "float", 0 }, out = { "path", "out" } }
local docs = s.files { "in.jsonl", split = "256KiB" } | s.read_jsonl {}
local unique = docs | s.minhash { ngram = 2, bands = 14, rows = 8, words = "whitespace", verify = a.verify }
return s.pipeline { "recall", unique.dropped | s.write_jsonl { a.out, compression = "none" } }
L
expect 0 "$SLUICE" run recall.lua --quiet
lines out >lost
{ member id <lost >left; member dup_of <lost >right; member similarity <lost >similar; }
tr c o <left | cmp -s - right || fail 'a document is the duplicate of another than its origin'
paste -d ' ' left similar >found
perl -e '
    my (%found, %bin);
    open my $f, "<", "found" or die;
    while (<$f>) { my ($id, $s) = split; $found{$id} = $s }
    open my $t, "<", "truth" or die;
    my ($n, $off) = (0, 0);
    while (<$t>) {
        my ($id, $s) = split;
        my $p = 1 - (1 - $s ** 8) ** 14;
        my $b = $bin{int($s * 10)} ||= { n => 0, found => 0, sum => 0, var => 0 };
        $b->{n}++; $b->{found}++ if exists $found{$id};
        $b->{sum} += $p; $b->{var} += $p * (1 - $p);
        next unless exists $found{$id};
        $n++; $off += $found{$id} - $s;
    }
    my $bad = 0;
    for my $k (sort { $a <=> $b } keys %bin) {
        my $b = $bin{$k};
        my $z = ($b->{found} - $b->{sum}) / sqrt($b->{var} + 0.25);
        printf "similarity %.1f: %6d pairs, %6d found, %9.1f expected, %5.1f sigma\n", $k / 10, @$b{qw(n found sum)}, $z;
        $bad++ if abs $z > 5;
    }
    die "no pair is found\n" unless $n > 100;
    die "$bad groups are off the curve\n" if $bad;
    ' >curve || { cat curve >&2; fail 'recall is not that of the theory'; }
cat curve
# All pairs that are equal are found.
awk '$2 == "1.000000" { print $1 }' truth | LC_ALL=C sort >equal
LC_ALL=C sort left | LC_ALL=C comm -13 - equal >missed
[ -s equal ] && [ ! -s missed ] || fail 'an equal pair is not found'

# Precision: the similarity is the true one, and none is below the threshold, though candidates were.
expect 0 "$SLUICE" run recall.lua --quiet out=verified verify=0.75 --run-dir verified.run
lines verified >lost
{ member id <lost >left; member similarity <lost >similar; }
paste -d ' ' left similar >verified.found
perl -e '
    my %truth;
    open my $t, "<", "truth" or die; while (<$t>) { my ($id, $s) = split; $truth{$id} = $s }
    open my $c, "<", "found" or die; my %candidate; while (<$c>) { my ($id) = split; $candidate{$id} = 1 }
    my $n = 0;
    open my $f, "<", "verified.found" or die;
    while (<$f>) {
        my ($id, $s) = split;
        die "$id: similarity $s, the true one is $truth{$id}\n" if abs($s - $truth{$id}) > 1e-6;
        die "$id: similarity $s is below the threshold\n" if $s < 0.75;
        $n++; delete $candidate{$id};
    }
    my ($right, $wrong) = (0, 0);
    $truth{$_} >= 0.75 ? $right++ : $wrong++ for keys %candidate;
    die "no candidate was refused\n" unless $wrong;
    die "$right candidates above the threshold were refused\n" if $right;
    print "verified: $n pairs dropped, precision 1, $wrong false candidates refused\n"' || fail 'verification'
