//! What the processes at both ends of a connection used of their CPUs, and what the quotas of their cgroups held back, as rows of a record.

use pipefill_core::record::{CpuQuota, CpuSample, StreamEnd, ThreadRole};

/// Of the processes at both ends.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConnectionCpu {
    /// Of this host's end.
    pub local: ProcessCpuRows,
    /// Of the peer's.
    pub remote: ProcessCpuRows,
}

/// Of one process: nothing where it was not read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProcessCpuRows {
    /// The CPU quota of its cgroup.
    pub quota: Option<CpuQuota>,
    /// What its busiest thread and its cgroup had used, in order of time. [`CpuSample::thread`] of them does not matter.
    pub samples: Vec<CpuSample>,
}

impl ConnectionCpu {
    /// The rows of flow `flow`, which this host's end sends or receives: of its sender, then of its receiver.
    pub(super) fn rows(&self, flow: u32, end: StreamEnd) -> impl Iterator<Item = CpuSample> + '_ {
        let (sender, receiver) = match end {
            StreamEnd::Sender => (&self.local, &self.remote),
            StreamEnd::Receiver => (&self.remote, &self.local),
        };
        let receives = ThreadRole::Receiver { flow, stream: None };
        sender.rows(ThreadRole::Sender { flow }).chain(receiver.rows(receives))
    }

    /// How many rows each flow has.
    pub(super) const fn len(&self) -> usize {
        self.local.samples.len() + self.remote.samples.len()
    }
}

impl ProcessCpuRows {
    fn rows(&self, thread: ThreadRole) -> impl Iterator<Item = CpuSample> + '_ {
        self.samples.iter().map(move |row| CpuSample { thread: thread.clone(), ..row.clone() })
    }
}
