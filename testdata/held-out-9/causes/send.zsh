# Sends what its standard input has, and waits until all of it is acknowledged: send.zsh HOST
zmodload zsh/net/tcp
ztcp $1 8000 || exit
cat >&$REPLY
while ss -tnH state established dst $1 | awk '$2 > 0 { left = 1 } END { exit !left }'; do sleep 0.2; done
