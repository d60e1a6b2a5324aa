# What runs in the guest of the real-Linux kit, by its init: two hosts, and shaping at the interface of one. What was seen goes to files in /out.
# No sleep(1) there: `rest` looks at no socket for a while.
P=/out/pipefill
A="ip netns exec a"
rest() { $A $P watch --for "$1" dst 192.0.2.1 >/dev/null; }
# state NAME: everything that shaping could have changed
state() { { $A tc qdisc show; $A tc class show dev va; $A tc filter show dev va; $A ip -o link; } >"/out/$1"; }

ip netns add a; ip netns add b
ip link add va netns a type veth peer name vb netns b
ip -n a addr add 10.0.0.1/24 dev va; ip -n b addr add 10.0.0.2/24 dev vb; ip -n b addr add 10.0.0.3/24 dev vb
for host in "a va" "b vb"; do set -- $host; ip -n $1 link set lo up; ip -n $1 link set $2 up; done
ip netns exec b $P serve 2>/out/serve &
# Until the interfaces have noticed each other.
rest 1s

# Delay and rate beside another connection, at an interface that has a qdisc of its own.
tc -n a qdisc add dev va root handle 10: fq limit 5000 quantum 4000
state fq-before
$A $P shape va --rtt 50ms --rate 20mbit --to 10.0.0.2 --json -- sh -c "
    $P test 10.0.0.3 -b 50M -t 3 -J >/out/other.json &
    $P test 10.0.0.2 -t 4 -J >/out/test.json; wait; tc -d qdisc show dev pipefill3 >/out/qdiscs" 2>/out/shape.json
state fq-after
tc -n a qdisc del dev va root

# Loss, and a spread of the delay, at one that has classes and filters.
tc -n a qdisc add dev va root handle 1: htb default 10
tc -n a class add dev va parent 1: classid 1:10 htb rate 1gbit
tc -n a class add dev va parent 1: classid 1:20 htb rate 10mbit ceil 20mbit
tc -n a filter add dev va parent 1: protocol ip pref 5 u32 match ip dport 9999 0xffff flowid 1:20
state htb-before
$A $P shape va --loss 2% --rtt 20ms --jitter 2ms --set path.jitter_distribution=normal --json --to 10.0.0.0/24 -- \
    $P test 10.0.0.2 -u -b 10M -t 3 -J >/out/loss.json 2>/out/loss-shape.json
state htb-after

# The time is up before the command ends.
$A $P shape va --rtt 20ms --for 2s -- $P test 10.0.0.2 -b 1M -t 4 -J >/out/time.json 2>/out/time
state time-after

# Everything but the switch is killed.
$A $P shape va --rtt 20ms --rate 5mbit -- sh -c "while :; do $P test 10.0.0.2 -t 1; done" >/dev/null 2>&1 &
rest 1s
state killed-meanwhile
for process in /proc/[0-9]*; do
    id=${process#/proc/}
    # The shell leaves out the zeros between the words.
    words=$(cat "$process/cmdline" 2>/dev/null)
    case $words in
        *--undo-shaping-of*) echo "$id" >>/out/switches ;;
        *shapeva*|*"while :"*|*test10.0.0.2*) echo "$id" >>/out/killed; kill -9 "$id" ;;
    esac
done
rest 1s
state killed-after

# The owner hangs.
$A $P shape va --rtt 20ms >/dev/null 2>&1 &
rest 1s
state hung-meanwhile
for process in /proc/[0-9]*; do
    case $(cat "$process/cmdline" 2>/dev/null) in *shapeva*) kill -STOP "${process#/proc/}" ;; esac
done
rest 20s
state hung-after
/bin/off
