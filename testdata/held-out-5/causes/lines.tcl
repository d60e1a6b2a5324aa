# Requests of three lines, one write each, and an answer of one line: lines.tcl HOST COUNT BYTES
lassign $argv host count bytes
set s [socket $host 8000]; fconfigure $s -buffering line -translation lf
set line [string repeat l $bytes]
for {set i 0} {$i < $count} {incr i} { puts $s $line; puts $s $line; puts $s $line; gets $s answer }
close $s
