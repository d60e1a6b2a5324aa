# Makes the folder of a case: prepare.sh BASES. It runs in the new folder; this kit's folder is $KIT. BASES are words of the list below ("web haproxy"); $BASE has `data` (MariaDB) and `ssh` (host, key, *.pub).
# The folders above must be open to the user postgres (base pg).
set -e
cp $KIT/*.js $KIT/*.pl $KIT/*.awk $KIT/*.py $KIT/duplex.sh .
for base in $1; do case "$base" in
seed|spool) gcc -O1 -o $base $KIT/$base.c ;;
java) javac -d . $KIT/Send.java ;;
mariadb) cp -r ${BASE:?}/data data ;;
pg) mkdir pg; chown postgres pg
    setpriv --reuid=postgres --regid=postgres --clear-groups /usr/lib/postgresql/15/bin/initdb -D $PWD/pg -A trust -U postgres --no-sync --locale=C -E UTF8 >/dev/null
    printf 'host all all all trust\n' >>pg/pg_hba.conf ;;
web) mkdir tmp www; touch more.conf
    echo "user root; worker_processes 1; pid nginx.pid; daemon off; error_log stderr crit; events {}
http { access_log off; types { text/html html; } default_type application/octet-stream; client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
keepalive_requests 100000; keepalive_timeout 90s; client_max_body_size 0;
server { listen 8000; root www; dav_methods PUT; include $PWD/more.conf; } }" >nginx.conf ;;
haproxy) printf 'global\n\tmaxconn 20\n\tINCLUDE\ndefaults\n\tmode tcp\n\ttimeout connect 5s\n\ttimeout client 60s\n\ttimeout server 60s\nlisten front\n\tbind :8000\n\tserver back unix@%s/sock\n' $PWD >haproxy.conf ;;
ftp) mkdir -p ftp/in
    printf '%s\n' background=NO listen=YES listen_port=8000 run_as_launching_user=YES anonymous_enable=YES no_anon_password=YES anon_root=$PWD/ftp write_enable=YES anon_upload_enable=YES anon_other_write_enable=YES anon_umask=022 \
        allow_writeable_chroot=YES connect_from_port_20=NO xferlog_enable=NO seccomp_sandbox=NO pasv_min_port=8100 pasv_max_port=8199 >vsftpd.conf; chmod 600 vsftpd.conf ;;
mqtt) printf 'listener 8000\nallow_anonymous true\nuser root\nlog_dest none\nconnection_messages false\n' >mqtt.conf ;;
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
esac; done
