#!/usr/bin/python3
"""run.py OUTDIR [ID...]: runs each conversation of set.json once, in order; leaves OUTDIR/ID/near.pcapng and far.pcapng.
PF=BINARY in the environment names another binary, SET=FILE another set (spare.json)."""
import json, os, shutil, signal, subprocess, sys, time
DIR = os.path.dirname(os.path.abspath(__file__))
PF = os.environ.get('PF', 'pipefill')
OUT = os.path.abspath(sys.argv[1])
WORK = OUT + '/.work'
ONLY = sys.argv[2:]
os.environ['PATH'] += ':/usr/sbin:/sbin'
entries = json.load(open(os.path.join(DIR, os.environ.get('SET', 'set.json'))))

def put(name, text, mode=0o644):
    with open(WORK + '/' + name, 'w') as f:
        f.write(text.replace('{work}', WORK))
    os.chmod(WORK + '/' + name, mode)

def prepare():
    for d in ('www', 'dst', 'smb', 'ngtmp'):
        os.makedirs(WORK + '/' + d, exist_ok=True)
    for e in entries:
        for name, size in e['make'].items():
            with open(WORK + '/' + name, 'wb') as f:
                f.truncate(size)
    for k in ('key', 'hostkey'):
        if not os.path.exists(WORK + '/' + k) and shutil.which('ssh-keygen'):
            subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', WORK + '/' + k], check=True)
    put('sshd.conf', 'Port 2222\nHostKey {work}/hostkey\nAuthorizedKeysFile {work}/key.pub\nPermitRootLogin yes\nStrictModes no\n'
        'UsePAM no\nUseDNS no\nPidFile {work}/sshd.pid\nPrintMotd no\nPrintLastLog no\nPasswordAuthentication no\nLogLevel ERROR\n')
    os.makedirs('/run/sshd', exist_ok=True)
    put('nginx.conf', 'user root;\nworker_processes 1;\ndaemon off;\npid {work}/nginx.pid;\nerror_log {work}/nginx.err;\nevents {}\nhttp {\n'
        'access_log off;\nsendfile on;\nkeepalive_requests 10000;\n' +
        ''.join('%s_temp_path {work}/ngtmp/%s;\n' % (x, x) for x in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi')) +
        'server { listen 8080; root {work}/www; location /slow/ { proxy_pass http://127.0.0.1:9001; } }\n}\n')
    put('smb.conf', '[global]\nsmb ports = 4450\nserver role = standalone server\nmap to guest = Bad User\nguest account = root\nload printers = no\n'
        'disable spoolss = yes\ndisable netbios = yes\nlog level = 0\n' +
        ''.join('%s = {work}/smb\n' % x for x in ('private dir', 'lock directory', 'state directory', 'cache directory', 'pid directory', 'ncalrpc dir', 'binddns dir')) +
        '[m]\npath = {work}/www\nguest ok = yes\nread only = yes\n')
    put('rsyncd.conf', 'use chroot = no\nuid = root\ngid = root\npid file = {work}/rsyncd.pid\nreverse lookup = no\nforward lookup = no\n[m]\npath = {work}/www\nread only = yes\n')
    if shutil.which('mariadbd') and not os.path.exists(WORK + '/my/mysql'):
        r = subprocess.run(['mariadb-install-db', '--no-defaults', '--user=root', '--datadir=' + WORK + '/my', '--auth-root-authentication-method=normal'],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.makedirs(WORK + '/my/test', exist_ok=True)
        if r.returncode:
            print('mariadb-install-db failed:', r.stdout.decode()[-500:])

def table():
    """pid -> (parent, start time), of the whole machine, from /proc"""
    out = {}
    for p in filter(str.isdigit, os.listdir('/proc')):
        try:
            f = open('/proc/%s/stat' % p).read().rsplit(')', 1)[1].split()
            out[int(p)] = int(f[1]), f[19]
        except (OSError, IndexError):
            pass
    return out

def below(pid, known):
    """pid and what it and its known children have started, as {pid: start time}"""
    tab = table()
    out = {p: s for p, s in known.items() if p in tab and tab[p][1] == s}
    if pid in tab:
        out[pid] = tab[pid][1]
    grew = True
    while grew:
        new = {p: s for p, (q, s) in tab.items() if q in out and p not in out}
        grew = bool(new)
        out.update(new)
    return out

def end(procs):
    """ends what is left of procs, by pid, and only if it is still the same process"""
    for sig in (signal.SIGTERM, signal.SIGKILL):
        tab = table()
        left = [p for p, s in procs.items() if p in tab and tab[p][1] == s]
        for p in left:
            try:
                os.kill(p, sig)
            except OSError:
                pass
        if left:
            time.sleep(0.7)

def main():
    prepare()
    for e in entries:
        if ONLY and e['id'] not in ONLY:
            continue
        missing = [p for p in e['needs'] if not shutil.which(p)]
        if missing:
            print(e['id'], 'skipped: no', ' '.join(missing), flush=True)
            continue
        out = OUT + '/' + e['id']
        if os.path.exists(out):
            print(e['id'], 'skipped: exists', flush=True)
            continue
        sub = lambda s: s.replace('{dir}', DIR).replace('{work}', WORK)
        cmd = [PF, 'exec', '--quiet'] + e['exec_options'] + ['--capture', '--out', out]
        if e['server']:
            cmd += ['--server', sub(e['server'])]
        cmd += ['--'] + [sub(c) for c in e['command']]
        t = time.time()
        with open(OUT + '/' + e['id'] + '.log', 'w') as log:
            p = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
            procs, rc = {}, None
            while rc is None and time.time() - t < 90:
                try:
                    rc = p.wait(1)
                except subprocess.TimeoutExpired:
                    procs = below(p.pid, procs)
            procs.pop(p.pid, None)
            if rc is None:
                rc = 'timeout'
                p.terminate()
                p.wait(20)
        end(procs)
        size = {}
        for f in os.listdir(out) if os.path.isdir(out) else ():
            path = out + '/' + f
            if f in ('near.pcapng', 'far.pcapng'):
                size[f] = os.path.getsize(path)
            elif os.path.isdir(path):
                shutil.rmtree(path)
            else:
                os.remove(path)
        print('%s rc=%s %.1f s near %d far %d  %s' % (e['id'], rc, time.time() - t, size.get('near.pcapng', 0), size.get('far.pcapng', 0), e['what']), flush=True)

os.makedirs(WORK, exist_ok=True)
main()
