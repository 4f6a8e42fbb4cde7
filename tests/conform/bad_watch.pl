# bad_watch.pl SECONDS FILE COMMAND... - runs a command (its output goes to FILE.stdout and FILE.stderr) and watches it from outside. Writes one line to FILE:
# its exit status (or "signal N", or "hangs"), the most descriptors that it had open at once, the most memory that it held (KiB), and the children that it left.
use strict;
use warnings;
use POSIX ();

my ($seconds, $file, @command) = @ARGV;
my ($fds, $memory, $said) = (0, 0, '');
my $pid = fork // die "fork: $!\n";
if ($pid == 0) {
    setpgrp(0, 0);
    open STDIN, '<', '/dev/null' or die;
    open STDOUT, '>', "$file.stdout" or die;
    open STDERR, '>', "$file.stderr" or die;
    exec @command or POSIX::_exit(127);
}
my $end = time + $seconds;
my $ended = 0;
while (!$ended) {
    my $n = () = glob "/proc/$pid/fd/*";
    $fds = $n if $n > $fds;
    if (open my $in, '<', "/proc/$pid/status") {
        while (<$in>) {
            $memory = $1 if /^VmHWM:\s*(\d+)/ && $1 > $memory;
        }
    }
    $ended = waitpid($pid, POSIX::WNOHANG()) == $pid;
    if (!$ended && time >= $end) {
        $said = 'hangs';
        kill KILL => -$pid, $pid;
        waitpid $pid, 0;
        $ended = 1;
    }
    select undef, undef, undef, 0.02 if !$ended;
}
my $status = $?;
$said ||= $status & 127 ? 'signal ' . ($status & 127) : $status >> 8;
# What it left in its group of processes; a child that was told to end may need a moment.
my $left = 0;
for (1 .. 50) {
    $left = 0;
    for my $stat (glob '/proc/[0-9]*/stat') {
        open my $in, '<', $stat or next;
        my ($state, $group) = (readline($in) // '') =~ /^\d+ \(.*\) (\S) \d+ (\d+)/ or next;
        $left++ if $group == $pid && $state ne 'Z';
    }
    last if !$left;
    select undef, undef, undef, 0.1;
}
kill KILL => -$pid;
open my $out, '>', $file or die "$file: $!\n";
print $out "$said,$fds,$memory,$left\n";
close $out or die;
