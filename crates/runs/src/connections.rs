//! Connections that were seen as an experiment on disk, which reports and comparisons read like any other: one cell a connection.

use crate::failure::Failure;
use pipefill_analysis::findings::connections::{
    BACKEND, Connection, ConnectionCpu, ConnectionPackets, DatagramFlow, Exact, PathDatagrams, cell,
};
use pipefill_core::cell::{CellSpec, Direction};
use pipefill_core::file_name::FileName;
use pipefill_core::plan::{Cell, Plan, Run};
use pipefill_core::problem::Problem;
use pipefill_core::record::{
    AnyRow, AqmSample, AqmSummary, Invalid, Manifest, Observed, Sink, StreamEnd, TcpSample,
};
use pipefill_core::units::Rate;
use pipefill_store::{ExperimentDirectory, Owner, Partial, Records, Request, Staged};
use std::path::Path;
use std::time::Duration;

/// What is kept in place of a scenario: nobody wrote one.
const TEXT: &str = "# Connections that were seen. There is no scenario to run again.\n";

/// A connection with its samples, its own.
#[derive(Debug, Clone)]
pub struct KeptConnection {
    /// Its ends, and what is known of it.
    pub observed: Observed,
    /// Its congestion control, empty where that is not known.
    pub congestion_control: String,
    /// What its application offers, where that is bounded.
    pub offered: Option<Rate>,
    /// From one sample to the next.
    pub every: Duration,
    /// Samples of its socket.
    pub samples: Vec<TcpSample>,
    /// Samples of the peer's socket, where it receives and was sampled too: in order of time, by the same clock.
    pub receiver_samples: Vec<TcpSample>,
    /// What BPF saw of it.
    pub exact: Option<Exact>,
    /// What the processes at its ends used of their CPUs.
    pub cpu: ConnectionCpu,
    /// Samples of the peer's socket, where it sends and has told of it: in order of time, by the same clock. With them the record shows both ends of
    /// what this host receives.
    pub sender_samples: Vec<TcpSample>,
}

impl KeptConnection {
    /// The same, to be judged.
    pub fn connection(&self) -> Connection<'_> {
        Connection {
            observed: self.observed.clone(),
            congestion_control: self.congestion_control.clone(),
            offered: self.offered,
            every: self.every,
            samples: &self.samples,
            peer_samples: &self.receiver_samples,
            packets: ConnectionPackets::default(),
            exact: self.exact.as_ref(),
            cpu: self.cpu.clone(),
        }
    }

    /// The stream that this host receives; `None` where it receives nothing.
    fn received_stream(&self) -> Option<u32> {
        let flows = self.connection().spec().flows;
        let index = flows.iter().position(|flow| flow.direction == Direction::Reverse)?;
        u32::try_from(index).ok()
    }

    /// The samples of the peer's socket as rows of the record.
    fn sender_rows(&self) -> impl Iterator<Item = TcpSample> + '_ {
        let stream = self.received_stream().filter(|_| !self.sender_samples.is_empty());
        stream.into_iter().flat_map(move |stream| {
            self.sender_samples.iter().map(move |sample| {
                let info = sample.info.since(&self.sender_samples[0].info);
                TcpSample { stream, end: StreamEnd::Sender, info, ..sample.clone() }
            })
        })
    }

    fn manifest(&self, run: &Run) -> Manifest {
        let mut manifest = self.connection().manifest(run);
        if let Some(last) = self.sender_rows().last()
            && let Some(stream) = manifest.streams.iter_mut().find(|stream| stream.stream == last.stream)
        {
            stream.tcp = Some(last.info);
        }
        manifest
    }

    /// `PEER`, or `PEER from PORT` where several go there.
    pub fn name<'a>(&self, all: impl IntoIterator<Item = &'a Self>) -> String {
        let remote = &self.observed.remote;
        let is_alone =
            all.into_iter().filter(|connection| connection.observed.remote == *remote).count() == 1;
        let port = self.observed.local.rsplit(':').next().unwrap_or_default();
        if is_alone { remote.clone() } else { format!("{remote} from {port}") }
    }
}

/// What one cell of such an experiment is of, and what the queues of its path did.
#[derive(Debug, Clone)]
pub struct Recorded {
    subject: RecordedSubject,
    disciplines: PathDisciplines,
}

/// What the disciplines of an emulated path's queues did during the time of a connection, as its end has it: forward leads to the peer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathDisciplines {
    /// All that each did, also before and after the connection.
    pub summaries: Vec<AqmSummary>,
    /// How they stood, in order of time, in the time of the connection's samples.
    pub samples: Vec<AqmSample>,
}

#[derive(Debug, Clone)]
enum RecordedSubject {
    /// A connection of TCP.
    Connection(KeptConnection),
    /// A stream of datagrams of a test.
    Datagrams(DatagramFlow),
    /// A flow of datagrams on an emulated path.
    PathDatagrams(PathDatagrams),
}

impl From<KeptConnection> for Recorded {
    fn from(connection: KeptConnection) -> Self {
        Self::of(RecordedSubject::Connection(connection))
    }
}

impl From<DatagramFlow> for Recorded {
    fn from(flow: DatagramFlow) -> Self {
        Self::of(RecordedSubject::Datagrams(flow))
    }
}

impl From<PathDatagrams> for Recorded {
    fn from(flow: PathDatagrams) -> Self {
        Self::of(RecordedSubject::PathDatagrams(flow))
    }
}

impl Recorded {
    fn of(subject: RecordedSubject) -> Self {
        Self { subject, disciplines: PathDisciplines::default() }
    }

    /// The same over a path whose queues have disciplines.
    #[must_use]
    pub fn over(self, disciplines: PathDisciplines) -> Self {
        Self { disciplines, ..self }
    }

    fn spec(&self) -> CellSpec {
        match &self.subject {
            RecordedSubject::Connection(connection) => connection.connection().spec(),
            RecordedSubject::Datagrams(datagrams) => datagrams.spec(),
            RecordedSubject::PathDatagrams(datagrams) => datagrams.spec(),
        }
    }

    fn manifest(&self, run: &Run) -> Manifest {
        let manifest = match &self.subject {
            RecordedSubject::Connection(connection) => connection.manifest(run),
            RecordedSubject::Datagrams(datagrams) => datagrams.manifest(run),
            RecordedSubject::PathDatagrams(datagrams) => datagrams.manifest(run),
        };
        Manifest { aqm: self.disciplines.summaries.clone(), ..manifest }
    }

    fn each_row<E>(&self, mut take: impl FnMut(AnyRow) -> Result<(), E>) -> Result<(), E> {
        match &self.subject {
            RecordedSubject::Connection(kept) => {
                let connection = kept.connection();
                let retransmits = connection.retransmits().map(AnyRow::Retransmit);
                let mut rows = Vec::new();
                connection.append_rows(0, &mut rows);
                rows.extend(kept.sender_rows().map(AnyRow::Tcp));
                // Each table is in order of time.
                rows.sort_by_key(AnyRow::t_us);
                rows.into_iter().chain(retransmits).try_for_each(&mut take)?;
            }
            RecordedSubject::Datagrams(datagrams) => datagrams.rows().try_for_each(&mut take)?,
            RecordedSubject::PathDatagrams(datagrams) => datagrams.rows().try_for_each(&mut take)?,
        }
        self.disciplines.samples.iter().copied().map(AnyRow::Aqm).try_for_each(take)
    }
}

/// Records of connections that were written.
#[derive(Debug)]
pub struct Written {
    /// Where they are.
    pub experiment: ExperimentDirectory,
    /// How many connections there are, each repetition counted.
    pub connections: usize,
}

/// Writes the experiment `name` into `target`, where nothing is: each of `times` has the same connections, called `names`, once more.
/// `invalid` has, for each of `times`, why it must not be believed.
///
/// # Errors
/// [`Failure`] where it can't be written.
pub fn write_connections(
    times: &[Vec<Recorded>],
    invalid: &[Vec<Invalid>],
    names: &[String],
    name: &str,
    target: &Path,
) -> Result<Written, Failure> {
    let repeat = u32::try_from(times.len()).unwrap_or(u32::MAX);
    let spec_of = |recorded: &Recorded| {
        let mut spec = recorded.spec();
        spec.run.repeat = repeat;
        spec
    };
    let first = times.first().into_iter().flatten();
    let cells =
        first.zip(names).enumerate().map(|(index, (recorded, name))| cell(index, name, spec_of(recorded)));
    let cells: Vec<Cell> = cells.collect();
    let plan = Plan {
        experiment: FileName::cleaned(name),
        title: Some("Connections that were seen".to_owned()),
        cells,
        published: Vec::new(),
        published_source: None,
        conclusions: Vec::new(),
    };
    let request = Request {
        backend: BACKEND,
        study: None,
        scenario: TEXT,
        set: &[],
        only: &[],
        quick: false,
        plan: &plan,
        part_of: None,
        records: Records::Rows,
    };
    let owner = Owner::current()?;
    let Some((experiment, _lock)) = Staged::create(target, &request, &owner)? else {
        return Err(Failure::usage(
            format!("{} is there already", target.display()),
            "choose another one with --out OTHER",
        ));
    };
    for mut run in plan.runs() {
        let recorded = &times[run.repeat as usize - 1][run.cell.index];
        run.cell.spec = spec_of(recorded);
        let mut partial = Partial::create(&experiment.runs(), &run.directory, &owner)?;
        recorded.each_row(|row| partial.push(row)).map_err(Problem::from)?;
        let invalid = invalid.get(run.repeat as usize - 1).cloned().unwrap_or_default();
        partial.complete(&Manifest { invalid, ..recorded.manifest(&run) })?;
    }
    Ok(Written { experiment, connections: times.iter().map(Vec::len).sum() })
}
