#!/bin/sh
# ns.sh [cc=NAME] [rmem=BYTES] [wmem=BYTES] -- CMD...: sysctls of the emulated host's own network namespace, then CMD
ip -o addr show | grep -q '10\.77\.0\.' || { echo "ns.sh: not in an emulated host" >&2; exit 9; }
while [ "$1" != -- ]; do
  case $1 in
    cc=cubic) ip route replace "$(ip route | awk '/^10\.77\.0\./ {print $1; exit}')" dev path0 congctl cubic;; # a namespace may not make it the default
    cc=*) sysctl -qw net.ipv4.tcp_congestion_control="${1#cc=}";;
    rmem=*) sysctl -qw net.ipv4.tcp_rmem="4096 ${1#rmem=} 33554432";;
    wmem=*) sysctl -qw net.ipv4.tcp_wmem="4096 16384 ${1#wmem=}";;
  esac
  shift
done
shift
exec "$@"
