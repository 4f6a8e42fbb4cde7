# A server that gives texts a score, for test/run.sh: prints its port, and ends when its parent does.
#   perl server.pl [LOG]        LOG gets a line a request
use strict;
use warnings;
use IO::Socket::INET;

my $parent = getppid;
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $ENV{PORT} // 0, Listen => 64, ReuseAddr => 1) or die "no socket: $!";
open my $log, '>>', $ARGV[0] // '/dev/null' or die "$ARGV[0]: $!";
$log->autoflush(1);
$| = 1;
print $server->sockport, "\n";
$server->timeout(1);
while (getppid == $parent) {
    my $client = $server->accept or next;
    my ($length, $text) = (0, '');
    while (my $line = <$client>) {
        $length = $1 if $line =~ /^content-length: *(\d+)/i;
        last if $line =~ /^\r?$/;
    }
    read $client, $text, $length if $length;
    print $log "$length bytes\n";
    my $score = $length == 0 ? '0' : $length < 20 ? '0.25' : '0.75'; # here a model would judge
    my $body = "{\"score\":$score}";
    print $client "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ", length $body, "\r\nConnection: close\r\n\r\n$body";
    close $client;
}
