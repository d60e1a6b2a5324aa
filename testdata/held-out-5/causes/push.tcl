# A file in bursts over one connection: push.tcl HOST FILE COUNT MS sends FILE COUNT times, MS between the end of a write and the next.
lassign $argv host name count pause
set f [open $name rb]; set body [read $f]; close $f
set s [socket $host 8000]; fconfigure $s -translation binary -buffersize 65536
for {set i 0} {$i < $count} {incr i} { if {$i} { after $pause }; puts -nonewline $s $body; flush $s }
close $s
