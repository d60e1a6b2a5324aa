# Makes the folder of a case: prepare.sh BASE. It runs in the new folder; the kit's folder is $KIT, the bases are in $BASE.
set -e
cp $KIT/*.py .
case "$1" in
mariadb) cp -r ${BASE:?the folder of the bases}/data data ;;
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
git) git init -q repo ;;
ssh) mkdir sshd; mkdir -p /run/sshd; cp ${BASE:?the folder of the bases}/ssh/* sshd/; chmod 600 sshd/host sshd/key
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
