# Makes the folder of a case: prepare.sh BASE. It runs in the new folder; this kit's folder is $KIT. $BASE has `data` (MariaDB, table mysql.t) and `ssh` (host, key, *.pub); the base pg is made here.
# The folders above must be open to the user postgres (base pg).
set -e
cp $KIT/gulp.py .
case "$1" in
mariadb) cp -r ${BASE:?}/data data ;;
pg) mkdir pg; chown postgres pg
    setpriv --reuid=postgres --regid=postgres --clear-groups /usr/lib/postgresql/15/bin/initdb -D $PWD/pg -A trust -U postgres --no-sync --locale=C -E UTF8 >/dev/null
    echo 'host all all all trust' >>pg/pg_hba.conf ;;
smb) mkdir -p smb files
    { echo '[global]'; for kind in lock state cache pid private; do echo "$kind directory = $PWD/smb"; done
    echo "ncalrpc dir = $PWD/smb/rpc
smb ports = 8000
map to guest = Bad User
guest account = root
load printers = no
disable spoolss = yes
include = $PWD/more.conf
[files]
path = $PWD/files
guest ok = yes
read only = no"; } >smb.conf; touch more.conf ;;
rsync) mkdir files got; printf 'use chroot = no\nport = 8000\nuid = 0\ngid = 0\n[files]\npath = %s/files\nread only = no\n[got]\npath = %s/got\nread only = no\n' $PWD $PWD >rsyncd.conf ;;
git) mkdir tree; git init -q -b main tree; git -C tree config core.compression 0; git init -q --bare copy.git ;;
nginx) mkdir tmp
    echo 'user root; worker_processes 1; pid nginx.pid; daemon off; error_log stderr crit; events {}
http { access_log off; client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp; keepalive_requests 100000; keepalive_timeout 90s; client_max_body_size 0;
server { listen 8000; root .; dav_methods PUT; location /in { return 204; } } }' >nginx.conf ;;
ssh) mkdir sshd; mkdir -p /run/sshd; cp ${BASE:?}/ssh/* sshd/; chmod 600 sshd/host sshd/key
    echo "Port 8000
HostKey $PWD/sshd/host
AuthorizedKeysFile $PWD/sshd/key.pub
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile $PWD/sshd/pid
Subsystem sftp /usr/lib/openssh/sftp-server" >sshd/server
    echo "Port 8000
IdentityFile $PWD/sshd/key
UserKnownHostsFile /dev/null
StrictHostKeyChecking no
LogLevel ERROR
BatchMode yes" >sshd/client ;;
esac
