# Packs a file straight into a connection: pack.zsh HOST
zmodload zsh/net/tcp
ztcp $1 8000 && exec xz -9 -T1 -c file >&$REPLY
