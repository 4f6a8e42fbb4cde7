# readme.pl - runs the examples of a Markdown file: see readme.sh, guides.sh.
#
#   perl readme.pl README.md [--in FOLDER] [--update]
#
# ```console blocks are what a terminal shows: lines behind "$ " are commands (lines behind "> " go
# on with them, as in a here-document), the lines below are their output, standard error behind
# standard output, without progress. A line "…" stands for any number of lines. ```LANGUAGE file=NAME
# blocks are files, and so are ```lua blocks that begin with "-- NAME.lua"; those in Python are compiled
# where there is a python3 (PYTHON). Every block is one of these. Everything runs in one shell, in order.
use strict;
use warnings;

my $path = shift;
my $folder = @ARGV && $ARGV[0] eq '--in' ? (splice @ARGV, 0, 2)[1] : '.';
my $update = shift;
my ($page) = $path =~ m{([^/]*)$}; # its name in messages
my $FOLDER = 'guide';              # like README.md's folder `tour`, where it may stand doesn't matter
open my $in, '<', $path or die "readme: cannot read $path: $!\n";
my @lines = <$in>;
close $in;
chomp @lines;

# Blocks: { kind, first line, last line } (the fences), commands: { text, expected lines, place }.
my @commands;
my @compiled; # files in Python
my $script = '';
my $n = 0;
for (my $i = 0; $i < @lines; $i++) {
    next if $lines[$i] !~ /^```(.*)$/;
    my $info = $1;
    my $first = ++$i;
    $i++ while $i < @lines && $lines[$i] ne '```';
    my @block = @lines[$first .. $i - 1];
    if ($info eq 'lua') {
        die "readme: line $first: the first line of a lua block must be -- NAME.lua\n" if !@block || $block[0] !~ /^-- (\w+\.lua)/;
        $info = "lua file=$1";
    }
    if ($info =~ /^\w+ file=(\S+)$/) {
        my $name = $1;
        $script .= "mkdir -p $1\n" if $name =~ m{^(.*)/};
        $script .= "cat >$name <<'END OF FILE'\n" . join("\n", @block) . "\nEND OF FILE\n";
        next if $name !~ /\.py$/;
        # Compiled, not run: what it imports may not be there.
        push @compiled, { line => $first, name => $name };
        $script .= "\${PYTHON:-python3} -m py_compile $name 2>\"\$README_HERE/py.$#compiled\" || [ \$? = 127 ] || : >\"\$README_HERE/py.$#compiled.bad\"\n";
        next;
    }
    die "readme: line $first: a block must be ```console or ```LANGUAGE file=NAME\n" if $info ne 'console';
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
print $shell "README_HERE='$here'\ncd $folder\n$script";
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
    $line =~ s{(?:/[\w.+-]+)+/(?:tour|$FOLDER)\b}{TOUR}g;
    $line =~ s/part-(\d+)-[0-9a-f]{12}/part-$1-KEY/g;
    $line =~ s{quarantine/[0-9a-f]{16}}{quarantine/KEY}g;
    $line =~ s/\b(?:[0-9a-f]{64}\b|[0-9a-f]{16}…)/SHA/g;
    $line =~ s/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/TIME/g;
    $line =~ s/\bBound by .*/BOUND/;
    $line =~ s/\b\d+ workers?\b/WORKERS/g;
    $line =~ s/^\s*\d[\d.]* s: \d+ documents\/s.*/SPEED/;
    $line =~ s/, busy \d+ % of the time//;
    $line =~ s/: \d[\d.]* [kMG]?B\/s;/;/;
    $line =~ s/\b\d[\d.]* (?:[kMG]?B|Mtok)\/s//g;
    $line =~ s/\b\d[\d.:]* (?:s|min|ms)\b/TIME/g;
    $line =~ s/^\d+ passed, 0 failed, \d+ skipped$/PASSED/; # checks may be added
    $line =~ s/(?: +<?\d[\d.]* %)+$//;
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
for my $k (grep { -e "py.$_.bad" } 0 .. $#compiled) {
    print "$page:$compiled[$k]{line}: $compiled[$k]{name} does not compile: ", slurp("py.$k");
    $failed++;
}
# What the page names must be there.
for my $i (0 .. $#lines) {
    for my $name ($lines[$i] =~ m{`((?:core|plugins|scripts|sdk|tests|pkg)/[\w./-]*)`}g) {
        next if -e "$ENV{SRC}/$name";
        print "$page:", $i + 1, ": there is no $name\n";
        $failed++;
    }
}
for my $k (reverse 0 .. $#commands) {
    my $command = $commands[$k];
    my @actual = split /\n/, slurp("out.$k") . join '', grep { !/^\[\d+\/\d+\] / } slurp("err.$k") =~ /.*\n?/g;
    next if matches($command->{expected}, \@actual);
    $failed++;
    if ($update) {
        s{\Q$here/$folder\E}{/srv/$folder}g for @actual; # no page names the machine that it was written on
        splice @lines, $command->{from}, $command->{to} - $command->{from}, @actual;
        next;
    }
    print "$page:$command->{line}: \$ $command->{text}\n  expected:\n", map({ "    $_\n" } @{$command->{expected}}), "  came:\n", map({ "    $_\n" } @actual);
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
