# A feed that hands over one record after the other: hand.pl COUNT BYTES waits on port 8000 for one reader and writes a record whenever the kernel says that all before it is acknowledged (SIOCOUTQ).
use strict; use IO::Socket::INET; use Socket qw(IPPROTO_TCP TCP_NODELAY);
my ($count, $bytes) = @ARGV; my $record = "h" x $bytes;
my $listener = IO::Socket::INET->new(LocalPort => 8000, Listen => 5, ReuseAddr => 1) or die; my $to = $listener->accept;
setsockopt $to, IPPROTO_TCP, TCP_NODELAY, 1;
for (1 .. $count) {
    syswrite $to, $record;
    my $left = pack "i", 0;
    while (1) { ioctl $to, 0x5411, $left or die; last unless unpack "i", $left; select undef, undef, undef, 0.001; }
}
