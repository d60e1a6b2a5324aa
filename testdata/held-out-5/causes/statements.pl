# One statement after the other through DBI: statements.pl HOST COUNT BYTES
use strict; use DBI;
my ($host, $count, $bytes) = @ARGV;
my $db = DBI->connect("DBI:MariaDB:database=mysql;host=$host;port=8000", "root", "", { RaiseError => 1 });
my $value = "s" x $bytes;
$db->do("do length('$value')") for 1 .. $count;
$db->disconnect;
