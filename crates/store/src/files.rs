//! Files in and beside records, which may be somebody else's: no link is followed, nothing but a regular file is read and no more
//! of it than a bound, and what is written is complete under its name or not there.

mod output;

pub use output::{OutputFile, write_output};

use crate::StoreError;
use pipefill_core::file_name::FileName;
use rustix::fs::OFlags;
use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Longest document beside records, bytes: the plan of 10,000 cells has some 40 MB.
pub const DOCUMENT_MAX: u64 = 1 << 27;

/// The one place where a name that was read becomes a path.
pub fn below(folder: &Path, name: &FileName) -> PathBuf {
    folder.join(name.as_str())
}

/// Opens a regular file for reading.
///
/// # Errors
/// The system's; for a link, a FIFO, a device and the like one that says so.
pub fn open(path: &Path) -> io::Result<File> {
    // Looked at first, since opening a device may do something; the flags stand against an exchange in between.
    regular(fs::symlink_metadata(path)?.file_type())?;
    let file = OpenOptions::new().read(true).custom_flags(careful()).open(path)?;
    regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// Of [`OpenOptionsExt::custom_flags`]: follows no link, waits for no writer of a FIFO.
pub(super) fn careful() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed()
}

/// Refuses everything but a regular file.
pub(super) fn regular(kind: FileType) -> io::Result<()> {
    let what = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_symlink() => {
            "it is a symbolic link, and links in a directory of records are not followed"
        }
        kind if kind.is_dir() => "it is a directory, not a file",
        kind if kind.is_fifo() => "it is a FIFO, not a file",
        kind if kind.is_socket() => "it is a socket, not a file",
        _ => "it is a device, not a file",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

/// Refuses a directory of records that is a link or no directory; `Ok(false)` where there is none.
///
/// # Errors
/// As said, and the system's.
pub fn is_directory(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => Ok(true),
        Ok(found) if found.is_symlink() => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a symbolic link, and links in a directory of records are not followed",
        )),
        Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no directory")),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether there is no such file.
pub fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The bytes of a regular file of at most `max` bytes.
///
/// # Errors
/// As [`open`], and for a longer file.
pub fn read(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        let what = format!("it has more than {max} bytes, which no such file of pipefill's has");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(bytes)
}

/// As [`read`], for text.
///
/// # Errors
/// As [`read`], and for bytes that are no UTF-8.
pub fn read_text(path: &Path, max: u64) -> io::Result<String> {
    String::from_utf8(read(path, max)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Writes `bytes` as the file `path`, in place of what stands there: all of it or nothing. A link there is replaced, not followed.
///
/// # Errors
/// [`StoreError::File`]; what was there stays then.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let write = || {
        let mut file = OutputFile::in_place_of(path.to_owned())?;
        file.write_all(bytes)?;
        file.finish()
    };
    write().map_err(StoreError::file("writing", path))
}

/// Removes a directory with all that is in it. One that another process is removing, or has removed, is gone too.
///
/// # Errors
/// [`StoreError::File`].
pub(super) fn remove_directory(path: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::file("removing", path)(error))
        }
        _ => Ok(()),
    }
}

/// Whether `directory` is one (no link) in which there is nothing, or nothing but an empty file `name`.
pub(super) fn is_unwritten(directory: &Path, name: &str) -> bool {
    let is_first = |entry: fs::DirEntry| {
        entry.file_name() == name && entry.metadata().is_ok_and(|file| file.is_file() && file.len() == 0)
    };
    fs::symlink_metadata(directory).is_ok_and(|found| found.is_dir())
        && fs::read_dir(directory).is_ok_and(|mut all| all.all(|entry| entry.is_ok_and(is_first)))
}

/// Writes `bytes` into a new file, down to the disk.
///
/// # Errors
/// The system's; that there is such a file already is one.
pub fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Copies a regular file into a new one, down to the disk.
///
/// # Errors
/// As [`open`] and [`create`].
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let (mut from, mut to) = (open(from)?, File::create_new(to)?);
    io::copy(&mut from, &mut to)?;
    to.sync_all()
}

/// Brings the names in `folder` down to the disk.
///
/// # Errors
/// The system's. A file system that can't is let be.
pub fn sync_directory(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => sync_directory(folder),
        _ => sync_directory(Path::new(".")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_fifos_devices_and_endless_files_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("secret"), "secret").unwrap();
        symlink(at("secret"), at("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("fifo"), rustix::fs::Mode::RWXU).unwrap();
        let refused = |path: &Path| read_text(path, 100).unwrap_err().to_string();
        assert!(refused(&at("link")).contains("symbolic link"));
        assert!(refused(&at("fifo")).contains("FIFO"));
        assert!(refused(Path::new("/dev/zero")).contains("device"));
        assert!(refused(folder.path()).contains("directory"));
        assert_eq!(read_text(&at("none"), 100).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(read_text(&at("secret"), 6).unwrap(), "secret");
        assert!(read_text(&at("secret"), 5).unwrap_err().to_string().contains("more than 5 bytes"));
        symlink(folder.path(), at("folder")).unwrap();
        assert!(is_directory(&at("folder")).unwrap_err().to_string().contains("symbolic link"));
        assert!(is_directory(folder.path()).unwrap() && !is_directory(&at("none")).unwrap());
    }

    #[test]
    fn what_is_written_replaces_a_link_and_not_what_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("secret"), "secret").unwrap();
        symlink(at("secret"), at("page")).unwrap();
        replace(&at("page"), b"page").unwrap();
        assert_eq!(fs::read_to_string(at("secret")).unwrap(), "secret");
        assert_eq!(read_text(&at("page"), 100).unwrap(), "page");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_cannot_be_written_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page");
        fs::create_dir(&page).unwrap();
        assert!(replace(&page, b"page").is_err());
        assert!(page.is_dir());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
