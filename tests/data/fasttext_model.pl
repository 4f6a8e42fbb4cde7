#!/usr/bin/perl
# fasttext_model.pl - writes a small fastText classifier, byte by byte, so that tests need no trainer and no model from elsewhere.
#
#   fasttext_model.pl [KEY=VALUE...] >model.bin
#
# Labels en and de, the words "the and of" for the first, "der und die" for the second; softmax over two dimensions. KEY=VALUE damages it:
# any of magic version dim loss kind bucket minn maxn word_ngrams size words labels pruned rows columns out_rows extra (bytes behind the end), nan=1.
# more=N puts N rows for n-grams behind those of the words.
use strict;
use warnings;

my %given = map { split /=/, $_, 2 } @ARGV;
sub value { my ($key, $default) = @_; return exists $given{$key} ? $given{$key} : $default }

my @words = qw(</s> the and of der und die);
my @labels = qw(__label__en __label__de);
my @rows = ([0, 0], [2, 0], [2, 0], [2, 0], [0, 2], [0, 2], [0, 2]);
push @rows, map { [sin($_), cos($_)] } 1 .. value('more', 0);
binmode STDOUT;
print pack 'l<2', value('magic', 793712314), value('version', 12);
print pack 'l<12', value('dim', 2), 5, 5, 1, 5, value('word_ngrams', 1), value('loss', 3), value('kind', 3), value('bucket', 0), value('minn', 0), value('maxn', 0), 100;
print pack 'd<', 1e-4;
print pack 'l<3 q<2', value('size', @words + @labels), value('words', scalar @words), value('labels', scalar @labels), 100, value('pruned', -1);
print "$_\0", pack 'q< C', 10, 0 for @words;
print "$_\0", pack 'q< C', 10, 1 for @labels;
print pack 'C q<2', 0, value('rows', scalar @rows), value('columns', 2);
for my $k (0 .. $#rows) { print pack 'f<2', $given{nan} && $k == 3 ? 'nan' + 0 : $rows[$k][0], $rows[$k][1] }
print pack 'C q<2', 0, value('out_rows', 2), 2;
print pack 'f<2', @$_ for [3, -3], [-3, 3];
print 'x' x value('extra', 0);
