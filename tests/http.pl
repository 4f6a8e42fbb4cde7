# http.pl - a server for tests of stages that ask: perl http.pl LOG [SEED [LEAST MOST [FAULTS]]]
#
# Prints its port. Each POST is answered after LEAST to MOST milliseconds (0), which follow from SEED and the body, with
# {"n":BYTES OF THE BODY,"sum":SUM OF ITS BYTES}. Of FAULTS per cent of the bodies the first request is answered with 503 or with
# 429 and Retry-After, or the connection is cut. A body with `refuse` in it gets 404, one with `moved` is sent to another server, one
# with `count` gets another n each time. LOG gets a line a request when it has come: what will be answered and the body; DELAYS in the
# environment names a file for its milliseconds. Ends when its parent does.
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use Socket qw(IPPROTO_TCP TCP_NODELAY);

my ($log, $seed, $least, $most, $faults) = @ARGV;
$seed //= 0; $least //= 0; $most //= $least; $faults //= 0;
my $parent = getppid;
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 512, ReuseAddr => 1) or die "no socket: $!";
open my $out, '>>', $log or die "$log: $!";
$out->autoflush(1);
my $delays;
if (defined $ENV{DELAYS}) { open $delays, '>>', $ENV{DELAYS} or die "$ENV{DELAYS}: $!\n"; $delays->autoflush(1) }
$| = 1;
print $server->sockport, "\n";
open STDOUT, '>', '/dev/null';
my $all = IO::Select->new($server);
my $count = 0;
my (%data, %seen, @due); # bytes of connections; bodies; [time, connection, answer, cut]

# Seconds; where perl-base is alone, of a clock that goes in hundredths.
my $fine = eval { require Time::HiRes; 1 };
sub now {
    return Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC()) if $fine;
    open my $up, '<', '/proc/uptime' or return CORE::time;
    return (split ' ', scalar <$up>)[0];
}

sub hash { my $h = 5381 + $seed; $h = ($h * 33 + $_) % 4294967291 for unpack 'C*', $_[0]; $h }

sub answer {
    my ($body) = @_;
    my $h = hash($body);
    my $first = !$seen{$body}++;
    return ('404', "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nnone") if $body =~ /refuse/;
    return ('307', "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://elsewhere/x\r\nContent-Length: 0\r\n\r\n") if $body =~ /moved/;
    if ($first && $h % 100 < $faults) {
        return ('cut', '') if $h % 3 == 0;
        return ('429', "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n") if $h % 3 == 1;
        return ('503', "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
    }
    my $text = '{"n":' . ($body =~ /count/ ? ++$count : length $body) . ',"sum":' . unpack('%32C*', $body) . '}';
    return ('200', "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " . length($text) . "\r\n\r\n$text");
}

sub drop { my ($c) = @_; $all->remove($c); delete $data{$c}; close $c }

while (getppid == $parent) {
    @due = sort { $a->[0] <=> $b->[0] } @due;
    my $wait = @due ? $due[0][0] - now() : 0.5;
    for my $c ($all->can_read($wait > 0 ? ($wait < 0.5 ? $wait : 0.5) : 0)) {
        if ($c == $server) {
            my $new = $server->accept or next;
            setsockopt $new, IPPROTO_TCP, TCP_NODELAY, 1;
            $all->add($new);
            $data{$new} = '';
            next;
        }
        if (!sysread $c, $data{$c}, 65536, length $data{$c}) { drop($c); next }
        while (($data{$c} // '') =~ /^(.*?\r\n\r\n)/s) {
            my $head = $1;
            my ($n) = $head =~ /^content-length: *(\d+)/im;
            last if length $data{$c} < length($head) + ($n // 0);
            my $body = substr $data{$c}, length $head, $n // 0;
            substr $data{$c}, 0, length($head) + ($n // 0), '';
            my ($word, $text) = answer($body);
            my $delay = $least + hash("late $body") % ($most - $least + 1);
            push @due, [now() + $delay / 1000, $c, $text, $word eq 'cut'];
            print $delays "$delay\n" if $delays;
            $body =~ s/\n/ /g;
            print $out "$word $body\n";
        }
    }
    while (@due && $due[0][0] <= now()) {
        my (undef, $c, $text, $cut) = @{ shift @due };
        next if !defined $data{$c};
        if ($cut) { drop($c) } else { local $SIG{PIPE} = 'IGNORE'; syswrite $c, $text }
    }
}
