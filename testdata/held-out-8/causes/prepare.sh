# Makes the folder of a case: prepare.sh BASES. It runs in the new folder; this kit's folder is $KIT. BASES are words of the list below ("web stunnel").
# The folders above must be open to the user www-data (bases proftpd and apache).
set -e
for base in $1; do case "$base" in
lua) cp $KIT/put.lua . ;;
perl) cp $KIT/forms.pl . ;;
python) cp $KIT/camera.py $KIT/form.py . ;;
tcl) cp $KIT/shore.tcl . ;;
go-*) GO111MODULE=off CGO_ENABLED=0 go build -o ${base#go-} $KIT/${base#go-}.go ;;
web) mkdir www ;;
h2o) mkdir www; echo "user: root
num-threads: 1
listen: 8000
hosts:
  default:
    paths:
      /:
        file.dir: $PWD/www" >h2o.conf ;;
stunnel) openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=files -keyout key.pem -out cert.pem 2>/dev/null
    touch more.conf to.conf
    printf 'foreground = yes\npid =\noutput = /dev/null\n[files]\naccept = 0.0.0.0:8000\ncert = cert.pem\nkey = key.pem\n' >base.conf ;;
svn) svnadmin create repo; printf '[general]\nanon-access = write\n' >repo/conf/svnserve.conf ;;
hg) hg init tree ;;
git) mkdir tmp; git init -q repo; printf '[user]\nname = nobody\nemail = nobody@here\n[pack]\nthreads = 1\n' >>repo/.git/config
    echo "server.modules = (\"mod_alias\", \"mod_cgi\", \"mod_setenv\")
server.document-root = \"$PWD\"
server.upload-dirs = (\"$PWD/tmp\")
server.port = 8000
alias.url = (\"/git\" => \"$(git --exec-path)/git-http-backend\")
\$HTTP[\"url\"] =~ \"^/git\" {
  cgi.assign = (\"\" => \"\")
  setenv.add-environment = (\"GIT_PROJECT_ROOT\" => \"$PWD\", \"GIT_HTTP_EXPORT_ALL\" => \"1\")
}" >lighttpd.conf ;;
syslog) mkdir -p state; echo "@version: 3.38
options { keep-hostname(yes); use-dns(no); };
source lines { network(ip(\"0.0.0.0\") transport(\"tcp\") port(8000) log-iw-size(10000) log-fetch-limit(1000) flags(no-parse)); };
destination book { file(\"$PWD/got\" log-fifo-size(20000)); };
log { source(lines); destination(book); };" >syslog.conf ;;
proftpd) mkdir ftp; chown www-data ftp
    echo "guest:$(openssl passwd -1 guest):$(id -u www-data):$(id -g www-data)::$PWD/ftp:/bin/false" >users; chmod 600 users
    echo "ServerName files
ServerType standalone
DefaultServer on
Port 8000
UseIPv6 off
User root
Group root
PassivePorts 8100 8199
AuthOrder mod_auth_file.c
AuthUserFile $PWD/users
RequireValidShell off
AllowOverwrite on
UseReverseDNS off
WtmpLog off
TransferLog none
SystemLog none
ScoreboardFile $PWD/scoreboard
PidFile $PWD/pid
<IfModule mod_delay.c>
DelayEngine off
</IfModule>" >proftpd.conf ;;
named) echo "options { directory \"$PWD\"; listen-on port 8000 { any; }; listen-on-v6 { none; }; pid-file none; session-keyfile \"$PWD/session\"; recursion no; notify no; dnssec-validation no; allow-transfer { any; }; };
controls { };
zone \"example\" { type primary; file \"$PWD/zone\"; };" >named.conf
    printf '$TTL 60\n@ SOA ns nobody 1 60 60 60 60\n@ NS ns\nns A 10.77.0.2\n' >zone ;;
unbound) echo "server:
 interface: 0.0.0.0@8000
 access-control: 0.0.0.0/0 allow
 do-daemonize: no
 do-udp: no
 tcp-idle-timeout: 60000
 chroot: \"\"
 username: \"\"
 directory: \"$PWD\"
 use-syslog: no
 logfile: \"$PWD/log\"
 module-config: iterator
 local-zone: example. static
 local-data: 'host.example. TXT \"$(printf %0225d 1)\" \"$(printf %0225d 2)\" \"$(printf %0225d 3)\"'" >unbound.conf ;;
slapd) mkdir ldap; for s in core cosine inetorgperson; do echo "include /etc/ldap/schema/$s.schema"; done >slapd.conf
    echo "modulepath /usr/lib/ldap
moduleload back_mdb
pidfile $PWD/pid
argsfile $PWD/args
database mdb
maxsize 67108864
suffix dc=example
rootdn cn=admin,dc=example
rootpw secret
directory $PWD/ldap
dbnosync" >>slapd.conf ;;
snmpd) mkdir snmp; echo 'rocommunity public default' >snmpd.conf ;;
varnish) echo 'vcl 4.1;
import tcp;
backend web { .host = "127.0.0.1"; .port = "8080"; }
sub vcl_recv { tcp.set_socket_pace(RATE); return (hash); }' >pace.vcl ;;
haproxy) cp $KIT/report.lua .; echo "global
  lua-load $PWD/report.lua
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  timeout http-keep-alive 30s
frontend reports
  bind 0.0.0.0:8000
  http-request use-service lua.report" >haproxy.conf ;;
apache) mkdir www run; chown www-data www run
    for m in mpm_event authz_core filter deflate; do echo "LoadModule ${m}_module /usr/lib/apache2/modules/mod_$m.so"; done >apache.conf
    echo "ServerRoot $PWD
DefaultRuntimeDir $PWD/run
PidFile run/pid
Mutex fcntl:$PWD/run
ServerName files
User www-data
Group www-data
StartServers 1
ErrorLog /dev/null
Listen 8000
DocumentRoot $PWD/www
SetOutputFilter DEFLATE
DeflateCompressionLevel 9
<Directory $PWD/www>
Require all granted
</Directory>" >>apache.conf ;;
*) echo "no base $base" >&2; exit 1 ;;
esac; done
