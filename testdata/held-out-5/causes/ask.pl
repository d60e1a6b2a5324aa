# A reader on one connection: ask.pl HOST COUNT SECONDS gets /page COUNT times and rests SECONDS after each.
use strict; use LWP::UserAgent;
my ($host, $count, $rest) = @ARGV;
my $ua = LWP::UserAgent->new(keep_alive => 1); my $total = 0;
for (1 .. $count) { $total += length $ua->get("http://$host:8000/page")->content; select undef, undef, undef, $rest if $_ < $count; }
print "$total\n";
