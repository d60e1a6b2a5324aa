# Receipts for a till: for each head "sale BYTES" it reads so many, and answers how many sales there have been.
use strict; $| = 1;
my $sales = 0;
while (my $head = <STDIN>) {
    my ($bytes) = $head =~ /^sale (\d+)$/ or die;
    read(STDIN, my $sale, $bytes) == $bytes or die;
    printf "receipt %d\n", ++$sales;
}
