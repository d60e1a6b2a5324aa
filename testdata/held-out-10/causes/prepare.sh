# Makes the folder of a case: prepare.sh WORDS. It runs in the new folder; this kit's folder is $KIT. A word with a dot is a file of the kit, c:NAME is built from NAME.c, the others are below.
# The folders above must be readable by everybody.
set -e
for word in $1; do case "$word" in
c:*) gcc -O1 -o ${word#c:} $KIT/${word#c:}.c ;;
*.*) cp $KIT/$word . ;;
www) mkdir www ;;
tls) openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=files -keyout key.pem -out cert.pem 2>/dev/null ;;
rsyncd)
    mkdir vault
    echo "use chroot = no
port = 8000
uid = 0
gid = 0
log file = $PWD/log
[vault]
path = $PWD/vault
read only = no" >rsyncd.conf ;;
vsftpd)
    mkdir -p ftp/in empty
    chown daemon ftp/in
    chmod 755 ftp
    echo "listen=YES
listen_port=8000
background=NO
anonymous_enable=YES
local_enable=NO
no_anon_password=YES
ftp_username=daemon
anon_root=$PWD/ftp
secure_chroot_dir=$PWD/empty
write_enable=YES
anon_upload_enable=YES
anon_other_write_enable=YES
anon_umask=022
pasv_min_port=8100
pasv_max_port=8199
xferlog_enable=NO
seccomp_sandbox=NO
isolate=NO
isolate_network=NO" >vsftpd.conf ;;
lighttpd)
    mkdir www
    echo "server.document-root = \"$PWD/www\"
server.port = 8000
server.errorlog = \"/dev/null\"" >lighttpd.conf ;;
nginx)
    mkdir www tmp
    echo "daemon off;
master_process off;
user root;
pid $PWD/pid;
error_log /dev/null;
events { }
http {
  access_log off;
  client_body_temp_path $PWD/tmp;
  client_max_body_size 0;
  keepalive_requests 1000;
  server {
    listen 8000;
    root $PWD/www;
    location / { dav_methods PUT; }
  }
}" >nginx.conf ;;
git)
    cp $KIT/commit.sh .
    git init -q --bare repo
    git init -q tree
    for config in repo/config tree/.git/config; do printf '[core]\ncompression = 0\n[pack]\nthreads = 1\nwindow = 0\n' >>$config; done ;;
*) echo "no word $word" >&2; exit 1 ;;
esac; done
