#!/usr/bin/perl
# units.pl - makes a file of units for sdk/examples/units.c:
#
#     units.pl FILE [units=N] [rows=N] [words=N] [column=NAME] [from=NUMBER] [bad=N] [rot=WHERE]
#
# Numbers ascend from `from` on, so units have numbers of their own; every text names its number. bad: every so many-th text is no UTF-8.
# rot: what is wrong with the file: trailer, index, overlap, count, text, cut.
use strict;
use warnings;

my ($path, @args) = @ARGV;
my %o = (units => 10, rows => 100, words => 5, column => 'text', from => 0, bad => 0, rot => '');
for (@args) {
    my ($name, $value) = split /=/, $_, 2;
    die "units.pl: unknown argument $_\n" unless exists $o{$name};
    $o{$name} = $value;
}
open my $out, '>:raw', $path or die "units.pl: $path: $!\n";
print $out 'SLUNITS1';
my ($at, $number, $index) = (8, $o{from}, '');
for my $unit (0 .. $o{units} - 1) {
    my ($heads, $texts, $least) = ('', '', $number);
    for my $row (1 .. $o{rows}) {
        my $text = "number $number" . ' and some more words' x ($o{words} / 5 + $number % 3);
        $text = "bad \xff" if $o{bad} && $number % $o{bad} == 0;
        $heads .= pack 'q<L<', $number, length $text;
        $texts .= $text;
        $number++;
    }
    my $bytes = pack('L<', $o{rows}) . $heads . $texts;
    substr($bytes, 4 + 8, 4) = pack 'L<', 1 << 30 if $o{rot} eq 'text' && $unit == 3;
    print $out $bytes;
    my $begin = $o{rot} eq 'overlap' && $unit == 3 ? $at - 5 : $at;
    my $rows = $o{rows} + ($o{rot} eq 'count' && $unit == 3 ? 1 : 0);
    $index .= pack 'Q<Q<Q<q<q<', $begin, length $bytes, $rows, $least, $number - 1;
    $at += length $bytes;
}
substr($index, 40 * 3, 8) = pack 'Q<', 1 << 60 if $o{rot} eq 'index';
print $out $index, pack('a32', $o{column}), pack('Q<Q<', $o{units} + ($o{rot} eq 'trailer' ? 1 : 0), $at), 'SLUNITS1';
close $out or die "units.pl: $path: $!\n";
truncate $path, $at - 100 or die "units.pl: $path: $!\n" if $o{rot} eq 'cut';
