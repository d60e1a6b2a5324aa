//! Shaping of a real interface: delay, jitter, loss and a rate for the packets of a test that leave it, while its other traffic goes on.
//!
//! Filters at the interface's egress hook (clsact), before its queueing discipline, send the packets through a device of kind ifb, whose
//! qdiscs are tbf, netem and a discipline of the queue, and which hands them back to the interface. So nothing of the interface is replaced, and nothing has to be put
//! back: undone are filters, clsact where it was made, and the device. How to undo it stands at the device itself (`mark`); who
//! undoes it is a process of its own ([`inside`]).
//!
//! Never: a change before that process watches, or one to the interface's own qdisc.

mod conditions;
mod discipline;
mod flows;
mod kernel;
mod left;
mod mark;
mod reading;
mod switch;
mod tree;

pub use flows::{Flows, Peer};
pub use left::{ShapedInterface, shaped_interfaces, sweep, undo};
pub use reading::{QUEUE_EVERY, ShapedDiscipline, ShapedQueue};
pub use switch::inside;
pub use tree::Carried;

use crate::namespace::Namespace;
use crate::netlink::Rtnetlink;
use conditions::Conditions;
use flows::Selector;
use kernel::{CLSACT, EGRESS, Link};
use mark::Mark;
use netlink_packet_route::tc::TcHandle;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use pipefill_core::cell::PathSpec;
use pipefill_core::problem::Problem;
use pipefill_core::units::Seed;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often the owner reports to the switch that it is alive.
const RENEWAL: Duration = Duration::from_secs(2);
/// How long the switch may take to undo it, before we do.
const PATIENCE: Duration = Duration::from_secs(5);
/// Preference of our filters where there are no others (`tcf_auto_prio()`).
const PREFERENCE: u16 = 0xc000;
/// How long the switch waits for its owner after the time is up, so that the owner ends the shaping and reads the counts.
const GRACE: Duration = Duration::from_millis(500);
/// Devices that the kernel makes when the module is loaded.
const OF_THE_MODULE: [&str; 2] = ["ifb0", "ifb1"];

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Name of the interface that the packets leave by.
    pub interface: &'a str,
    /// The namespace that it is in: `/run/netns/NAME`, `/proc/PID/ns/net`. `None` = the caller's.
    pub netns: Option<&'a Path>,
    /// What they meet. The whole round trip is on the way out, with the forward direction's loss, jitter and bottleneck.
    pub path: &'a PathSpec,
    /// Which packets.
    pub flows: &'a Flows,
    /// Undone after so long at the latest, suspension of the machine included.
    pub span: Duration,
    /// Of the random loss and jitter.
    pub seed: Seed,
}

/// An interface that is shaped, until this is dropped, or ended, or the time is up.
#[derive(Debug)]
pub struct Shaped {
    namespace: Option<Namespace>,
    index: u32,
    switch: Child,
    connection: UnixStream,
    /// When the time is up.
    ends: Instant,
    /// Dropped to end the renewals.
    renewals: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Shaped {
    /// Shapes the interface. What this kernel can't do is found in a namespace of its own first, where there may be one.
    ///
    /// # Errors
    /// [`Problem`] where the kernel, or the interface's filters, leave no way, and where the interface is shaped already, or is not there.
    /// Nothing is changed then.
    pub fn begin(request: &Request<'_>) -> Result<Self, Problem> {
        let ends = Instant::now() + request.span;
        let conditions = Conditions::of(request.path, request.seed)
            .map_err(|what| Problem::broken(format!("{} can't be shaped to {what}", request.interface)))?;
        let namespace = request.netns.map(Namespace::open).transpose().map_err(failed("the namespace"))?;
        let selectors = request.flows.selectors();
        let inside = in_namespace(namespace.as_ref(), || Ok(begin(request, &conditions, &selectors)));
        let (index, switch, connection) = inside.map_err(failed("the namespace"))??;
        let renewals = renew(&connection).map_err(failed("a thread"))?;
        Ok(Self { namespace, index, switch, connection, ends, renewals: Some(renewals) })
    }

    /// What has passed up to now.
    ///
    /// # Errors
    /// It is over.
    pub fn carried(&self) -> io::Result<Carried> {
        in_namespace(self.namespace.as_ref(), || tree::carried(&Rtnetlink::connect()?, self.index))
    }

    /// The queue of its bottleneck, where that has a discipline, to be read meanwhile.
    ///
    /// # Errors
    /// It is over.
    pub fn queue(&self) -> io::Result<Option<ShapedQueue>> {
        in_namespace(self.namespace.as_ref(), || {
            ShapedQueue::open(crate::netlink::index_of(&mark::device_name(self.index))?)
        })
    }

    /// Whether the time is up, or somebody else undid it.
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.ends || self.is_undone()
    }

    fn is_undone(&self) -> bool {
        // The switch says nothing more, so that what can be read is its end.
        let mut file = [PollFd::new(self.connection.as_fd(), PollFlags::POLLIN)];
        poll(&mut file, PollTimeout::ZERO).is_ok_and(|count| count > 0)
    }

    /// The process that will undo it.
    pub fn switch(&self) -> u32 {
        self.switch.id()
    }

    /// Undoes it now, and tells what went through; `None` where it was over already.
    ///
    /// # Errors
    /// Something is left: the kernel refused to remove it.
    pub fn end(mut self) -> io::Result<Option<Carried>> {
        let carried = self.carried().ok();
        self.undo()?;
        Ok(carried)
    }

    fn undo(&mut self) -> io::Result<()> {
        let Some((stop, renewing)) = self.renewals.take() else { return Ok(()) };
        drop(stop);
        let _joined = renewing.join();
        // The switch may have ended already.
        let _ended = (&self.connection).write_all(&[switch::END]);
        let began = Instant::now();
        while matches!(self.switch.try_wait(), Ok(None)) && began.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(2));
        }
        in_namespace(self.namespace.as_ref(), || tree::take_down(&Rtnetlink::connect()?, self.index))?;
        Ok(())
    }
}

impl Drop for Shaped {
    fn drop(&mut self) {
        // What is left then, the switch undoes, or the next one who looks for it.
        let _left_to_the_switch = self.undo();
    }
}

/// Everything in this thread's network namespace.
fn begin(
    request: &Request<'_>,
    conditions: &Conditions,
    selectors: &[Selector],
) -> Result<(u32, Child, UnixStream), Problem> {
    let netlink = Rtnetlink::connect().map_err(failed("netlink"))?;
    let links = kernel::links(&netlink).map_err(failed("listing interfaces"))?;
    let interface = interface(&links, request.interface)?;
    if let Some(found) = left::on(interface, &links) {
        match found.switch {
            Some(_) => return Err(Problem::broken(found.in_the_way())),
            None => tree::take_down(&netlink, interface.index).map(drop).map_err(failed("what was left"))?,
        }
    }
    let mark = mark(&netlink, interface, request)?;
    rehearse(conditions, selectors, interface)?;
    let (mut switch, connection) =
        switch::start(interface.index, request.span + GRACE).map_err(failed("starting the switch"))?;
    let plan = tree::Plan { interface, conditions, selectors, mark };
    let up = plan.put_up(&netlink).map_err(|obstacle| obstacle.told(&interface.name)).and_then(|()| {
        // Devices of a module that was loaded just now.
        remove_new(&netlink, &links).and_then(|()| switch::arm(&connection)).map_err(failed("the switch"))
    });
    if let Err(error) = up {
        let undone = tree::take_down(&netlink, interface.index);
        drop(connection);
        let _reaped = switch.wait();
        undone.map_err(failed("undoing it"))?;
        return Err(error);
    }
    Ok((interface.index, switch, connection))
}

fn interface<'a>(links: &'a [Link], name: &str) -> Result<&'a Link, Problem> {
    let Some(found) = links.iter().find(|link| link.name == name) else {
        let others: Vec<&str> =
            links.iter().filter(|link| !link.is_loopback).map(|link| link.name.as_str()).collect();
        return Err(Problem::broken(format!("there is no interface {name}; there is {}", others.join(", "))));
    };
    if found.is_loopback {
        return Err(Problem::broken(format!(
            "{name} carries both directions, so that it can't be shaped to a path; run the program behind one: pipefill exec"
        )));
    }
    Ok(found)
}

/// How it will be undone; asks whether there is room for our filters ahead of others'.
fn mark(netlink: &Rtnetlink, interface: &Link, request: &Request<'_>) -> Result<Mark, Problem> {
    let name = &interface.name;
    let qdiscs = kernel::qdiscs(netlink, interface.index).map_err(failed("listing qdiscs"))?;
    let made_clsact = match qdiscs.iter().find(|qdisc| qdisc.parent == TcHandle::CLSACT) {
        None => true,
        Some(qdisc) if qdisc.kind == CLSACT => false,
        Some(qdisc) => {
            return Err(Problem::machine(
                format!("{name} has a qdisc of kind {}, which leaves no room for clsact", qdisc.kind),
                "remove it for the time of the test (tc qdisc del dev … ingress), or shape another interface",
            ));
        }
    };
    let others = match made_clsact {
        true => Vec::new(),
        false => kernel::preferences(netlink, interface.index, EGRESS).map_err(failed("listing filters"))?,
    };
    if request.flows.passes_some() && !others.is_empty() {
        return Err(Problem::machine(
            format!("{name} has filters of others at its egress, which would not see ssh any more"),
            "name the other end of the test with --to",
        ));
    }
    // A preference of 0 is none: the kernel would choose.
    let preference = match others.iter().min() {
        None => PREFERENCE,
        Some(0 | 1) => {
            return Err(Problem::machine(
                format!("{name} has a filter with preference 1 at its egress, and ours has to come first"),
                "give that filter another preference, or shape another interface",
            ));
        }
        Some(first) => first - 1,
    };
    Ok(Mark::new(preference, made_clsact, request.span))
}

/// Puts all of it up in a namespace of its own, which then goes. Where we may not make one, the interface itself has to tell.
fn rehearse(conditions: &Conditions, selectors: &[Selector], interface: &Link) -> Result<(), Problem> {
    let Ok(namespace) = Namespace::create() else { return Ok(()) };
    let tried = namespace.enter(|| {
        let netlink = Rtnetlink::connect()?;
        let stand_in = "stand-in";
        if let Err(error) = kernel::add_ifb(&netlink, stand_in, interface.mtu) {
            return Ok(Err(tree::Obstacle::of_device(error)));
        }
        let index = crate::netlink::index_of(stand_in)?;
        let interface = Link { index, name: stand_in.to_owned(), ..interface.clone() };
        let mark = Mark::new(PREFERENCE, true, Duration::ZERO);
        Ok(tree::Plan { interface: &interface, conditions, selectors, mark }.put_up(&netlink))
    });
    match tried.map_err(failed("a namespace to try it in"))? {
        Err(obstacle) if !obstacle.is_denied() => Err(obstacle.told(&interface.name)),
        _ => Ok(()),
    }
}

/// Removes devices that were made with the module ifb, and were not there before.
fn remove_new(netlink: &Rtnetlink, before: &[Link]) -> io::Result<()> {
    let is_new = |link: &Link| {
        OF_THE_MODULE.contains(&link.name.as_str()) && !before.iter().any(|old| old.index == link.index)
    };
    kernel::links(netlink)?
        .iter()
        .filter(|link| is_new(link))
        .try_for_each(|link| kernel::remove_link(netlink, link.index))
}

/// Reports to the switch every [`RENEWAL`] that its owner is alive, until the sender is dropped or the switch has ended.
fn renew(connection: &UnixStream) -> io::Result<(Sender<()>, JoinHandle<()>)> {
    let connection = connection.try_clone()?;
    let (stop, stopped) = mpsc::channel();
    let work = move || {
        while stopped.recv_timeout(RENEWAL) == Err(RecvTimeoutError::Timeout) {
            if (&connection).write_all(&[switch::RENEW]).is_err() {
                return;
            }
        }
    };
    Ok((stop, thread::Builder::new().name("shaping".to_owned()).spawn(work)?))
}

fn in_namespace<T: Send>(
    namespace: Option<&Namespace>,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    match namespace {
        Some(namespace) => namespace.enter(work),
        None => work(),
    }
}

fn failed(doing: &'static str) -> impl Fn(io::Error) -> Problem {
    move |error| match error.kind() {
        io::ErrorKind::PermissionDenied => Problem::machine(
            format!("shaping is not permitted: {doing}: {error}"),
            "run it as root (CAP_NET_ADMIN)",
        ),
        _ => Problem::broken(format!("shaping: {doing}: {error}")),
    }
}
