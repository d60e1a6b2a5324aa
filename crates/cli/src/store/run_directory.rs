//! One run's record as files.
//!
//! Never: a table without rows (no file is its sign), or a run under its final name before it is complete.

use super::checksum::{self, Checksum, Hashing};
use super::damage::{Damage, unreadable};
use super::files::{self, below};
use super::tables::{Tables, table_name};
use super::{MANIFEST, OWNER, Owner};
use crate::failure::Failure;
use pipefill_analysis::intervals::{self, StreamIntervals};
use pipefill_analysis::metrics::{Condenser, RunMetrics};
use pipefill_analysis::observed::{self, Inference, View};
use pipefill_analysis::series::{Drawing, RunSeries};
use pipefill_core::file_name::FileName;
use pipefill_core::record::{
    AnyRow, CpuSample, DeliverySample, Manifest, PathSample, PingSample, RecordError, Retransmit, Row, Rows,
    Sink, TableReader, TableSummary, TcpSample, UdpSample, decode_manifest, encode_manifest,
};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A run in the making: `runs/.NAME.partial-PID-START/`. Removed when dropped, unless it was completed.
#[derive(Debug)]
pub(crate) struct Partial {
    path: PathBuf,
    target: PathBuf,
    tables: Tables,
}

impl Partial {
    /// Makes the directory of the run called `name` below `runs`, with the name of its owner inside.
    ///
    /// # Errors
    /// [`Failure::File`].
    pub(crate) fn create(runs: &Path, name: &FileName, owner: &Owner) -> Result<Self, Failure> {
        let path = runs.join(format!(".{name}{}", suffix(owner)));
        let partial = Self { tables: Tables::in_directory(&path), path, target: below(runs, name) };
        fs::create_dir(&partial.path).map_err(Failure::file("making", &partial.path))?;
        let path = partial.path.join(OWNER);
        let text = serde_json::json!(owner).to_string() + "\n";
        files::create(&path, text.as_bytes()).map_err(Failure::file("writing", &path))?;
        Ok(partial)
    }

    /// Ends the tables, writes the manifest with what they are, and gives the directory its final name, in place of an earlier
    /// record of the same run. All of it is on the disk when this returns.
    ///
    /// # Errors
    /// [`Failure`]; the partial directory is removed.
    pub(crate) fn complete(mut self, manifest: &Manifest) -> Result<(), Failure> {
        let tables = self.tables.finish().map_err(in_directory(&self.path))?;
        self.write(&Manifest { tables: Some(tables), ..manifest.clone() })?;
        files::sync_directory(&self.path).map_err(Failure::file("writing", &self.path))?;
        self.take_its_place().map_err(Failure::file("making", &self.target))?;
        let owner = self.target.join(OWNER);
        fs::remove_file(&owner).map_err(Failure::file("removing", &owner))?;
        let runs = self.target.parent().unwrap_or(&self.target);
        files::sync_directory(runs).map_err(Failure::file("writing", runs))
    }

    fn write(&self, manifest: &Manifest) -> Result<(), Failure> {
        let path = self.path.join(MANIFEST);
        let mut text = Vec::new();
        encode_manifest(manifest, &mut text).map_err(in_directory(&self.path))?;
        let text = checksum::with_checksum(&String::from_utf8_lossy(&text));
        files::create(&path, text.as_bytes()).map_err(Failure::file("writing", &path))
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
    fn take(&mut self, row: AnyRow) -> Result<(), RecordError> {
        self.tables.take(row)
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

/// Reads a run's manifest; `None` where the directory has none.
///
/// # Errors
/// [`Failure::Damaged`] for one that is not what was written, [`Failure`] for one that can't be read.
pub(crate) fn read_manifest(directory: &Path) -> Result<Option<Manifest>, Failure> {
    let path = directory.join(MANIFEST);
    let text = match files::read(&path, files::DOCUMENT_MAX) {
        Err(error) if files::is_absent(&error) => return Ok(None),
        other => other.map_err(Failure::file("reading", &path))?,
    };
    if text.is_empty() {
        return Err(Damage::EmptyManifest.of(directory));
    }
    // What a newer version says is said first, and what is no manifest at all.
    let manifest = decode_manifest(&*text).map_err(unreadable(directory))?;
    match checksum::check(&text) {
        Checksum::Wrong => Err(Damage::ChangedManifest.of(directory)),
        Checksum::Right | Checksum::Absent => Ok(Some(manifest)),
    }
}

/// What stands where the record of a run belongs.
#[derive(Debug)]
pub(crate) enum State {
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
/// [`Failure`] for files that can't be read, and for a record of another version.
pub(crate) fn state(directory: &Path, id: &str) -> Result<State, Failure> {
    if !files::is_directory(directory).map_err(Failure::file("reading", directory))? {
        return Ok(State::Missing);
    }
    match whole(directory) {
        Ok(None) => Ok(State::Damaged(Damage::NoManifest)),
        Ok(Some(manifest)) if manifest.run.id != id => {
            Ok(State::Damaged(Damage::OtherRun { found: manifest.run.id, wanted: id.to_owned() }))
        }
        Ok(Some(manifest)) if manifest.invalid.is_empty() => Ok(State::Valid),
        Ok(Some(_)) => Ok(State::Invalid),
        Err(Failure::Damaged { mut runs, .. }) if runs.len() == 1 => {
            Ok(State::Damaged(runs.swap_remove(0).damage))
        }
        Err(failure) => Err(failure),
    }
}

/// The manifest of a record of which every table is there and whole. Where the manifest lists hashes, these tell.
fn whole(directory: &Path) -> Result<Option<Manifest>, Failure> {
    let Some(manifest) = read_manifest(directory)? else { return Ok(None) };
    let are_listed = manifest.tables.is_some();
    let record = Record { directory, manifest: &manifest };
    record.look_through::<TcpSample>(are_listed)?;
    record.look_through::<DeliverySample>(are_listed)?;
    record.look_through::<UdpSample>(are_listed)?;
    record.look_through::<PingSample>(are_listed)?;
    record.look_through::<PathSample>(are_listed)?;
    record.look_through::<CpuSample>(are_listed)?;
    record.look_through::<Retransmit>(are_listed)?;
    Ok(Some(manifest))
}

/// A run that was read once: its figures, and what a page draws of it.
#[derive(Debug)]
pub(crate) struct Condensed {
    /// Everything that is no time series.
    pub(crate) manifest: Manifest,
    /// The figures.
    pub(crate) metrics: RunMetrics,
    /// The curves.
    pub(crate) series: RunSeries,
}

/// Reads a run's rows once and condenses them, its curves to so many `buckets`; `None` where the directory has no manifest.
///
/// # Errors
/// [`Failure::Damaged`] for a record that is not what was written, [`Failure`] for a file that can't be read.
pub(crate) fn condense(
    directory: &Path,
    buckets: usize,
    view: Option<View>,
) -> Result<Option<Condensed>, Failure> {
    undisturbed(directory, || {
        let Some(recorded) = read_manifest(directory)? else {
            return Ok(None);
        };
        let record = Record { directory, manifest: &recorded };
        if view.is_some() || recorded.subject.observed().is_some() {
            return condense_observed(record, buckets, view).map(Some);
        }
        let manifest = recorded.clone();
        let mut condenser = Condenser::new(&manifest);
        let mut drawing = Drawing::of(&manifest, buckets);
        for row in record.rows()? {
            let row = row.map_err(unreadable(directory))?;
            condenser.take(&row);
            drawing.take(&row);
        }
        for row in record.table::<Retransmit>()?.into_iter().flatten() {
            let row = row.map_err(unreadable(directory))?;
            condenser.count(&row);
            drawing.count(&row);
        }
        for row in record.table::<PingSample>()?.into_iter().flatten() {
            let row = row.map_err(unreadable(directory))?;
            condenser.answer(&row);
            drawing.answer(&row);
        }
        let (metrics, series) = (condenser.finish(), drawing.finish());
        Ok(Some(Condensed { manifest, metrics, series }))
    })
}

/// Reads a run's rows twice: what its sockets tell of the path, and then the figures with that. With a `view` nothing else of a planned run
/// is looked at.
fn condense_observed(record: Record<'_>, buckets: usize, view: Option<View>) -> Result<Condensed, Failure> {
    let manifest = match view {
        Some(view) => observed::blindfolded(record.manifest, view),
        None => record.manifest.clone(),
    };
    let rows = || -> Result<_, Failure> {
        let seen = record.table::<TcpSample>()?.into_iter().flatten();
        let seen = seen.map(|row| row.map_err(unreadable(record.directory)).map(Row::into_any));
        Ok(seen.filter(move |row| {
            row.as_ref().is_ok_and(|row| view.is_none_or(|view| view.sees(row).is_some())) || row.is_err()
        }))
    };
    let mut inference = Inference::new(&manifest);
    for row in rows()? {
        inference.take(&row?);
    }
    let manifest = observed::with_facts(&manifest, inference.facts());
    let (mut condenser, mut drawing) = (Condenser::new(&manifest), Drawing::of(&manifest, buckets));
    for row in rows()? {
        let row = row?;
        condenser.take(&row);
        drawing.take(&row);
        if let AnyRow::Tcp(sample) = &row {
            let delivery = AnyRow::Delivery(observed::delivery(sample));
            condenser.take(&delivery);
            drawing.take(&delivery);
        }
    }
    let (metrics, series) = (condenser.finish(), drawing.finish());
    Ok(Condensed { manifest, metrics, series })
}

/// Reads a run's rows once and cuts them into intervals of `width_us`; `None` where the directory has no manifest.
///
/// # Errors
/// As [`condense`].
pub(crate) fn cut(
    directory: &Path,
    width_us: u64,
) -> Result<Option<(Manifest, Vec<StreamIntervals>)>, Failure> {
    undisturbed(directory, || {
        let Some(manifest) = read_manifest(directory)? else {
            return Ok(None);
        };
        let mut following = intervals::Following::of(&manifest, width_us);
        for row in (Record { directory, manifest: &manifest }).rows()? {
            following.take(&row.map_err(unreadable(directory))?);
        }
        Ok(Some((manifest, following.finish())))
    })
}

/// What `read` finds in `directory`. Where a running experiment has put a new record there meanwhile, that one is read.
fn undisturbed<T>(directory: &Path, read: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
    let identity = || fs::metadata(directory).map(|found| (found.dev(), found.ino())).ok();
    loop {
        let before = identity();
        let result = read();
        if result.is_ok() || identity() == before {
            return result;
        }
    }
}

/// A run's directory and what its manifest says.
#[derive(Clone, Copy)]
struct Record<'a> {
    directory: &'a Path,
    manifest: &'a Manifest,
}

impl Record<'_> {
    /// The samples of all tables, in order of time.
    fn rows(self) -> Result<Rows<'static>, Failure> {
        let mut rows = Rows::default();
        self.add_table::<TcpSample>(&mut rows)?;
        self.add_table::<DeliverySample>(&mut rows)?;
        self.add_table::<UdpSample>(&mut rows)?;
        self.add_table::<PathSample>(&mut rows)?;
        self.add_table::<CpuSample>(&mut rows)?;
        Ok(rows)
    }

    fn add_table<R: Row + 'static>(self, rows: &mut Rows<'static>) -> Result<(), Failure> {
        match self.table::<R>()? {
            Some(table) => rows.add(table).map_err(unreadable(self.directory)),
            None => Ok(()),
        }
    }

    /// Opens the table, which compares its hash; where none is known its rows are read.
    fn look_through<R: Row>(self, is_listed: bool) -> Result<(), Failure> {
        let mut rows = self.table::<R>()?.into_iter().flatten().filter(|_| !is_listed);
        rows.try_for_each(|row| row.map(drop).map_err(unreadable(self.directory)))
    }

    /// One table; `None` where nothing of its kind was measured.
    fn table<R: Row>(self) -> Result<Option<TableReader<R, File>>, Failure> {
        let path = self.directory.join(table_name::<R>());
        let listed = match &self.manifest.tables {
            Some(tables) => match tables.iter().find(|table| table.table == R::TABLE) {
                Some(listed) => Some(listed),
                None => return Ok(None),
            },
            None => None,
        };
        let missing = |why| Err(Damage::MissingTable { table: R::TABLE.to_owned(), why }.of(self.directory));
        let mut file = match files::open(&path) {
            Ok(file) => file,
            Err(error) if files::is_absent(&error) => {
                return match (listed, self.needs::<R>()) {
                    (Some(listed), _) => missing(format!("lists it with {} rows", listed.rows)),
                    (None, true) => missing("has a stream that it must have rows of".to_owned()),
                    (None, false) => Ok(None),
                };
            }
            Err(error) => return Err(Failure::file("reading", &path)(error)),
        };
        if let Some(listed) = listed
            && !is_as_listed(&mut file, listed).map_err(Failure::file("reading", &path))?
        {
            return Err(Damage::ChangedTable { table: R::TABLE.to_owned() }.of(self.directory));
        }
        let reader = TableReader::new(file).map_err(unreadable(self.directory))?;
        Ok(Some(match listed {
            Some(listed) => reader.listed(listed.rows),
            None => reader,
        }))
    }

    /// Whether a run of such streams has this table, where no manifest lists it (0.1.0).
    fn needs<R: Row>(self) -> bool {
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
fn is_as_listed(file: &mut File, listed: &TableSummary) -> io::Result<bool> {
    if file.metadata()?.len() != listed.bytes {
        return Ok(false);
    }
    let mut hashing = Hashing::new(io::sink());
    io::copy(file, &mut hashing)?;
    file.rewind()?;
    let (_, bytes, sha256) = hashing.finish();
    Ok((bytes, &sha256) == (listed.bytes, &listed.sha256))
}

fn in_directory(directory: &Path) -> impl FnOnce(RecordError) -> Failure {
    let directory = directory.to_owned();
    move |source| Failure::Record { directory, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_record_comes_back_and_empty_tables_leave_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let record = synthetic::record();
        let partial =
            Partial::create(folder.path(), &FileName::cleaned("a"), &Owner::current().unwrap()).unwrap();
        synthetic::write(partial, &record);
        assert_eq!(names(folder.path()), ["a"]);
        let run = folder.path().join("a");
        assert_eq!(names(&run), ["delivery.jsonl.zst", "manifest.json", "tcp.jsonl.zst"]);
        let manifest = read_manifest(&run).unwrap().unwrap();
        let opened = Record { directory: &run, manifest: &manifest };
        let read: Vec<AnyRow> = opened.rows().unwrap().map(Result::unwrap).collect();
        assert_eq!(read, record.rows());
        let metrics = RunMetrics::of(&record);
        let condensed = condense(&run, 600, None).unwrap().unwrap();
        let listed: Vec<&str> =
            manifest.tables.as_deref().unwrap().iter().map(|table| table.table.as_str()).collect();
        assert_eq!(listed, ["tcp", "delivery"]);
        assert_eq!(condensed.metrics, metrics);
        assert_eq!(Manifest { tables: None, ..condensed.manifest }, record.manifest);
        assert!(!condensed.series.curves.is_empty());
    }

    #[test]
    fn a_dropped_run_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut partial =
            Partial::create(folder.path(), &FileName::cleaned("a"), &Owner::current().unwrap()).unwrap();
        synthetic::replay(&synthetic::record(), &mut partial);
        assert_eq!(names(folder.path()).len(), 1);
        drop(partial);
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[test]
    fn a_new_record_takes_the_place_of_an_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let owner = Owner::current().unwrap();
        let mut record = synthetic::record();
        for wall_ms in [1, 2] {
            record.manifest.wall_ms = Some(wall_ms);
            synthetic::write(
                Partial::create(folder.path(), &FileName::cleaned("a"), &owner).unwrap(),
                &record,
            );
        }
        let manifest = read_manifest(&folder.path().join("a")).unwrap().unwrap();
        assert_eq!(manifest.wall_ms, Some(2));
    }

    #[test]
    fn no_manifest_is_no_record() {
        let folder = tempfile::tempdir().unwrap();
        assert!(condense(folder.path(), 600, None).unwrap().is_none());
        fs::write(folder.path().join(MANIFEST), "{").unwrap();
        assert!(condense(folder.path(), 600, None).is_err());
    }
}
