//! The programs, what they do, and the paths between their ends.

/// Bytes of the file that is transferred.
pub(crate) const FILE: u64 = 2_000_000;

/// Writes its configuration.
macro_rules! nginx {
    () => {
        "echo 'user root; worker_processes 1; pid nginx.pid; daemon off; error_log stderr crit; events {}
http { access_log off; client_body_temp_path .; proxy_temp_path .; fastcgi_temp_path .; uwsgi_temp_path .; scgi_temp_path .;
server { listen 8000; listen [::]:8000; root .; } }' >nginx.conf"
    };
}

/// A program and its server, as shell commands in one folder, which has a file of [`FILE`] bytes. The command has the server's address in `$host`
/// and, as it stands in a URL, in `$in_url`. It prints `application SENT RECEIVED` where it knows to the byte what it sent and received.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Programs that have to be installed.
    pub(crate) needs: &'static [&'static str],
    /// Run in the folder before both, outside of the path.
    pub(crate) prepare: &'static str,
    pub(crate) server: &'static str,
    pub(crate) client: &'static str,
    /// The largest flow carries so many bytes at least.
    pub(crate) least: u64,
}

/// A name, and options of `exec`.
pub(crate) type Path = (&'static str, &'static [&'static str]);

pub(crate) const PATHS: [Path; 4] = [
    ("clean", &["--rtt", "20ms"]),
    ("loss", &["--rtt", "20ms", "--loss", "1%"]),
    ("queue", &["--rtt", "20ms", "--rate", "30mbit", "--reverse-rate", "30mbit", "--queue", "20p"]),
    ("disorder", &["--scenario", "disorder.toml"]),
];

/// Packets that overtake each other, duplicates, IPv6.
pub(crate) const DISORDER: &str = "name = \"disorder\"
[path]
rtt = \"20ms\"
family = \"ipv6\"
jitter = \"3ms\"
jitter_reorder = true
reorder = \"1%\"
duplicate = \"1%\"
loss = \"0.5%\"
[[flow]]
duration = \"1s\"
";

/// In `make test`: a case and its path.
pub(crate) const QUICK: [(&str, &str); 10] = [
    ("nginx", "loss"),
    ("http_server", "clean"),
    ("slow_reader", "clean"),
    ("scp_down", "loss"),
    ("ssh", "queue"),
    ("rsync_up", "queue"),
    ("iperf3_down", "loss"),
    ("iperf3_four_at_once", "queue"),
    ("redis", "loss"),
    ("http2", "loss"),
];

pub(crate) const CASES: [Case; 21] = [
    Case { name: "nginx", ..NGINX },
    Case {
        name: "http_server",
        needs: &["curl"],
        prepare: "",
        server: "exec python3 -m http.server --bind :: 8000 >/dev/null 2>&1",
        ..NGINX
    },
    Case {
        name: "slow_reader",
        client: "set -- $(curl -sf -o copy --limit-rate 800K -w '%{size_request} %{size_header} %{size_download}' http://$in_url:8000/file)
echo application $1 $(($2 + $3))",
        ..NGINX
    },
    Case {
        name: "browser",
        needs: &["/usr/sbin/nginx", "chromium"],
        prepare: concat!(nginx!(), "
for number in $(seq 12); do head -c 150000 /dev/urandom >part$number.js; sed -i 's,^,// ,' part$number.js; done
{ echo '<!doctype html><title>t</title>'; for number in $(seq 12); do echo \"<script src=part$number.js></script>\"; done; } >page.html"),
        client: "chromium --headless --no-sandbox --disable-gpu --user-data-dir=$PWD/profile --dump-dom http://$in_url:8000/page.html >dom 2>/dev/null
grep -q part12 dom",
        least: 150_000,
        ..NGINX
    },
    Case {
        name: "upload",
        needs: &["socat"],
        prepare: "",
        server: "exec socat -u TCP6-LISTEN:8000,ipv6only=0 OPEN:copy,creat",
        client: "socat -u FILE:file TCP:$in_url:8000 && echo application $(stat -c %s file) 0",
        least: FILE,
    },
    Case { name: "scp_down", client: "scp -O -q -F sshd/client root@$in_url:$PWD/file copy && cmp file copy", ..SSH },
    Case { name: "scp_up", client: "scp -O -q -F sshd/client file root@$in_url:$PWD/copy && cmp file copy", ..SSH },
    Case {
        name: "ssh",
        client: "for line in $(seq 40); do echo $line; sleep 0.02; done | ssh -F sshd/client root@$host cat >copy && test $(wc -l <copy) = 40",
        least: 1000,
        ..SSH
    },
    Case { name: "rsync_down", client: "rsync -a rsync://$in_url:8000/files/ copy/ && cmp file copy/file", ..RSYNC },
    Case { name: "rsync_up", client: "rsync -a file rsync://$in_url:8000/files/copy && cmp file files/copy", ..RSYNC },
    Case { name: "iperf3_up", client: "iperf3 -c $host -p 8000 -t 2 >/dev/null", ..IPERF3 },
    Case { name: "iperf3_down", client: "iperf3 -c $host -p 8000 -t 2 -R >/dev/null", ..IPERF3 },
    Case { name: "iperf3_four_at_once", client: "iperf3 -c $host -p 8000 -t 2 -P 4 >/dev/null", least: FILE / 4, ..IPERF3 },
    Case { name: "iperf3_both_ways", client: "iperf3 -c $host -p 8000 -t 2 --bidir >/dev/null", ..IPERF3 },
    Case {
        name: "redis",
        client: "redis-cli -h $host -p 8000 -x set key <file >/dev/null && redis-cli -h $host -p 8000 --raw get key | head -c $(stat -c %s file) | cmp - file",
        ..REDIS
    },
    Case {
        name: "redis_pipelined",
        needs: &["redis-server", "redis-benchmark"],
        client: "redis-benchmark -h $host -p 8000 -t set,get -n 4000 -d 800 -P 20 -c 4 -q >/dev/null",
        least: FILE / 10,
        ..REDIS
    },
    Case {
        name: "mariadb",
        needs: &["/usr/sbin/mariadbd", "mariadb-install-db", "mariadb"],
        prepare: "mariadb-install-db --no-defaults --user=root --datadir=$PWD/data --auth-root-authentication-method=normal --skip-test-db >/dev/null",
        server: "exec /usr/sbin/mariadbd --no-defaults --user=root --datadir=$PWD/data --socket=$PWD/socket --port=8000 '--bind-address=*' --skip-grant-tables \
                 --skip-networking=0 2>/dev/null",
        client: "mariadb --no-defaults -D mysql -h $host -P 8000 -e 'select seq, repeat(\"x\", 1000) from seq_1_to_2000' >rows && test $(wc -l <rows) = 2001",
        least: FILE,
    },
    Case { name: "smb_down", client: "smbclient -N -I $host -p 8000 //server/files -c 'get file copy' 2>/dev/null && cmp file copy", ..SMB },
    Case { name: "smb_up", client: "smbclient -N -I $host -p 8000 //server/files -c 'put file copy' 2>/dev/null && cmp file files/copy", ..SMB },
    Case {
        name: "http2",
        needs: &["nghttpd", "nghttp"],
        prepare: "",
        server: "exec nghttpd --no-tls -d $PWD 8000",
        client: "nghttp -n http://$in_url:8000/file http://$in_url:8000/file",
        least: FILE,
    },
    Case {
        name: "git",
        needs: &["git"],
        prepare: "git init -q repository && cd repository && head -c 1500000 /dev/urandom >data && git add data &&
git -c user.name=t -c user.email=t@example.org commit -qm one && touch .git/git-daemon-export-ok",
        server: "exec git daemon --port=8000 --base-path=$PWD --export-all --reuseaddr 2>/dev/null",
        client: "git clone -q git://$in_url:8000/repository copy && cmp repository/data copy/data",
        least: 1_500_000,
    },
];

const NGINX: Case = Case {
    name: "",
    needs: &["/usr/sbin/nginx", "curl"],
    prepare: nginx!(),
    server: "exec /usr/sbin/nginx -p $PWD -c nginx.conf 2>/dev/null",
    client: "set -- $(curl -sf -o copy -w '%{size_request} %{size_header} %{size_download}' http://$in_url:8000/file)
echo application $1 $(($2 + $3))",
    least: FILE,
};

const SSH: Case = Case {
    name: "",
    needs: &[crate::hosts::sshd::PROGRAM, "ssh", "scp", "ssh-keygen"],
    prepare: "",
    server: "exec /usr/sbin/sshd -D -e -f $PWD/sshd/server 2>/dev/null",
    client: "",
    least: FILE,
};

const RSYNC: Case = Case {
    name: "",
    needs: &["rsync"],
    prepare: "mkdir files && cp file files && printf 'use chroot = no\\nport = 8000\\nuid = %s\\ngid = %s\\n[files]\\npath = %s/files\\nread only = no\\n' $(id -u) $(id -g) $PWD >rsyncd.conf",
    server: "exec rsync --daemon --no-detach --config rsyncd.conf",
    client: "",
    least: FILE,
};

const IPERF3: Case = Case {
    name: "",
    needs: &["iperf3"],
    prepare: "",
    server: "exec iperf3 -s -p 8000 >/dev/null",
    client: "",
    least: FILE,
};

const REDIS: Case = Case {
    name: "",
    needs: &["redis-server", "redis-cli"],
    prepare: "",
    server: "exec redis-server --port 8000 --protected-mode no --save '' --dir $PWD >/dev/null",
    client: "",
    least: FILE,
};

const SMB: Case = Case {
    name: "",
    needs: &["/usr/sbin/smbd", "smbclient"],
    prepare: "mkdir -p smb files && cp file files && {
echo '[global]'
for kind in lock state cache pid private; do echo \"$kind directory = $PWD/smb\"; done
echo \"ncalrpc dir = $PWD/smb/rpc
smb ports = 8000
map to guest = Bad User
guest account = root
load printers = no
disable spoolss = yes
[files]
path = $PWD/files
guest ok = yes
read only = no\"
} >smb.conf",
    server: "exec /usr/sbin/smbd -F --no-process-group -s smb.conf -l $PWD/smb >/dev/null 2>&1",
    client: "",
    least: FILE,
};
