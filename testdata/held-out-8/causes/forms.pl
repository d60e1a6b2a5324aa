# Sends forms over one connection, one after the other: forms.pl HOST COUNT BYTES
use strict; use HTTP::Tiny;
my ($host, $count, $bytes) = @ARGV; my $http = HTTP::Tiny->new(timeout => 20);
for my $i (1 .. $count) {
    my $answer = $http->post("http://$host:8000/form$i", {headers => {"Content-Type" => "text/plain"}, content => "f" x $bytes});
    die $answer->{status} unless $answer->{success};
}
