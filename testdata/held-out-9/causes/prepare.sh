# Makes the folder of a case: prepare.sh WORDS. It runs in the new folder; this kit's folder is $KIT. A word with a dot is a file of the kit, go:NAME is built from NAME.go, the others are below.
set -e
for word in $1; do case "$word" in
go:*) GO111MODULE=off CGO_ENABLED=0 go build -o ${word#go:} $KIT/${word#go:}.go ;;
*.*) cp $KIT/$word . ;;
www) mkdir www ;;
hitch)
    openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=archive -keyout key.pem -out cert.pem 2>/dev/null
    cat key.pem cert.pem >both.pem
    echo "frontend = \"[0.0.0.0]:8000\"
backend = \"[127.0.0.1]:8080\"
pem-file = \"$PWD/both.pem\"
workers = 1
user = \"nobody\"
daemon = off
quiet = on" >hitch.conf ;;
squid)
    echo "http_port 127.0.0.1:3128
http_access allow all
cache deny all
access_log none
cache_log /dev/null
pid_filename none
netdb_filename none
shutdown_lifetime 0 seconds
pinger_enable off" >squid.conf ;;
registry)
    echo "version: 0.1
log: {level: error, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: $PWD/registry}}
http: {addr: 0.0.0.0:8000}" >registry.yml ;;
*) echo "no word $word" >&2; exit 1 ;;
esac; done
