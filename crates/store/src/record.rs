//! The record of a run that is complete: every row of it, and whether it is what was written.

use crate::artifacts;
use crate::checksum::{self, Checksum, Hashing};
use crate::codec::{Rows, TableRows};
use crate::damage::{Damage, unreadable};
use crate::tables::table_name;
use crate::{MANIFEST, StoreError, TableReader, decode_manifest, files};
use pipefill_core::file_name::FileName;
use pipefill_core::record::{
    AnyRow, AqmSample, CpuSample, DatagramSample, DeliverySample, Manifest, PacketSample, PathSample,
    PingSample, Retransmit, TcpSample, UdpSample,
};
use pipefill_rows::Line;
use std::fs::{self, File};
use std::io::{self, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Reads a run's manifest; `None` where the directory has none.
///
/// # Errors
/// [`StoreError::Damaged`] for one that is not what was written, [`StoreError`] for one that can't be read.
pub fn read_manifest(directory: &Path) -> Result<Option<Manifest>, StoreError> {
    let path = directory.join(MANIFEST);
    let text = match files::read(&path, files::DOCUMENT_MAX) {
        Err(error) if files::is_absent(&error) => return Ok(None),
        other => other.map_err(StoreError::file("reading", &path))?,
    };
    if text.is_empty() {
        return Err(Damage::EmptyManifest.of(directory));
    }
    // What a newer version says is said first, and what is no manifest at all.
    let manifest = decode_manifest(&*text).map_err(|error| unreadable(directory, error))?;
    match checksum::check(&text) {
        Checksum::Wrong => Err(Damage::ChangedManifest.of(directory)),
        Checksum::Right | Checksum::Absent => Ok(Some(manifest)),
    }
}

/// What stands where the record of a run belongs.
#[derive(Debug)]
pub enum RecordState {
    /// Nothing.
    Missing,
    /// Its record, and the run is valid.
    Valid,
    /// Its record, and the run is not.
    Invalid,
    /// Something else, or what is left of its record.
    Damaged(Damage),
}

/// Looks at the record of run `id` in `directory`, every byte of it.
///
/// # Errors
/// [`StoreError`] for files that can't be read, and for a record of another version.
pub fn state(directory: &Path, id: &str) -> Result<RecordState, StoreError> {
    if !files::is_directory(directory).map_err(StoreError::file("reading", directory))? {
        return Ok(RecordState::Missing);
    }
    match whole(directory) {
        Ok(None) => Ok(RecordState::Damaged(Damage::NoManifest)),
        Ok(Some(manifest)) if manifest.run.id != id => {
            Ok(RecordState::Damaged(Damage::OtherRun { found: manifest.run.id, wanted: id.to_owned() }))
        }
        Ok(Some(manifest)) if manifest.invalid.is_empty() => Ok(RecordState::Valid),
        Ok(Some(_)) => Ok(RecordState::Invalid),
        Err(StoreError::Damaged(run)) => Ok(RecordState::Damaged(run.damage)),
        Err(error) => Err(error),
    }
}

/// The manifest of a record of which every table is there and whole. Where the manifest lists hashes, these tell.
fn whole(directory: &Path) -> Result<Option<Manifest>, StoreError> {
    let Some(record) = RecordReader::open(directory)? else { return Ok(None) };
    let are_listed = record.manifest.tables.is_some();
    record.look_through::<TcpSample>(are_listed)?;
    record.look_through::<DeliverySample>(are_listed)?;
    record.look_through::<UdpSample>(are_listed)?;
    record.look_through::<PingSample>(are_listed)?;
    record.look_through::<PathSample>(are_listed)?;
    record.look_through::<CpuSample>(are_listed)?;
    record.look_through::<Retransmit>(are_listed)?;
    record.look_through::<PacketSample>(are_listed)?;
    record.look_through::<DatagramSample>(are_listed)?;
    record.look_through::<AqmSample>(are_listed)?;
    for artifact in &record.manifest.artifacts {
        record.artifact(&artifact.name)?;
    }
    Ok(Some(record.manifest))
}

/// What `read` finds in `directory`. Where a running experiment has put a new record there meanwhile, that one is read.
///
/// # Errors
/// That of `read`.
pub fn undisturbed<T, E>(directory: &Path, read: impl Fn() -> Result<T, E>) -> Result<T, E> {
    let identity = || fs::metadata(directory).map(|found| (found.dev(), found.ino())).ok();
    loop {
        let before = identity();
        let result = read();
        if result.is_ok() || identity() == before {
            return result;
        }
    }
}

/// The record of one run: what its manifest says, and its tables, which are opened as they are asked for.
#[derive(Debug)]
pub struct RecordReader {
    directory: PathBuf,
    manifest: Manifest,
}

impl RecordReader {
    /// Of the run in `directory`; `None` where it has no manifest.
    ///
    /// # Errors
    /// As [`read_manifest`].
    pub fn open(directory: &Path) -> Result<Option<Self>, StoreError> {
        let of = |manifest| Self { directory: directory.to_owned(), manifest };
        Ok(read_manifest(directory)?.map(of))
    }

    /// Everything that is no time series.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The samples of all tables, in order of time. After an error there is nothing more.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] for a table that is not what was written, here or as a row; [`StoreError`] for one that can't be read.
    pub fn rows(&self) -> Result<impl Iterator<Item = Result<AnyRow, StoreError>> + use<>, StoreError> {
        let mut rows = Rows::default();
        self.add_table::<TcpSample>(&mut rows)?;
        self.add_table::<DeliverySample>(&mut rows)?;
        self.add_table::<UdpSample>(&mut rows)?;
        self.add_table::<PacketSample>(&mut rows)?;
        self.add_table::<DatagramSample>(&mut rows)?;
        self.add_table::<AqmSample>(&mut rows)?;
        self.add_table::<PathSample>(&mut rows)?;
        self.add_table::<CpuSample>(&mut rows)?;
        let directory = self.directory.clone();
        Ok(rows.map(move |row| row.map_err(|error| unreadable(&directory, error))))
    }

    /// The rows of one table, in its order; none where nothing of its kind was measured. After an error there is nothing more.
    ///
    /// # Errors
    /// As [`RecordReader::rows`].
    pub fn table<R: Line>(&self) -> Result<impl Iterator<Item = Result<R, StoreError>> + use<R>, StoreError> {
        let (rows, directory) = (self.open_table::<R>()?, self.directory.clone());
        let all = rows.into_iter().flatten();
        Ok(all.map(move |row| row.map_err(|error| unreadable(&directory, error))))
    }

    /// A file beside the tables; `None` where the manifest lists none of this name.
    ///
    /// # Errors
    /// As [`RecordReader::rows`].
    pub fn artifact(&self, name: &FileName) -> Result<Option<File>, StoreError> {
        let Some(listed) = self.manifest.artifacts.iter().find(|artifact| artifact.name == *name) else {
            return Ok(None);
        };
        let path = artifacts::path(&self.directory, name);
        let shown = format!("{}/{name}", artifacts::FOLDER);
        let mut file = match files::open(&path) {
            Err(error) if files::is_absent(&error) => {
                let why = format!("lists it with {} bytes", listed.bytes);
                return Err(Damage::MissingFile { file: shown, why }.of(&self.directory));
            }
            other => other.map_err(StoreError::file("reading", &path))?,
        };
        let is_same = is_as_listed(&mut file, (listed.bytes, &listed.sha256));
        match is_same.map_err(StoreError::file("reading", &path))? {
            true => Ok(Some(file)),
            false => Err(Damage::ChangedFile { file: shown }.of(&self.directory)),
        }
    }

    fn add_table<R: Line>(&self, rows: &mut Rows<'static>) -> Result<(), StoreError> {
        match self.open_table::<R>()? {
            Some(table) => rows.add(table).map_err(|error| unreadable(&self.directory, error)),
            None => Ok(()),
        }
    }

    /// Opens the table, which compares its hash; where none is known its rows are read.
    fn look_through<R: Line>(&self, is_listed: bool) -> Result<(), StoreError> {
        self.table::<R>()?.filter(|_| !is_listed).try_for_each(|row| row.map(drop))
    }

    /// One table; `None` where nothing of its kind was measured.
    fn open_table<R: Line>(&self) -> Result<Option<TableRows<R, File>>, StoreError> {
        let path = self.directory.join(table_name::<R>());
        let listed = match &self.manifest.tables {
            Some(tables) => match tables.iter().find(|table| table.table == R::TABLE) {
                Some(listed) => Some(listed),
                None => return Ok(None),
            },
            None => None,
        };
        let missing = |why| Err(Damage::MissingFile { file: table_name::<R>(), why }.of(&self.directory));
        let mut file = match files::open(&path) {
            Ok(file) => file,
            Err(error) if files::is_absent(&error) => {
                return match (listed, self.needs::<R>()) {
                    (Some(listed), _) => missing(format!("lists it with {} rows", listed.rows)),
                    (None, true) => missing("has a stream that it must have rows of".to_owned()),
                    (None, false) => Ok(None),
                };
            }
            Err(error) => return Err(StoreError::file("reading", &path)(error)),
        };
        if let Some(listed) = listed
            && !is_as_listed(&mut file, (listed.bytes, &listed.sha256))
                .map_err(StoreError::file("reading", &path))?
        {
            return Err(Damage::ChangedFile { file: table_name::<R>() }.of(&self.directory));
        }
        let reader = TableReader::new(file).map_err(|error| unreadable(&self.directory, error))?;
        let listed = listed.map(|listed| listed.rows);
        let reader = match listed {
            Some(rows) => reader.listed(rows),
            None => reader,
        };
        Ok(Some(TableRows::of(reader, listed)))
    }

    /// Whether a run of such streams has this table, where no manifest lists it (0.1.0).
    fn needs<R: Line>(&self) -> bool {
        let mut streams = self.manifest.streams.iter().filter(|stream| stream.received_bytes > 0);
        match R::TABLE {
            "tcp" => streams.any(|stream| stream.tcp.is_some()),
            "udp" => streams.any(|stream| stream.udp.is_some()),
            "delivery" => streams.any(|stream| stream.tcp.is_some() || stream.udp.is_some()),
            _ => false,
        }
    }
}

/// Reads `file` from its start and leaves it there.
fn is_as_listed(file: &mut File, listed: (u64, &str)) -> io::Result<bool> {
    if file.metadata()?.len() != listed.0 {
        return Ok(false);
    }
    let mut hashing = Hashing::new(io::sink());
    io::copy(file, &mut hashing)?;
    file.rewind()?;
    let (_, bytes, sha256) = hashing.finish();
    Ok((bytes, &*sha256) == listed)
}
