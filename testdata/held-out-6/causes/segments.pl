# A video server that paces: segments.pl BYTES RATE answers each GET on a connection with a segment of BYTES, and its socket has SO_MAX_PACING_RATE RATE (bytes/s).
use strict; use IO::Socket::INET; use Socket;
my ($bytes, $rate) = @ARGV; my $segment = "v" x $bytes;
my $listener = IO::Socket::INET->new(LocalPort => 8000, Listen => 5, ReuseAddr => 1) or die;
while (my $to = $listener->accept) {
    setsockopt $to, SOL_SOCKET, 47, pack "L", $rate;
    my $ask = "";
    while (sysread $to, $ask, 4096, length $ask) {
        next unless $ask =~ s/^.*?\r\n\r\n//s;
        my $answer = "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: $bytes\r\n\r\n$segment"; my $at = 0;
        while ($at < length $answer) { my $n = syswrite $to, $answer, 65536, $at; last unless $n; $at += $n; }
    }
}
