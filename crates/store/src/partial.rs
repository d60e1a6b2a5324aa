//! A run in the making, as files.
//!
//! Never: a table without rows (no file is its sign), or a run under its final name before it is complete.

use crate::artifacts::{self, Artifacts};
use crate::damage::Damage;
use crate::files::{self, below};
use crate::tables::{Tables, table_file};
use crate::{MANIFEST, OWNER, Owner, RecordError, StoreError, checksum, encode_manifest, read_manifest};
use pipefill_core::file_name::FileName;
use pipefill_core::record::{AnyRow, Manifest, Sink, SinkError};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A run in the making: `runs/.NAME.partial-PID-START/`. Removed when dropped, unless it was completed.
#[derive(Debug)]
pub struct Partial {
    path: PathBuf,
    target: PathBuf,
    tables: Tables,
    artifacts: Artifacts,
}

impl Partial {
    /// Makes the directory of the run called `name` below `runs`, with the name of its owner inside.
    ///
    /// # Errors
    /// [`StoreError::File`].
    pub fn create(runs: &Path, name: &FileName, owner: &Owner) -> Result<Self, StoreError> {
        let path = runs.join(format!(".{name}{}", suffix(owner)));
        let tables = Tables::in_directory(&path);
        let partial = Self { tables, artifacts: Artifacts::default(), path, target: below(runs, name) };
        fs::create_dir(&partial.path).map_err(StoreError::file("making", &partial.path))?;
        let path = partial.path.join(OWNER);
        let text = serde_json::json!(owner).to_string() + "\n";
        files::create(&path, text.as_bytes()).map_err(StoreError::file("writing", &path))?;
        Ok(partial)
    }

    /// Ends the tables and artifacts, writes the manifest with what they are, and gives the directory its final name, in place of an earlier
    /// record of the same run. All of it is on the disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`]; the partial directory is removed.
    pub fn complete(mut self, manifest: &Manifest) -> Result<(), StoreError> {
        let tables = self.tables.finish().map_err(in_directory(&self.path))?;
        let artifacts = self.artifacts.finish(&self.path);
        let artifacts = artifacts.map_err(StoreError::file("writing", &self.path.join(artifacts::FOLDER)))?;
        self.write(&Manifest { tables: Some(tables), artifacts, ..manifest.clone() })?;
        self.appear()
    }

    /// Gives the directory, which is complete, its final name.
    fn appear(self) -> Result<(), StoreError> {
        files::sync_directory(&self.path).map_err(StoreError::file("writing", &self.path))?;
        self.take_its_place().map_err(StoreError::file("making", &self.target))?;
        let owner = self.target.join(OWNER);
        fs::remove_file(&owner).map_err(StoreError::file("removing", &owner))?;
        let runs = self.target.parent().unwrap_or(&self.target);
        files::sync_directory(runs).map_err(StoreError::file("writing", runs))
    }

    /// Takes over the whole record in `source`, and gives the directory its final name as [`Partial::complete`] does.
    ///
    /// # Errors
    /// [`StoreError`]; the partial directory is removed.
    pub(super) fn copy(self, source: &Path) -> Result<(), StoreError> {
        let manifest = read_manifest(source)?.ok_or_else(|| Damage::NoManifest.of(source))?;
        let tables = manifest.tables.iter().flatten().map(|table| PathBuf::from(table_file(&table.table)));
        let artifacts =
            manifest.artifacts.iter().map(|artifact| artifacts::path(Path::new(""), &artifact.name));
        if !manifest.artifacts.is_empty() {
            let folder = self.path.join(artifacts::FOLDER);
            fs::create_dir(&folder).map_err(StoreError::file("making", &folder))?;
        }
        for name in tables.chain(artifacts).chain([PathBuf::from(MANIFEST)]) {
            let to = self.path.join(&name);
            files::copy(&source.join(&name), &to).map_err(StoreError::file("writing", &to))?;
        }
        self.appear()
    }

    fn write(&self, manifest: &Manifest) -> Result<(), StoreError> {
        let path = self.path.join(MANIFEST);
        let mut text = Vec::new();
        encode_manifest(manifest, &mut text).map_err(in_directory(&self.path))?;
        let text = checksum::with_checksum(&String::from_utf8_lossy(&text));
        files::create(&path, text.as_bytes()).map_err(StoreError::file("writing", &path))
    }

    /// One step where the file system can exchange two names, so that a reader finds the old record or the new one. What was there
    /// has the partial name then, and goes with it.
    fn take_its_place(&self) -> io::Result<()> {
        if !files::is_directory(&self.target)? {
            return fs::rename(&self.path, &self.target);
        }
        match renameat_with(CWD, &self.path, CWD, &self.target, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                fs::remove_dir_all(&self.target)?;
                fs::rename(&self.path, &self.target)
            }
            other => other.map_err(io::Error::from),
        }
    }
}

impl Sink for Partial {
    fn push(&mut self, row: AnyRow) -> Result<(), SinkError> {
        self.tables.push(row).map_err(SinkError::new)
    }

    fn artifact(&mut self, name: &FileName) -> Result<Box<dyn Write + Send>, SinkError> {
        let path = artifacts::path(&self.path, name);
        let file = self.artifacts.create(&self.path, name).map_err(StoreError::file("making", &path));
        Ok(Box::new(file.map_err(SinkError::new)?))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Gone already where the run is complete; what can't be removed, the next sweep tries again.
        let _gone_or_left_to_the_sweep = fs::remove_dir_all(&self.path);
    }
}

/// What the names of `owner`'s partial directories end with. The number alone is soon another's: each container counts from 1.
pub(super) fn suffix(owner: &Owner) -> String {
    format!(".partial-{}-{}", owner.pid, owner.start_time)
}

/// For `map_err`: what goes wrong with the record in `directory`.
fn in_directory(directory: &Path) -> impl FnOnce(RecordError) -> StoreError {
    let directory = directory.to_owned();
    move |source| StoreError::Record { directory, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RecordReader, RecordState, read_manifest, state, tiny};
    use pipefill_core::record::{PacketSample, RunRecord};
    use std::io::Read;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn samples_of_packets_are_a_table_of_a_record_like_any_other() {
        let folder = tempfile::tempdir().unwrap();
        let sample = |t_us| PacketSample { t_us, acked_bytes: 10 * t_us, ..PacketSample::default() };
        let record = RunRecord { packets: [0, 10_000, 20_000].map(sample).to_vec(), ..tiny::record() };
        let partial =
            Partial::create(folder.path(), &FileName::cleaned("a"), &Owner::current().unwrap()).unwrap();
        tiny::write(partial, &record);
        let reader = RecordReader::open(&folder.path().join("a")).unwrap().unwrap();
        let read: Vec<AnyRow> = reader.rows().unwrap().map(Result::unwrap).collect();
        assert_eq!(read, record.rows());
        assert_eq!(read.iter().filter(|row| matches!(row, AnyRow::Packets(_))).count(), 3);
    }

    #[test]
    fn a_record_comes_back_and_empty_tables_leave_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let record = tiny::record();
        let partial =
            Partial::create(folder.path(), &FileName::cleaned("a"), &Owner::current().unwrap()).unwrap();
        tiny::write(partial, &record);
        assert_eq!(names(folder.path()), ["a"]);
        let run = folder.path().join("a");
        assert_eq!(names(&run), ["delivery.jsonl.zst", "manifest.json", "tcp.jsonl.zst"]);
        let manifest = read_manifest(&run).unwrap().unwrap();
        let reader = RecordReader::open(&run).unwrap().unwrap();
        let read: Vec<AnyRow> = reader.rows().unwrap().map(Result::unwrap).collect();
        assert_eq!(read, record.rows());
        let listed: Vec<&str> =
            manifest.tables.as_deref().unwrap().iter().map(|table| table.table.as_str()).collect();
        assert_eq!(listed, ["tcp", "delivery"]);
        assert_eq!(Manifest { tables: None, ..manifest }, record.manifest);
    }

    #[test]
    fn an_artifact_belongs_to_the_record_and_its_damage_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let name = FileName::cleaned("sender.pcapng");
        let mut partial =
            Partial::create(folder.path(), &FileName::cleaned("a"), &Owner::current().unwrap()).unwrap();
        let mut artifact = partial.artifact(&name).unwrap();
        artifact.write_all(b"packets").unwrap();
        assert!(partial.artifact(&name).is_err(), "there is one already");
        let record = tiny::record();
        let id = record.manifest.run.id.clone();
        tiny::write(partial, &record);
        let run = folder.path().join("a");
        let mut read = String::new();
        let reader = RecordReader::open(&run).unwrap().unwrap();
        reader.artifact(&name).unwrap().unwrap().read_to_string(&mut read).unwrap();
        assert_eq!(read, "packets");
        assert!(reader.artifact(&FileName::cleaned("other")).unwrap().is_none());
        let told = |state: RecordState| match state {
            RecordState::Damaged(damage) => damage.to_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(told(state(&run, &id).unwrap()), "Valid");
        fs::write(run.join("artifacts/sender.pcapng"), "packetS").unwrap();
        let changed = told(state(&run, &id).unwrap());
        assert!(changed.starts_with("artifacts/sender.pcapng has changed since it was written"), "{changed}");
        fs::remove_file(run.join("artifacts/sender.pcapng")).unwrap();
        let missing = told(state(&run, &id).unwrap());
        assert_eq!(missing, "artifacts/sender.pcapng is missing, and manifest.json lists it with 7 bytes");
    }

    #[test]
    fn a_dropped_run_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut partial =
            Partial::create(folder.path(), &FileName::cleaned("a"), &Owner::current().unwrap()).unwrap();
        tiny::replay(&tiny::record(), &mut partial);
        assert_eq!(names(folder.path()).len(), 1);
        drop(partial);
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[test]
    fn a_new_record_takes_the_place_of_an_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let owner = Owner::current().unwrap();
        let mut record = tiny::record();
        for wall_ms in [1, 2] {
            record.manifest.wall_ms = Some(wall_ms);
            tiny::write(Partial::create(folder.path(), &FileName::cleaned("a"), &owner).unwrap(), &record);
        }
        let manifest = read_manifest(&folder.path().join("a")).unwrap().unwrap();
        assert_eq!(manifest.wall_ms, Some(2));
    }

    #[test]
    fn no_manifest_is_no_record() {
        let folder = tempfile::tempdir().unwrap();
        assert!(RecordReader::open(folder.path()).unwrap().is_none());
        fs::write(folder.path().join(MANIFEST), "{").unwrap();
        assert!(RecordReader::open(folder.path()).is_err());
    }
}
