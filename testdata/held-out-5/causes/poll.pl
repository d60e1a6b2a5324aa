# A collector that looks twice a second: poll.pl HOST SECONDS reads all that is there each SECONDS, until the end.
use strict; use IO::Socket::INET;
my ($host, $rest) = @ARGV; my $total = 0;
my $from = IO::Socket::INET->new(PeerAddr => $host, PeerPort => 8000) or die;
while (1) { select undef, undef, undef, $rest; my $n = sysread $from, my $piece, 1000000; last unless $n; $total += $n; }
print "$total\n";
