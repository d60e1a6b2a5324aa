# A collector that looks at its connection once in a second: collect.pl FILE waits on port 8000 for one connection, and writes to FILE what has come.
use strict; use IO::Socket::INET;
my $listener = IO::Socket::INET->new(LocalPort => 8000, Listen => 5, ReuseAddr => 1) or die; my $from = $listener->accept;
open my $to, ">", $ARGV[0] or die; my $have;
do { select undef, undef, undef, 1; $have = sysread $from, my $some, 1 << 20; syswrite $to, $some if $have; } while $have;
