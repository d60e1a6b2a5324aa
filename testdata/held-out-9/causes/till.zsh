# Rings up sales: till.zsh HOST COUNT BYTES writes the head of a sale, then the sale of BYTES, and waits for the receipt.
zmodload zsh/net/tcp
ztcp $1 8000; fd=$REPLY
sale=${(l:$3::s:)}
repeat $2 {
    print -u $fd "sale $3"
    print -n -u $fd -r -- $sale
    read -r -u $fd receipt
}
ztcp -c $fd
