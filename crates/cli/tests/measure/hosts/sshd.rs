//! A real sshd with keys and a configuration of its own. It knows nothing of the machine's, and leaves nothing there.
#![allow(unreachable_pub, reason = "a module of one test program")]

use crate::measuring::Folder;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Debian's openssh-server.
pub const PROGRAM: &str = "/usr/sbin/sshd";
/// Where sshd changes its root to before it knows who calls; Debian's package has it made at boot.
const EMPTY: &str = "/run/sshd";

/// How many servers of this program use [`EMPTY`], and whether the first of them made it.
static USERS: Mutex<(usize, bool)> = Mutex::new((0, false));

/// What it needs, in a folder.
pub struct Sshd {
    folder: PathBuf,
}

impl Sshd {
    /// Writes keys and configurations: a server at `address` whose sessions find `path` as their PATH, and put temporary files into
    /// [`Self::temporary`].
    pub fn prepare(folder: &Folder, address: &str, path: &str) -> Self {
        let mut users = users();
        if users.0 == 0 {
            users.1 = fs::create_dir(EMPTY).is_ok();
        }
        users.0 += 1;
        drop(users);
        let sshd = Self { folder: folder.path("sshd") };
        fs::create_dir_all(sshd.temporary()).unwrap();
        for name in ["host", "user"] {
            let key = sshd.file(name);
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", &key])
                .status()
                .unwrap();
            assert!(made.success());
            fs::set_permissions(key, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let [host, user, known] = ["host", "user", "known"].map(|name| sshd.file(name));
        let temporary = sshd.temporary();
        let temporary = temporary.to_str().unwrap();
        let server = format!(
            "Port 2222\nListenAddress {address}\nHostKey {host}\nPidFile none\nAuthorizedKeysFile {user}.pub\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n\
             SetEnv PATH={path} TMPDIR={temporary}\n"
        );
        let client = format!(
            "Host *\n  Port 2222\n  User root\n  IdentityFile {user}\n  IdentitiesOnly yes\n  UserKnownHostsFile {known}\n  \
             StrictHostKeyChecking accept-new\n  GlobalKnownHostsFile none\n  BatchMode yes\n"
        );
        fs::write(sshd.file("server"), server).unwrap();
        fs::write(sshd.file("client"), client).unwrap();
        sshd
    }

    /// The command that serves until it is ended.
    pub fn command(&self) -> String {
        format!("{PROGRAM} -D -e -f {}", self.file("server"))
    }

    /// The client's command, for `PIPEFILL_SSH`.
    pub fn client(&self) -> String {
        format!("ssh -F {}", self.file("client"))
    }

    /// Where its sessions put temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.folder.join("temporary")
    }

    fn file(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }
}

/// Also where a test has panicked meanwhile.
fn users() -> MutexGuard<'static, (usize, bool)> {
    USERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This program without what only a debugger needs, so that it is sent fast; as it is where there is no strip(1).
pub fn executable(folder: &Folder) -> String {
    let program = assert_cmd::cargo::cargo_bin!("pipefill");
    let stripped = folder.path("to-be-sent");
    let made = Command::new("strip").arg("-o").args([&stripped, program]).status();
    let is_made = made.is_ok_and(|status| status.success());
    if is_made { stripped } else { program.to_owned() }.to_str().unwrap().to_owned()
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let mut users = users();
        users.0 -= 1;
        if *users == (0, true) {
            let _used_by_others = fs::remove_dir(Path::new(EMPTY));
        }
    }
}
