# readme.pl - runs the examples of a Markdown file: see readme.sh.
#
#   perl readme.pl README.md [--update]
#
# ```console blocks are what a terminal shows: lines behind "$ " are commands (lines behind "> " go
# on with them, as in a here-document), the lines below are their output, standard error behind
# standard output, without progress. A line "…" stands for any number of lines. ```lua blocks that
# begin with "-- NAME.lua" are files. Everything runs in one shell, in order.
use strict;
use warnings;

my ($path, $update) = @ARGV;
open my $in, '<', $path or die "readme: cannot read $path: $!\n";
my @lines = <$in>;
close $in;
chomp @lines;

# Blocks: { kind, first line, last line } (the fences), commands: { text, expected lines, place }.
my @commands;
my $script = '';
my $n = 0;
for (my $i = 0; $i < @lines; $i++) {
    next if $lines[$i] !~ /^```(console|lua)$/;
    my $kind = $1;
    my $first = ++$i;
    $i++ while $i < @lines && $lines[$i] ne '```';
    my @block = @lines[$first .. $i - 1];
    if ($kind eq 'lua') {
        die "readme: line $first: the first line of a lua block must be -- NAME.lua\n" if !@block || $block[0] !~ /^-- (\w+\.lua)/;
        $script .= "cat >$1 <<'END OF FILE'\n" . join("\n", @block) . "\nEND OF FILE\n";
        next;
    }
    for (my $k = 0; $k < @block;) {
        die "readme: line ", $first + $k + 1, ": expected a command behind \"\$ \"\n" if $block[$k] !~ /^\$ (.*)/;
        my ($text, $at) = ($1, $first + $k);
        $k++;
        while ($k < @block && $block[$k] =~ /^> ?(.*)/) {
            $text .= "\n$1";
            $k++;
        }
        my $begin = $k;
        $k++ while $k < @block && $block[$k] !~ /^\$ /;
        push @commands, { text => $text, line => $at + 1, from => $first + $begin, to => $first + $k, expected => [@block[$begin .. $k - 1]] };
        # Redirections of the shell itself: cd and export must last.
        $script .= "exec 3>&1 >\"\$README_HERE/out.$n\" 2>\"\$README_HERE/err.$n\"\n$text\nexec >&3 2>&1 3>&-\n";
        $n++;
    }
}
die "readme: no examples\n" if $n == 0;

my $here = `pwd`;
chomp $here;
open my $shell, '|-', 'sh' or die "readme: cannot start a shell: $!\n";
print $shell "README_HERE='$here'\n$script";
close $shell;

sub slurp {
    my ($name) = @_;
    open my $file, '<', $name or return '';
    local $/;
    my $text = <$file>;
    return defined $text ? $text : '';
}

# What may differ goes.
sub normal {
    my ($line) = @_;
    $line =~ s{(?:/[\w.+-]+)+/tour\b}{TOUR}g;
    $line =~ s/part-(\d+)-[0-9a-f]{12}/part-$1-KEY/g;
    $line =~ s/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/TIME/g;
    $line =~ s/\bBound by .*/BOUND/;
    $line =~ s/\b\d+ workers?\b/WORKERS/g;
    $line =~ s/, busy \d+ % of the time//;
    $line =~ s/: \d[\d.]* [kMG]?B\/s;/;/;
    $line =~ s/\b\d[\d.]* (?:[kMG]?B|Mtok)\/s//g;
    $line =~ s/\b\d[\d.:]* (?:s|min|ms)\b/TIME/g;
    $line =~ s/ <?\d[\d.]* %$//;
    $line =~ s/\s+/ /g;
    $line =~ s/^ | $//g;
    return $line;
}

# Do lines match a pattern of lines in which "…" stands for any number?
sub matches {
    my ($pattern, $actual) = @_;
    my @p = map { $_ eq '…' ? $_ : normal($_) } @$pattern;
    my @a = map { normal($_) } @$actual;
    my @reach = (1, (0) x @a);
    for my $p (@p) {
        my @next = (0) x (@a + 1);
        if ($p eq '…') {
            my $seen = 0;
            for my $k (0 .. @a) { $seen ||= $reach[$k]; $next[$k] = $seen; }
        } else {
            for my $k (1 .. @a) { $next[$k] = $reach[$k - 1] && $a[$k - 1] eq $p; }
        }
        @reach = @next;
    }
    return $reach[@a];
}

my $failed = 0;
# What the page names must be there.
for my $i (0 .. $#lines) {
    for my $name ($lines[$i] =~ m{`((?:core|plugins|scripts|sdk|tests|pkg)/[\w./-]*)`}g) {
        next if -e "$ENV{SRC}/$name";
        print "README.md:", $i + 1, ": there is no $name\n";
        $failed++;
    }
}
for my $k (reverse 0 .. $#commands) {
    my $command = $commands[$k];
    my @actual = split /\n/, slurp("out.$k") . join '', grep { !/^\[\d+\/\d+\] / } slurp("err.$k") =~ /.*\n?/g;
    next if matches($command->{expected}, \@actual);
    $failed++;
    if ($update) {
        splice @lines, $command->{from}, $command->{to} - $command->{from}, @actual;
        next;
    }
    print "README.md:$command->{line}: \$ $command->{text}\n  expected:\n", map({ "    $_\n" } @{$command->{expected}}), "  came:\n", map({ "    $_\n" } @actual);
}
if ($update && $failed) {
    open my $out, '>', $path or die "readme: cannot write $path: $!\n";
    print $out map { "$_\n" } @lines;
    close $out or die "readme: cannot write $path: $!\n";
    print "$failed of $n examples written anew\n";
    exit 0;
}
printf "%d examples, %d differ\n", $n, $failed;
exit($failed ? 1 : 0);
