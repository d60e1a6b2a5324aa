# HTTP PUT of FILE with SO_SNDBUF set before connect(): put.pl HOST FILE BYTES
use strict; use LWP::UserAgent; use LWP::Protocol::http; use Socket;
my ($host, $name, $bytes) = @ARGV;
push @LWP::Protocol::http::EXTRA_SOCK_OPTS, Sockopts => [[SOL_SOCKET, SO_SNDBUF, pack "i", $bytes]];
open my $file, "<:raw", $name or die; local $/; my $body = <$file>;
my $answer = LWP::UserAgent->new(timeout => 60)->put("http://$host:8000/got", Content => $body);
print $answer->code, "\n";
