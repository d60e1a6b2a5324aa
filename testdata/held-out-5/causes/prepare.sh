# Makes the folder of a case: prepare.sh BASES. It runs in the new folder; this kit's folder is $KIT. BASES are words of the list below ("web tls"); $BASE has `data` (MariaDB) and `ssh` (host, key, *.pub).
# The folders above must be open to the user postgres (base pg).
set -e
cp $KIT/*.pl $KIT/*.tcl $KIT/*.awk $KIT/*.js .
for base in $1; do case "$base" in
preload) gcc -O1 -shared -fPIC -o opt.so $KIT/opt.c -ldl ;;
mariadb) cp -r ${BASE:?}/data data ;;
pg) mkdir pg; chown postgres pg
    setpriv --reuid=postgres --regid=postgres --clear-groups /usr/lib/postgresql/15/bin/initdb -D $PWD/pg -A trust -U postgres --no-sync --locale=C -E UTF8 >/dev/null
    printf 'host all all all trust\nhost replication all all trust\n' >>pg/pg_hba.conf ;;
rsync) mkdir files; printf 'use chroot = no\nport = 8000\nuid = 0\ngid = 0\n[files]\npath = %s/files\nread only = no\n' $PWD >rsyncd.conf ;;
git) mkdir tree; git init -q -b main tree; git -C tree config core.compression 0; git init -q --bare copy.git; git -C copy.git config receive.unpackLimit 1 ;;
web) mkdir tmp www; touch more.conf
    echo "load_module /usr/lib/nginx/modules/ngx_http_echo_module.so; user root; worker_processes 1; pid nginx.pid; daemon off; error_log stderr crit; events {}
http { access_log off; types { text/html html; } default_type application/octet-stream; client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
keepalive_requests 100000; keepalive_timeout 90s; client_max_body_size 0;
server { listen 8000; listen unix:$PWD/web; root www; dav_methods PUT; include $PWD/more.conf; } }" >nginx.conf ;;
tls) openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 30 -subj /CN=server 2>/dev/null ;;
sftp) printf '#!/bin/sh\nexec socat -b 65536 - TCP:$1:8000,nodelay\n' >raw; chmod +x raw ;;
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
esac; done
