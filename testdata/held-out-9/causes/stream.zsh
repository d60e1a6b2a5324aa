# Streams a file at a rate: stream.zsh HOST BYTES_PER_SECOND
zmodload zsh/net/tcp
ztcp $1 8000 && exec cstream -t $2 -b 8k -i file >&$REPLY
