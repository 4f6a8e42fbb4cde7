#!/usr/bin/perl
# corpus.pl - makes a corpus of JSON Lines with known contents: the same arguments always give the
# same bytes.
#
#   corpus.pl FOLDER [name=value...]
#
#   files=8 docs=100     so many files, so many documents in each
#   seed=1               another number, other documents
#   words=120            mean words of a document
#   dup=8 near=8 short=8 lorem=4    of 100 documents so many are copies of an earlier one, copies
#                        with a few words changed, too short, or have lorem ipsum
#   bad=0                of 1,000 records so many are not JSON
#   codec=mixed          none, gz, zst, or mixed: by turns
#   name=part            names of the files
#
# Writes FOLDER/part-00000.jsonl[.gz|.zst] ...; prints `documents N`, `duplicates N`, `near N`,
# `short N`, `lorem N`, `bad N`, `bytes N`. A document's member `kind` says what it is, `of` the id of
# the one it copies.
use strict;
use warnings;

my ($folder, @given) = @ARGV;
my %o = (files => 8, docs => 100, seed => 1, words => 120, dup => 8, near => 8, short => 8, lorem => 4, bad => 0,
         codec => 'mixed', name => 'part');
for (@given) {
    /^(\w+)=(.*)$/ && exists $o{$1} or die "corpus.pl: found '$_'\n";
    $o{$1} = $2;
}

# splitmix64's little brother: 32 bits, so that perl's integers hold the products.
my $state = ($o{seed} * 2654435761) & 0xffffffff;
sub random {
    my ($n) = @_;
    $state = ($state + 0x9e3779b9) & 0xffffffff;
    my $x = $state;
    $x ^= $x >> 16;
    $x = ($x * 0x21f0aaad) & 0xffffffff;
    $x ^= $x >> 15;
    $x = ($x * 0x735a2d97) & 0xffffffff;
    $x ^= $x >> 15;
    return int($x * $n / 4294967296);
}

my @stop = qw(the be to of and that have with in it a for on as was by from or which this but not are);
my @onset = qw(b br c ch d dr f fl g gr h k l m n p pl pr qu r s sh sl st t th tr v w);
my @vowel = ('a', 'e', 'i', 'o', 'u', 'ea', 'ou', "\xc3\xa9", "\xc3\xbc");
my @coda = ('', 'n', 'r', 's', 't', 'l', 'nd', 'st', 'ck', 'm');
# The vocabulary does not depend on the seed: corpora of several seeds share words.
my @vocabulary;
{
    my $kept = $state;
    $state = 7;
    for (1 .. 3000) {
        my $word = '';
        $word .= $onset[random(scalar @onset)] . $vowel[random(scalar @vowel)] . $coda[random(scalar @coda)] for 0 .. random(3);
        push @vocabulary, $word;
    }
    $state = $kept;
}

sub word {
    return $stop[random(scalar @stop)] if random(100) < 35;
    my $r = random(3000);
    return $vocabulary[int($r * random(3000) / 3000)];
}

sub sentences {
    my ($n) = @_;
    my @out;
    my $left = $n;
    while ($left > 0) {
        my $size = 6 + random(14);
        $size = $left if $size > $left;
        my @words = map { word() } 1 .. $size;
        $words[0] = ucfirst $words[0];
        $words[int($size / 2)] .= ',' if $size > 8;
        push @out, join(' ', @words) . '.';
        $left -= $size;
    }
    my $text = '';
    for my $i (0 .. $#out) {
        $text .= $i == 0 ? '' : $i % 5 == 0 ? "\n\n" : ' ';
        $text .= $out[$i];
    }
    return $text;
}

sub quote {
    my ($s) = @_;
    $s =~ s/([\\"])/\\$1/g;
    $s =~ s/\n/\\n/g;
    return "\"$s\"";
}

my (@earlier, %count);
my $bytes = 0;
mkdir $folder;
for my $f (0 .. $o{files} - 1) {
    my $codec = $o{codec} eq 'mixed' ? (qw(none gz zst))[$f % 3] : $o{codec};
    my $path = sprintf '%s/%s-%05d.jsonl', $folder, $o{name}, $f;
    my $out;
    if ($codec eq 'gz') { open $out, '|-', "gzip -n -6 >'$path.gz'" or die $! }
    elsif ($codec eq 'zst') { open $out, '|-', "zstd -q -3 >'$path.zst'" or die $! }
    else { open $out, '>', $path or die "corpus.pl: $path: $!\n" }
    for my $d (0 .. $o{docs} - 1) {
        my $id = sprintf 's%d/%d/%d', $o{seed}, $f, $d;
        my $r = random(100);
        my ($kind, $of, $text) = ('plain', '', '');
        if (($r -= $o{dup}) < 0 && @earlier) {
            ($of, $text) = @{ $earlier[random(scalar @earlier)] };
            $kind = 'duplicate';
        } elsif (($r -= $o{near}) < 0 && @earlier) {
            ($of, $text) = @{ $earlier[random(scalar @earlier)] };
            my @words = split / /, $text;
            $words[random(scalar @words)] = word() for 0 .. @words / 60;
            $text = join ' ', @words;
            $kind = 'near';
        } elsif (($r -= $o{short}) < 0) {
            $text = sentences(3 + random(20));
            $kind = 'short';
        } elsif (($r -= $o{lorem}) < 0) {
            $text = sentences($o{words}) . ' Lorem ipsum dolor sit amet.';
            $kind = 'lorem';
        } else {
            $text = sentences(int($o{words} / 2) + random($o{words}));
            push @earlier, [$id, $text] if @earlier < 2000;
        }
        my $line = sprintf '{"id":"%s","text":%s,"kind":"%s","of":"%s","score":%d.%02d,"meta":{"n":%d,"tags":["a","b\\u00e9"]}}', $id, quote($text),
            $kind, $of, random(10), random(100), $d;
        if (random(1000) < $o{bad}) {
            $line = substr $line, 0, length($line) - 3;
            $kind = 'bad';
        }
        $count{$kind}++;
        $bytes += length($line) + 1;
        print $out $line, "\n" or die "corpus.pl: $path: $!\n";
    }
    close $out or die "corpus.pl: $path: $! $?\n";
}
print "documents ", $o{files} * $o{docs}, "\n";
print "$$_[1] ", $count{$$_[0]} // 0, "\n" for (['duplicate', 'duplicates'], ['near', 'near'], ['short', 'short'], ['lorem', 'lorem'], ['bad', 'bad']);
print "bytes $bytes\n";
