#!/usr/bin/perl
# json.pl - prints values of a JSON file, so that tests can look into reports and records with
# nothing but perl-base.
#
#   json.pl FILE PATH...
#
# A path is names and numbers with dots between; * is every item of an array or every value of an
# object, in order; the name # is the number of items. A name that has dots is written in [ ]. Each value
# is a line; objects and arrays are not printed. FILE may hold text behind the value's first line.
use strict;
use warnings;

my $text;
my $at = 0;

sub fault { die "json.pl: $_[0] at byte $at\n" }

sub value {
    $text =~ /\G\s+/gc;
    if ($text =~ /\G\{/gc) {
        my (%members, @order);
        $text =~ /\G\s+/gc;
        return { members => {}, order => [] } if $text =~ /\G\}/gc;
        while (1) {
            $text =~ /\G\s*"((?:[^"\\]|\\.)*)"\s*:/gc or fault('no member');
            my $name = unescape($1);
            push @order, $name;
            $members{$name} = value();
            $text =~ /\G\s*,/gc and next;
            $text =~ /\G\s*\}/gc and last;
            fault('no , or }');
        }
        return { members => \%members, order => \@order };
    }
    if ($text =~ /\G\[/gc) {
        my @items;
        return [] if $text =~ /\G\s*\]/gc;
        while (1) {
            push @items, value();
            $text =~ /\G\s*,/gc and next;
            $text =~ /\G\s*\]/gc and last;
            fault('no , or ]');
        }
        return \@items;
    }
    return unescape($1) if $text =~ /\G"((?:[^"\\]|\\.)*)"/gcs;
    return $1 if $text =~ /\G(-?[0-9][-+.eE0-9]*|true|false|null)/gc;
    $at = pos($text) // 0;
    fault('no value');
}

sub unescape {
    my ($s) = @_;
    my %plain = (n => "\n", t => "\t", r => "\r", b => "\b", f => "\f");
    $s =~ s/\\u([0-9a-fA-F]{4})/chr(hex $1)/ge;
    $s =~ s/\\(.)/exists $plain{$1} ? $plain{$1} : $1/ge;
    return $s;
}

sub items {
    my ($node) = @_;
    return ref $node eq 'HASH' ? map { $node->{members}{$_} } @{ $node->{order} } : @$node;
}

sub look {
    my ($node, @path) = @_;
    if (!@path) {
        print defined $node && !ref $node ? $node : '', "\n";
        return;
    }
    my $name = shift @path;
    if (!ref $node) { look(undef) }
    elsif ($name eq '*') { look($_, @path) for items($node) }
    elsif ($name eq '#') { look(scalar(my @all = items($node))) }
    elsif (ref $node eq 'HASH') { look($node->{members}{$name}, @path) }
    else { look($name =~ /^\d+$/ ? $node->[$name] : undef, @path) }
}

# Other scripts use value() through `do`.
sub parse { ($text) = @_; pos($text) = 0; return value() }
return 1 if caller;

my ($file, @paths) = @ARGV;
open my $in, '<', $file or die "json.pl: $file: $!\n";
local $/;
my $root = parse(scalar <$in>);
for my $path (@paths) {
    my @names;
    push @names, defined $1 ? $1 : $2 while $path =~ /\G\.?(?:\[([^\]]*)\]|([^.\[]+))/gc;
    look($root, @names);
}
