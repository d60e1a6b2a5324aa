# Makes the folder of a case: prepare.sh BASE. It runs in the new folder; this kit's folder is $KIT. The base mariadb is copied from $BASE/data.
# The folders above must be open to the user postgres (base pg).
set -e
cp $KIT/serve.js $KIT/client.js $KIT/set.tcl $KIT/records.py $KIT/files.py .
case "$1" in
pg) mkdir pg; chown postgres pg
    setpriv --reuid=postgres --regid=postgres --clear-groups /usr/lib/postgresql/15/bin/initdb -D $PWD/pg -A trust -U postgres --no-sync --locale=C -E UTF8 >/dev/null
    echo 'host all all all trust
host replication all all trust' >>pg/pg_hba.conf ;;
mariadb) cp -r ${BASE:?}/data data ;;
nginx) mkdir files up tmp
    echo 'user root; worker_processes 1; pid nginx.pid; daemon off; error_log stderr crit; events {}
http { access_log off; client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp; keepalive_requests 100000; client_max_body_size 0;
server { listen 8000; root .; location /up/ { dav_methods PUT; } } }' >nginx.conf ;;
smb) mkdir -p smb files
    { echo '[global]'; for kind in lock state cache pid private; do echo "$kind directory = $PWD/smb"; done
    echo "ncalrpc dir = $PWD/smb/rpc
smb ports = 8000
map to guest = Bad User
guest account = root
load printers = no
disable spoolss = yes
smb2 max read = 65536
[files]
path = $PWD/files
guest ok = yes
read only = no"; } >smb.conf ;;
ssh) mkdir sshd files got; mkdir -p /run/sshd; for k in host key; do ssh-keygen -q -t ed25519 -N '' -f sshd/$k; done
    echo "Port 8000
HostKey $PWD/sshd/host
AuthorizedKeysFile $PWD/sshd/key.pub
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile $PWD/sshd/pid
SetEnv SHLVL=2
Subsystem sftp /usr/lib/openssh/sftp-server" >sshd/server
    echo "Port 8000
IdentityFile $PWD/sshd/key
UserKnownHostsFile /dev/null
StrictHostKeyChecking no
LogLevel ERROR
BatchMode yes" >sshd/client ;;
esac
