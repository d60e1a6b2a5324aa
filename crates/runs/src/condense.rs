//! A run's rows, read once from its record, as what a report shows: figures, curves, intervals.
//!
//! Never: all rows of a run in memory.

use pipefill_analysis::findings::intervals::{Following, StreamIntervals};
use pipefill_analysis::findings::metrics::{Condenser, RunMetrics};
use pipefill_analysis::findings::series::{Drawing, RunSeries};
use pipefill_analysis::ground::thresholds::STANDARD;
use pipefill_analysis::infer;
use pipefill_analysis::infer::View;
use pipefill_core::hosts;
use pipefill_core::record::{
    AnyRow, AqmSample, DeliverySample, Manifest, PingSample, Retransmit, Row, TableSummary,
};
use pipefill_store::{RecordReader, StoreError, undisturbed};
use std::path::Path;

/// A run that was read once: its figures, and what a page draws of it.
#[derive(Debug)]
pub struct Condensed {
    /// Everything that is no time series.
    pub manifest: Manifest,
    /// The figures.
    pub metrics: RunMetrics,
    /// The curves, where they were asked for.
    pub series: Option<RunSeries>,
}

/// Reads and condenses the rows of a run, in one pass. With `buckets` it also draws curves of that many points. `None` for a directory without a manifest.
///
/// # Errors
/// [`StoreError::Damaged`] for a record that is not what was written, [`StoreError`] for a file that can't be read.
pub fn condense(
    directory: &Path,
    buckets: Option<usize>,
    view: Option<View>,
) -> Result<Option<Condensed>, StoreError> {
    undisturbed(directory, || {
        let Some(record) = RecordReader::open(directory)? else {
            return Ok(None);
        };
        let manifest = match is_observed(&record) {
            _ if view.is_some() || is_of_sockets(&record) => {
                return condense_observed(&record, buckets, view).map(Some);
            }
            true => infer::inferred(record.manifest(), samples(&record, None)?, &STANDARD)?,
            false => record.manifest().clone(),
        };
        let mut condenser = Condenser::new(&manifest);
        let mut drawing = buckets.map(|buckets| Drawing::of(&manifest, buckets));
        for row in record.rows()? {
            let row = row?;
            condenser.push(&row);
            if let Some(drawing) = &mut drawing {
                drawing.push(&row);
            }
        }
        for row in record.table::<Retransmit>()? {
            let row = row?;
            condenser.count(&row);
            if let Some(drawing) = &mut drawing {
                drawing.count(&row);
            }
        }
        for row in record.table::<PingSample>()? {
            let row = row?;
            condenser.answer(&row);
            if let Some(drawing) = &mut drawing {
                drawing.answer(&row);
            }
        }
        let (metrics, series) = (condenser.finish(), drawing.map(Drawing::finish));
        Ok(Some(Condensed { manifest, metrics, series }))
    })
}

/// Reads a run's rows twice: what its sockets tell of the path, and then the figures with that. With a `view` nothing else of a planned run
/// is looked at.
fn condense_observed(
    record: &RecordReader,
    buckets: Option<usize>,
    view: Option<View>,
) -> Result<Condensed, StoreError> {
    let manifest = match view {
        Some(view) => infer::blindfolded(record.manifest(), view),
        None => record.manifest().clone(),
    };
    let manifest = infer::inferred(&manifest, samples(record, view)?, &STANDARD)?;
    let mut condenser = Condenser::new(&manifest);
    let mut drawing = buckets.map(|buckets| Drawing::of(&manifest, buckets));
    for sample in samples(record, view)? {
        for row in infer::rows(sample?) {
            condenser.push(&row);
            if let Some(drawing) = &mut drawing {
                drawing.push(&row);
            }
        }
    }
    // Only drawn: the judge of a connection does not ask for them.
    let queues = view.is_none().then(|| record.table::<AqmSample>()).transpose()?;
    for row in queues.into_iter().flatten() {
        let row = AnyRow::Aqm(row?);
        if let Some(drawing) = &mut drawing {
            drawing.push(&row);
        }
    }
    // A blindfolded judge has no BPF.
    let watched = view.is_none().then(|| record.table::<Retransmit>()).transpose()?;
    for row in watched.into_iter().flatten() {
        let row = row?;
        condenser.count(&row);
        if let Some(drawing) = &mut drawing {
            drawing.count(&row);
        }
    }
    let (metrics, series) = (condenser.finish(), drawing.map(Drawing::finish));
    Ok(Condensed { manifest, metrics, series })
}

/// A run's manifest and all its rows, in memory: to be judged many times; with a `view` what the sockets of one end show. `None` where the
/// directory has no manifest.
///
/// # Errors
/// As [`condense`].
pub fn rows(directory: &Path, view: Option<View>) -> Result<Option<(Manifest, Vec<AnyRow>)>, StoreError> {
    undisturbed(directory, || {
        let Some(record) = RecordReader::open(directory)? else {
            return Ok(None);
        };
        let Some(view) = view else {
            return Ok(Some((record.manifest().clone(), record.rows()?.collect::<Result<_, _>>()?)));
        };
        let mut rows = Vec::new();
        for sample in samples(&record, Some(view))? {
            rows.extend(infer::rows(sample?));
        }
        Ok(Some((infer::blindfolded(record.manifest(), view), rows)))
    })
}

fn is_observed(record: &RecordReader) -> bool {
    record.manifest().subject.observed().is_some()
}

/// Whether it has nothing but samples of sockets: no application of ours counted or pinged.
fn is_of_sockets(record: &RecordReader) -> bool {
    let manifest = record.manifest();
    let is_counted = |table: &TableSummary| table.table == DeliverySample::TABLE;
    is_observed(record)
        && manifest.backend != hosts::BACKEND
        && !manifest.tables.iter().flatten().any(is_counted)
}

/// What the sockets, the packets and the processes of a record show; with a `view` the sockets of that end.
fn samples(
    record: &RecordReader,
    view: Option<View>,
) -> Result<impl Iterator<Item = Result<AnyRow, StoreError>>, StoreError> {
    let is_seen = move |row: &AnyRow| match row {
        AnyRow::Tcp(sample) => view.is_none_or(|view| view.sees(sample)),
        AnyRow::Packets(_) | AnyRow::Cpu(_) => view.is_none(),
        _ => false,
    };
    Ok(record.rows()?.filter(move |row| row.as_ref().map_or(true, is_seen)))
}

/// How the disciplines of a run's queues stood, in order of time; nothing where all are drop-tail, or the directory has no manifest.
///
/// # Errors
/// As [`condense`].
pub fn disciplines(directory: &Path) -> Result<Vec<AqmSample>, StoreError> {
    undisturbed(directory, || match RecordReader::open(directory)? {
        Some(record) => record.table::<AqmSample>()?.collect(),
        None => Ok(Vec::new()),
    })
}

/// Reads a run's rows once and cuts them into intervals of `width_us`; `None` where the directory has no manifest.
///
/// # Errors
/// As [`condense`].
pub fn cut(directory: &Path, width_us: u64) -> Result<Option<(Manifest, Vec<StreamIntervals>)>, StoreError> {
    undisturbed(directory, || {
        let Some(record) = RecordReader::open(directory)? else {
            return Ok(None);
        };
        let mut following = Following::of(record.manifest(), width_us);
        if is_of_sockets(&record) {
            for sample in samples(&record, None)? {
                infer::rows(sample?).for_each(|row| following.push(&row));
            }
        } else {
            for row in record.rows()? {
                following.push(&row?);
            }
        }
        Ok(Some((record.manifest().clone(), following.finish())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connections::{KeptConnection, Recorded, write_connections};
    use crate::synthetic;
    use pipefill_analysis::findings::connections::{ConnectionCpu, ProcessCpuRows};
    use pipefill_core::file_name::FileName;
    use pipefill_core::limit::{Cause, LimitedBy};
    use pipefill_core::record::{CpuQuota, CpuSample, Observed, StreamEnd, TcpSample, ThreadRole};
    use pipefill_core::tcp_info::TcpInfo;
    use pipefill_store::{Owner, Partial};
    use std::fs;
    use std::time::Duration;

    #[test]
    fn what_is_read_is_what_the_rows_in_memory_give() {
        let folder = tempfile::tempdir().unwrap();
        let record = synthetic::record();
        let owner = Owner::current().unwrap();
        synthetic::write(Partial::create(folder.path(), &FileName::cleaned("a"), &owner).unwrap(), &record);
        let condensed = condense(&folder.path().join("a"), Some(600), None).unwrap().unwrap();
        assert_eq!(condensed.metrics, RunMetrics::of(&record));
        assert_eq!(Manifest { tables: None, ..condensed.manifest }, record.manifest);
        assert!(!condensed.series.unwrap().curves.is_empty());
        let without_curves = condense(&folder.path().join("a"), None, None).unwrap().unwrap();
        assert_eq!((without_curves.metrics, without_curves.series), (condensed.metrics, None));
    }

    /// Four seconds of a sender whose cgroup may not run most of the time, and which has nothing to send in every second sample.
    #[test]
    fn a_kept_connection_is_judged_with_what_its_process_used() {
        let samples = (0..400).map(|at| TcpSample {
            t_us: at * 10_000,
            stream: 0,
            end: StreamEnd::Sender,
            info: TcpInfo {
                mss_bytes: 1_448,
                min_rtt_us: Some(20_000),
                srtt_us: Some(20_000),
                bytes_acked: Some(at * 10_000),
                notsent_bytes: Some((at % 2) as u32),
                unacked_bytes: 10_000,
                cwnd_bytes: Some(400_000),
                ..TcpInfo::default()
            },
            wmem_queued_bytes: Some(10_000),
            sndbuf_bytes: Some(400_000),
            rmem_alloc_bytes: None,
            rcvbuf_bytes: None,
            raw: None,
        });
        let used = (0..40).map(|tenth| CpuSample {
            throttled_periods: Some(tenth),
            throttled_us: Some(tenth * 90_000),
            ..CpuSample::of_thread(tenth * 100_000, ThreadRole::Telemetry, tenth * 2_000, None)
        });
        let quota = CpuQuota {
            cgroup: "/box".to_owned(),
            file: CpuQuota::FILE.to_owned(),
            quota_us: 2_000,
            period_us: 100_000,
        };
        let local = ProcessCpuRows { quota: Some(quota.clone()), samples: used.collect() };
        let kept = KeptConnection {
            observed: Observed { local_quota: Some(quota), ..Observed::default() },
            congestion_control: "cubic".to_owned(),
            offered: None,
            every: Duration::from_millis(10),
            samples: samples.collect(),
            exact: None,
            cpu: ConnectionCpu { local, ..ConnectionCpu::default() },
            sender_samples: Vec::new(),
            receiver_samples: Vec::new(),
        };
        let folder = tempfile::tempdir().unwrap();
        let (all, names) = (vec![vec![Recorded::from(kept)]], ["a".to_owned()]);
        let written =
            write_connections(&all, &[Vec::new()], &names, "kept", &folder.path().join("kept")).unwrap();
        let run = fs::read_dir(written.experiment.runs()).unwrap().next().unwrap().unwrap().path();
        let metrics = condense(&run, None, None).unwrap().unwrap().metrics;
        let diagnosis = metrics.flows[0].diagnosis.as_ref().unwrap();
        assert_eq!((diagnosis.limited_by, diagnosis.cause), (LimitedBy::Cpu, Some(Cause::Quota)));
        let quota = diagnosis.figures.quota.unwrap();
        assert!(quota.periods_share > 0.99 && (quota.held_share - 0.9).abs() < 0.01, "{quota:?}");
    }

    #[test]
    fn no_manifest_is_no_record() {
        let folder = tempfile::tempdir().unwrap();
        assert!(condense(folder.path(), None, None).unwrap().is_none());
        fs::write(folder.path().join("manifest.json"), "{").unwrap();
        assert!(condense(folder.path(), None, None).is_err());
    }
}
