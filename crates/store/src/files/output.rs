//! A file that the user names: complete under its name, or what was there before.

use super::sync_parent;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file in the making, under a hidden name beside its own. It takes that name with [`OutputFile::finish`]; dropped before, it is removed.
///
/// A device, a FIFO, or a file of `/dev` and `/proc` is written as it is; a link is followed.
#[derive(Debug)]
pub struct OutputFile {
    file: BufWriter<File>,
    /// The hidden file, and what it becomes; `None` where the file itself is written.
    made: Option<(PathBuf, PathBuf)>,
}

impl OutputFile {
    /// Begins the file `path`.
    ///
    /// # Errors
    /// The system's.
    pub fn create(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path).ok();
        let is_special = found.as_ref().is_some_and(|found| !found.is_file());
        if is_special || path.starts_with("/dev") || path.starts_with("/proc") {
            let file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
            return Ok(Self { file: BufWriter::new(file), made: None });
        }
        let target = if found.is_some() { fs::canonicalize(path)? } else { path.to_owned() };
        let output = Self::in_place_of(target)?;
        if let Some(found) = found {
            output.file.get_ref().set_permissions(found.permissions())?;
        }
        Ok(output)
    }

    /// Begins the file `target`, in place of what stands there: a link is replaced.
    pub(super) fn in_place_of(target: PathBuf) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let made = target.with_file_name(format!(".{name}.new-{}-{number}", std::process::id()));
        let file = BufWriter::new(File::create_new(&made)?);
        Ok(Self { file, made: Some((made, target)) })
    }

    /// The file is complete: brings it down to the disk and gives it its name.
    ///
    /// # Errors
    /// The system's; what was there before stays then.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.flush()?;
        let Some((made, target)) = &self.made else { return Ok(()) };
        self.file.get_ref().sync_all()?;
        fs::rename(made, target)?;
        let synced = sync_parent(target);
        self.made = None;
        synced
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some((made, _)) = &self.made {
            // What can't be removed is hidden; the first error is the one to be told.
            let _left = fs::remove_file(made);
        }
    }
}

/// Writes `bytes` as the file `path`, as [`OutputFile`] does.
///
/// # Errors
/// The system's; what was there before stays then.
pub fn write_output(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OutputFile::create(path)?;
    file.write_all(bytes)?;
    file.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn what_is_not_finished_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page");
        write_output(&page, b"old").unwrap();
        let mut file = OutputFile::create(&page).unwrap();
        file.write_all(&[b'x'; 100_000]).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        drop(file);
        assert_eq!(fs::read(&page).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_is_followed_and_permissions_stay() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("page"), "old").unwrap();
        fs::set_permissions(at("page"), fs::Permissions::from_mode(0o600)).unwrap();
        symlink("page", at("link")).unwrap();
        write_output(&at("link"), b"new").unwrap();
        assert_eq!(fs::read(at("page")).unwrap(), b"new");
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        assert_eq!(fs::metadata(at("page")).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_device_is_written_and_stays_one() {
        write_output(Path::new("/dev/null"), b"x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert!(write_output(Path::new("/dev/full"), b"x").is_err());
    }
}
