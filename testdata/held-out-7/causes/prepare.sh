# Makes the folder of a case: prepare.sh BASES. It runs in the new folder; this kit's folder is $KIT. BASES are words of the list below ("lighttpd java"); $BASE has `data` (MariaDB) and `ssh` (host, key, *.pub).
# The folders above must be open to the users postgres (base pg) and www-data (base apache).
set -e
cp $KIT/*.php $KIT/*.pl $KIT/*.rb .
for base in $1; do case "$base" in
sensor) gcc -O1 -o sensor $KIT/sensor.c ;;
java) javac -d . $KIT/Fetch.java ;;
mariadb) cp -r ${BASE:?}/data data ;;
pg) mkdir pg; chown postgres pg
    setpriv --reuid=postgres --regid=postgres --clear-groups /usr/lib/postgresql/15/bin/initdb -D $PWD/pg -A trust -U postgres --no-sync --locale=C -E UTF8 >/dev/null
    printf 'host all all all trust\n' >>pg/pg_hba.conf ;;
nginx) mkdir tmp www; touch more.conf
    echo "user root; worker_processes 1; pid nginx.pid; daemon off; error_log stderr crit; events {}
http { access_log off; default_type application/octet-stream; client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
keepalive_requests 100000; keepalive_timeout 90s; client_max_body_size 0;
include $PWD/more.conf;
server { listen 8000; root www; dav_methods PUT; } }" >nginx.conf ;;
apache) mkdir www run; touch more.conf; chown www-data www run
    for m in mpm_event authz_core dav dav_fs; do echo "LoadModule ${m}_module /usr/lib/apache2/modules/mod_$m.so"; done >apache.conf
    echo "ServerRoot $PWD
DefaultRuntimeDir $PWD/run
PidFile run/pid
Mutex fcntl:$PWD/run
ServerName files
User www-data
Group www-data
StartServers 1
KeepAlive On
MaxKeepAliveRequests 0
ErrorLog /dev/null
DavLockDB $PWD/run/locks
Include more.conf
Listen 8000
DocumentRoot $PWD/www
<Directory $PWD/www>
Dav On
Require all granted
</Directory>" >>apache.conf ;;
lighttpd) mkdir www tmp
    echo "server.modules = (\"mod_webdav\")
server.document-root = \"$PWD/www\"
server.upload-dirs = (\"$PWD/tmp\")
server.port = 8000
server.max-keep-alive-requests = 1000
webdav.activate = \"enable\"" >lighttpd.conf ;;
rsync) mkdir got; printf 'use chroot = no\nport = 8000\nuid = 0\ngid = 0\n[got]\npath = %s/got\nread only = no\n' $PWD >rsyncd.conf ;;
smb) mkdir -p smb files
    { echo '[global]'; for kind in lock state cache pid private; do echo "$kind directory = $PWD/smb"; done
    echo "ncalrpc dir = $PWD/smb/rpc
smb ports = 8000
map to guest = Bad User
guest account = root
load printers = no
disable spoolss = yes
[files]
path = $PWD/files
guest ok = yes
read only = no"; } >smb.conf ;;
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
*) echo "no base $base" >&2; exit 1 ;;
esac; done
