//! Puts shaping up and takes it down: device, qdiscs, mark, clsact, filters, and back. Whatever moment the first ends at, the second undoes.

use super::conditions::Conditions;
use super::discipline::DISCIPLINE;
use super::flows::Selector;
use super::kernel::{self, Act, Counts, EGRESS, INGRESS, Link};
use super::mark::{Mark, device_name};
use super::reading::{ShapedDiscipline, managed};
use crate::netlink::Rtnetlink;
use netlink_packet_route::tc::TcHandle;
use pipefill_core::problem::Problem;
use std::io;

/// The names (major numbers) of the qdiscs at the device: what cuts super-packets, netem, the bottleneck; [`DISCIPLINE`] is below it.
const CUTTER: u16 = 1;
const NETEM: u16 = 2;
const BOTTLENECK: u16 = 3;

/// A part of shaping, which a kernel may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Device,
    Tbf,
    Netem,
    /// A discipline, by its kind.
    Discipline(&'static str),
    Clsact,
    Filter,
}

/// Which part could not be put up, and why.
#[derive(Debug)]
pub(super) struct Obstacle {
    part: Part,
    error: io::Error,
}

/// What went through the device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Carried {
    /// Packets that left it; segments where super-packets are cut.
    pub packets: u64,
    /// Their bytes, Ethernet headers included.
    pub bytes: u64,
    /// Packets that the random loss took.
    pub lost_packets: u64,
    /// Packets that the bottleneck's queue dropped, those of its discipline included.
    pub queue_dropped_packets: u64,
    /// What the discipline of that queue did; null where it is drop-tail.
    pub discipline: Option<ShapedDiscipline>,
}

/// What is put up, and where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan<'a> {
    pub(super) interface: &'a Link,
    pub(super) conditions: &'a Conditions,
    pub(super) selectors: &'a [Selector],
    pub(super) mark: Mark,
}

impl Plan<'_> {
    /// Puts it up. The interface's packets are as they were until the last step, the filters.
    pub(super) fn put_up(&self, netlink: &Rtnetlink) -> Result<(), Obstacle> {
        let (interface, name) = (self.interface, device_name(self.interface.index));
        let at = |part: Part| move |error: io::Error| Obstacle { part, error };
        kernel::add_ifb(netlink, &name, interface.mtu).map_err(at(Part::Device))?;
        let device = crate::netlink::index_of(&name).map_err(at(Part::Device))?;
        let mut parent = TcHandle::ROOT;
        for (part, major, options) in self.qdiscs() {
            let handle = TcHandle { major, minor: 0 };
            kernel::add_qdisc(netlink, device, (parent, handle), part.qdisc(), options).map_err(at(part))?;
            parent = TcHandle { major, minor: 1 };
        }
        kernel::set_up(netlink, device).map_err(at(Part::Device))?;
        kernel::set_alias(netlink, device, &self.mark.text()).map_err(at(Part::Device))?;
        if self.mark.made_clsact {
            kernel::add_clsact(netlink, interface.index).map_err(at(Part::Clsact))?;
        }
        for selector in self.selectors {
            let act = if selector.is_shaped { Act::Redirect(device) } else { Act::Pass };
            let (index, preference) = (interface.index, self.mark.preference);
            kernel::add_filter(netlink, index, preference, selector.keys.clone(), act)
                .map_err(at(Part::Filter))?;
        }
        Ok(())
    }

    /// From the device's root on, each the parent of the next.
    fn qdiscs(&self) -> impl Iterator<Item = (Part, u16, Vec<u8>)> {
        let Conditions { netem, bottleneck, discipline, is_cut } = self.conditions;
        let cutter = is_cut.then(|| (Part::Tbf, CUTTER, Conditions::cutter(self.interface.mtu)));
        let netem = netem.clone().map(|options| (Part::Netem, NETEM, options));
        let bottleneck = bottleneck.clone().map(|options| (Part::Tbf, BOTTLENECK, options));
        let discipline =
            discipline.clone().map(|qdisc| (Part::Discipline(qdisc.kind), DISCIPLINE, qdisc.options));
        cutter.into_iter().chain(netem).chain(bottleneck).chain(discipline)
    }
}

/// Removes what shapes the interface `index`, also where a part is missing; true where there was something.
pub(super) fn take_down(netlink: &Rtnetlink, index: u32) -> io::Result<bool> {
    let name = device_name(index);
    let Some(device) = kernel::links(netlink)?.into_iter().find(|link| link.name == name) else {
        return Ok(false);
    };
    if let Some(mark) = device.alias.as_deref().and_then(Mark::read) {
        gone(kernel::remove_filters(netlink, index, mark.preference))?;
        if mark.made_clsact && is_unused(netlink, index)? {
            gone(kernel::remove_clsact(netlink, index))?;
        }
    }
    gone(kernel::remove_link(netlink, device.index))?;
    Ok(true)
}

/// What the device of the interface `index` has carried.
pub(super) fn carried(netlink: &Rtnetlink, index: u32) -> io::Result<Carried> {
    let device = crate::netlink::index_of(&device_name(index))?;
    let qdiscs = kernel::qdiscs(netlink, device)?;
    let of = |wanted: &dyn Fn(&kernel::Qdisc) -> bool| {
        qdiscs.iter().find(|qdisc| wanted(qdisc)).map_or(Counts::default(), |qdisc| qdisc.counts)
    };
    let root = of(&|qdisc| qdisc.parent == TcHandle::ROOT);
    let [netem, bottleneck] = [NETEM, BOTTLENECK].map(|major| of(&|qdisc| qdisc.handle.major == major));
    Ok(Carried {
        packets: root.packets,
        bytes: root.bytes,
        // netem counts what its child refuses, too (`netem_dequeue()`).
        lost_packets: netem.drops.saturating_sub(bottleneck.drops),
        queue_dropped_packets: bottleneck.drops,
        discipline: managed(&qdiscs).and_then(ShapedDiscipline::of),
    })
}

/// Whether the interface's clsact has no other filters.
fn is_unused(netlink: &Rtnetlink, index: u32) -> io::Result<bool> {
    for hook in [EGRESS, INGRESS] {
        match kernel::preferences(netlink, index, hook) {
            Ok(others) if others.is_empty() => {}
            Ok(_) => return Ok(false),
            other => return gone(other.map(drop)).map(|()| true),
        }
    }
    Ok(true)
}

/// What is not there any more needs no removal: the interface, its clsact, a filter.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENODEV | libc::EINVAL)) => {
            Ok(())
        }
        other => other,
    }
}

impl Part {
    const fn qdisc(self) -> &'static str {
        match self {
            Self::Netem => "netem",
            Self::Discipline(kind) => kind,
            Self::Clsact => kernel::CLSACT,
            Self::Device | Self::Tbf | Self::Filter => "tbf",
        }
    }

    /// What it is called, and the modules that it is in.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Device => ("ifb device", "ifb"),
            Self::Tbf => ("tbf", "sch_tbf"),
            Self::Netem => ("netem", "sch_netem"),
            Self::Discipline("codel") => ("codel", "sch_codel"),
            Self::Discipline("fq_codel") => ("fq_codel", "sch_fq_codel"),
            Self::Discipline("pie") => ("pie", "sch_pie"),
            Self::Discipline("red") => ("red", "sch_red"),
            Self::Discipline(kind) => (kind, "sch_fifo"),
            Self::Clsact => ("clsact", "sch_ingress"),
            Self::Filter => ("u32 classifier or mirred action", "cls_u32 act_mirred"),
        }
    }
}

impl Obstacle {
    /// There is no device of this kind.
    pub(super) const fn of_device(error: io::Error) -> Self {
        Self { part: Part::Device, error }
    }

    /// Whether it is the right to do it that is missing.
    pub(super) fn is_denied(&self) -> bool {
        matches!(self.error.raw_os_error(), Some(libc::EPERM | libc::EACCES))
    }

    /// For the person: what the kernel lacks, with the remedy, or what it said.
    pub(super) fn told(&self, interface: &str) -> Problem {
        let (name, modules) = self.part.names();
        let Some(code) = self.error.raw_os_error() else {
            return Problem::broken(format!("shaping {interface}: {name}: {}", self.error));
        };
        match code {
            libc::EPERM | libc::EACCES => Problem::machine(
                format!("shaping {interface} is not permitted"),
                "run it as root (CAP_NET_ADMIN)",
            ),
            libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV => Problem::machine(
                format!("this kernel has no {name}"),
                format!(
                    "load it (modprobe {modules}; some distributions have it in a package of its own, such as linux-modules-extra or \
                     kernel-modules-extra), or run the program behind an emulated path: pipefill exec{}",
                    match self.part {
                        Part::Netem => "; a rate alone (--rate) needs no netem",
                        Part::Discipline(_) => "; without --aqm the queue is drop-tail",
                        _ => "",
                    }
                ),
            ),
            _ => Problem::broken(format!("shaping {interface}: {name}: {}", self.error)),
        }
    }
}
