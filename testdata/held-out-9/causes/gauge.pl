# Gets a file by HTTP with a clamped window: gauge.pl HOST PATH CLAMP FILE. The buffer is 1 MiB, and constant so; TCP_WINDOW_CLAMP (option 10), set again after each read, is what holds the window.
use strict; use Socket qw(:all);
my ($host, $path, $clamp, $file) = @ARGV;
socket(my $from, PF_INET, SOCK_STREAM, 0) or die $!;
setsockopt($from, SOL_SOCKET, SO_RCVBUF, 1 << 20) or die $!;
connect($from, pack_sockaddr_in(8000, inet_aton($host))) or die $!;
syswrite $from, "GET $path HTTP/1.0\r\n\r\n";
open my $to, ">", $file or die $!;
while (sysread $from, my $part, 262144) {
    setsockopt($from, IPPROTO_TCP, 10, 0 + $clamp) or die $!;
    syswrite $to, $part;
}
