# A feed of records with a checksum each, computed as it is sent: sums.pl COUNT ROUNDS waits on port 8000 for one GET and answers with COUNT lines, each with a digest of ROUNDS rounds.
use strict; use IO::Socket::INET; use Digest::SHA "sha256_hex";
my ($count, $rounds) = @ARGV;
my $listener = IO::Socket::INET->new(LocalPort => 8000, Listen => 5, ReuseAddr => 1) or die; my $to = $listener->accept;
my $ask = ""; while ($ask !~ /\r\n\r\n/) { sysread $to, $ask, 4096, length $ask or die; }
print $to "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n";
for my $i (1 .. $count) {
    my $sum = $i; $sum = sha256_hex $sum for 1 .. $rounds;
    print $to "$i $sum ", "record " x 5, "\n";
}
close $to;
