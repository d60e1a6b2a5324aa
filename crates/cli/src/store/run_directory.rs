//! One run's record as files.
//!
//! Never: a table without rows (no file is its sign), or a run under its final name before it is complete.

use super::tables::{Tables, table_name};
use super::{MANIFEST, OWNER, Owner};
use crate::failure::Failure;
use pipefill_analysis::intervals::{self, StreamIntervals};
use pipefill_analysis::metrics::{Condenser, RunMetrics};
use pipefill_analysis::series::{Drawing, RunSeries};
use pipefill_core::record::{
    AnyRow, CpuSample, DeliverySample, Manifest, PathSample, PingSample, RecordError, Retransmit, Row, Rows,
    Sink, TableReader, TcpSample, UdpSample, decode_manifest, encode_manifest,
};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
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
    pub(crate) fn create(runs: &Path, name: &str, owner: &Owner) -> Result<Self, Failure> {
        let path = runs.join(format!(".{name}{}", suffix(owner)));
        let partial = Self { tables: Tables::in_directory(&path), path, target: runs.join(name) };
        fs::create_dir(&partial.path).map_err(Failure::file("making", &partial.path))?;
        let path = partial.path.join(OWNER);
        let text = serde_json::json!(owner).to_string() + "\n";
        fs::write(&path, text).map_err(Failure::file("writing", &path))?;
        Ok(partial)
    }

    /// Ends the tables, writes the manifest and gives the directory its final name, in place of an earlier record of the
    /// same run.
    ///
    /// # Errors
    /// [`Failure`]; the partial directory is removed.
    pub(crate) fn complete(mut self, manifest: &Manifest) -> Result<(), Failure> {
        self.tables.finish().map_err(in_directory(&self.path))?;
        self.write(manifest)?;
        if self.target.exists() {
            fs::remove_dir_all(&self.target).map_err(Failure::file("removing", &self.target))?;
        }
        fs::rename(&self.path, &self.target).map_err(Failure::file("making", &self.target))?;
        let owner = self.target.join(OWNER);
        fs::remove_file(&owner).map_err(Failure::file("removing", &owner))
    }

    fn write(&self, manifest: &Manifest) -> Result<(), Failure> {
        let path = self.path.join(MANIFEST);
        let file = File::create(&path).map_err(Failure::file("making", &path))?;
        let mut writer = BufWriter::new(file);
        encode_manifest(manifest, &mut writer).map_err(in_directory(&self.path))?;
        writer.flush().map_err(Failure::file("writing", &path))
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
/// [`Failure`] for one that can't be read.
pub(crate) fn read_manifest(directory: &Path) -> Result<Option<Manifest>, Failure> {
    let path = directory.join(MANIFEST);
    match File::open(&path) {
        Ok(file) => decode_manifest(file).map(Some).map_err(in_directory(directory)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::file("reading", &path)(error)),
    }
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
/// [`Failure`] for a file that can't be read.
pub(crate) fn condense(directory: &Path, buckets: usize) -> Result<Option<Condensed>, Failure> {
    let Some(manifest) = read_manifest(directory)? else {
        return Ok(None);
    };
    let mut condenser = Condenser::new(&manifest);
    let mut drawing = Drawing::of(&manifest, buckets);
    for row in rows(directory)? {
        let row = row.map_err(in_directory(directory))?;
        condenser.take(&row);
        drawing.take(&row);
    }
    for row in table::<Retransmit>(directory)?.into_iter().flatten() {
        let row = row.map_err(in_directory(directory))?;
        condenser.count(&row);
        drawing.count(&row);
    }
    for row in table::<PingSample>(directory)?.into_iter().flatten() {
        let row = row.map_err(in_directory(directory))?;
        condenser.answer(&row);
        drawing.answer(&row);
    }
    let (metrics, series) = (condenser.finish(), drawing.finish());
    Ok(Some(Condensed { manifest, metrics, series }))
}

/// Reads a run's rows once and cuts them into intervals of `width_us`; `None` where the directory has no manifest.
///
/// # Errors
/// [`Failure`] for a file that can't be read.
pub(crate) fn cut(
    directory: &Path,
    width_us: u64,
) -> Result<Option<(Manifest, Vec<StreamIntervals>)>, Failure> {
    let Some(manifest) = read_manifest(directory)? else {
        return Ok(None);
    };
    let mut following = intervals::Following::of(&manifest, width_us);
    for row in rows(directory)? {
        following.take(&row.map_err(in_directory(directory))?);
    }
    Ok(Some((manifest, following.finish())))
}

/// The samples of all tables, in order of time.
fn rows(directory: &Path) -> Result<Rows<'static>, Failure> {
    let mut rows = Rows::default();
    add_table::<TcpSample>(&mut rows, directory)?;
    add_table::<DeliverySample>(&mut rows, directory)?;
    add_table::<UdpSample>(&mut rows, directory)?;
    add_table::<PathSample>(&mut rows, directory)?;
    add_table::<CpuSample>(&mut rows, directory)?;
    Ok(rows)
}

fn add_table<R: Row + 'static>(rows: &mut Rows<'static>, directory: &Path) -> Result<(), Failure> {
    match table::<R>(directory)? {
        Some(table) => rows.add(table).map_err(in_directory(directory)),
        None => Ok(()),
    }
}

/// One table; `None` where nothing of its kind was measured.
fn table<R: Row>(directory: &Path) -> Result<Option<TableReader<R, File>>, Failure> {
    let path = directory.join(table_name::<R>());
    match File::open(&path) {
        Ok(file) => TableReader::new(file).map(Some).map_err(in_directory(directory)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::file("reading", &path)(error)),
    }
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
        let partial = Partial::create(folder.path(), "a", &Owner::current().unwrap()).unwrap();
        synthetic::write(partial, &record);
        assert_eq!(names(folder.path()), ["a"]);
        let run = folder.path().join("a");
        assert_eq!(names(&run), ["delivery.jsonl.zst", "manifest.json", "tcp.jsonl.zst"]);
        let read: Vec<AnyRow> = rows(&run).unwrap().map(Result::unwrap).collect();
        assert_eq!(read, record.rows());
        let metrics = RunMetrics::of(&record);
        let condensed = condense(&run, 600).unwrap().unwrap();
        assert_eq!((condensed.manifest, condensed.metrics), (record.manifest, metrics));
        assert!(!condensed.series.curves.is_empty());
    }

    #[test]
    fn a_dropped_run_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut partial = Partial::create(folder.path(), "a", &Owner::current().unwrap()).unwrap();
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
            synthetic::write(Partial::create(folder.path(), "a", &owner).unwrap(), &record);
        }
        let manifest = read_manifest(&folder.path().join("a")).unwrap().unwrap();
        assert_eq!(manifest.wall_ms, Some(2));
    }

    #[test]
    fn no_manifest_is_no_record() {
        let folder = tempfile::tempdir().unwrap();
        assert!(condense(folder.path(), 600).unwrap().is_none());
        fs::write(folder.path().join(MANIFEST), "{").unwrap();
        assert!(condense(folder.path(), 600).is_err());
    }
}
