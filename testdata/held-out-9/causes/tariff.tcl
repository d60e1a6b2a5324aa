# Asks for tariffs, one after the other: tariff.tcl HOST COUNT
lassign $argv host count
set to [socket $host 8000]
fconfigure $to -buffering full -translation lf
for {set i 0} {$i < $count} {incr i} {
    puts $to "tariff $i"
    flush $to
    if {[gets $to] eq ""} { exit 1 }
}
close $to
