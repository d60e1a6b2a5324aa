# Both ways over one connection: keeps what comes as `up.got` and sends `down`.
exec 3<&0
cat <&3 >up.got &
cat down
wait
