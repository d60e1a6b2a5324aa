# Sets COUNT values of SIZE bytes in Redis, with a flush after the command's line and one after the value: set.tcl COUNT SIZE
lassign $argv count size
set sock [socket $env(PIPEFILL_SERVER) 8000]
fconfigure $sock -translation binary -buffering full
set value [string repeat t $size]
for {set n 0} {$n < $count} {incr n} {
    puts -nonewline $sock "*3\r\n\$3\r\nSET\r\n\$5\r\n[format k%04d [expr {$n % 1000}]]\r\n\$$size\r\n"; flush $sock
    puts -nonewline $sock "$value\r\n"; flush $sock
    if {[gets $sock line] < 0 || ![string match +OK* $line]} { puts "unexpected: $line"; exit 1 }
}
puts "set $count"
