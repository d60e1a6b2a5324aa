//! Shaping that is there: watched by a living switch, or left by one that was killed.

use super::kernel::{self, Link};
use super::mark::{Mark, interface_of};
use super::{PATIENCE, in_namespace, switch, tree};
use crate::namespace::Namespace;
use crate::netlink::Rtnetlink;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// An interface that is shaped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShapedInterface {
    /// Its name; `None` where it is gone, and the device stayed.
    pub interface: Option<String>,
    /// Its number.
    pub index: u32,
    /// The device that its packets go through.
    pub device: String,
    /// When the time is up, in seconds since 1970; `None` where that was not noted.
    pub until_s: Option<u64>,
    /// The process that will undo it; `None` where that process has ended.
    pub switch: Option<u32>,
}

/// All shaping in the namespace that `netns` stands for, or in the caller's.
///
/// # Errors
/// Netlink is not to be had, or the namespace can't be entered.
pub fn shaped_interfaces(netns: Option<&Path>) -> io::Result<Vec<ShapedInterface>> {
    inside(netns, || {
        let links = kernel::links(&Rtnetlink::connect()?)?;
        let indices = links.iter().filter(|link| is_ours(link)).filter_map(|link| interface_of(&link.name));
        Ok(indices.filter_map(|index| at(index, &links)).collect())
    })
}

/// Removes shaping whose process has ended, and returns what was removed.
///
/// # Errors
/// As [`shaped_interfaces`], and those of the removal.
pub fn sweep(netns: Option<&Path>) -> io::Result<Vec<ShapedInterface>> {
    let left: Vec<ShapedInterface> =
        shaped_interfaces(netns)?.into_iter().filter(|interface| interface.switch.is_none()).collect();
    left.iter().try_for_each(|interface| undo(interface, netns))?;
    Ok(left)
}

/// Undoes it now: by its switch where that lives, and otherwise here.
///
/// # Errors
/// Something is left: the kernel refused to remove it.
pub fn undo(found: &ShapedInterface, netns: Option<&Path>) -> io::Result<()> {
    inside(netns, || {
        let index = found.index;
        if let Some((mut connection, _)) = switch::find(index) {
            connection.write_all(&[switch::END])?;
            let began = Instant::now();
            while switch::find(index).is_some() && began.elapsed() < PATIENCE {
                thread::sleep(Duration::from_millis(5));
            }
        }
        tree::take_down(&Rtnetlink::connect()?, index).map(drop)
    })
}

/// What shapes `interface`, one of `links`.
pub(super) fn on(interface: &Link, links: &[Link]) -> Option<ShapedInterface> {
    at(interface.index, links)
}

fn at(index: u32, links: &[Link]) -> Option<ShapedInterface> {
    let device = links.iter().find(|link| is_ours(link) && interface_of(&link.name) == Some(index))?;
    let mark = device.alias.as_deref().and_then(Mark::read);
    Some(ShapedInterface {
        interface: links.iter().find(|link| link.index == index).map(|link| link.name.clone()),
        index,
        device: device.name.clone(),
        until_s: mark.map(|mark| mark.until),
        switch: switch::find(index).map(|(_, pid)| pid),
    })
}

fn is_ours(link: &Link) -> bool {
    link.kind.as_deref() == Some("ifb") && interface_of(&link.name).is_some()
}

impl ShapedInterface {
    /// The interface, or what it was.
    pub fn name(&self) -> String {
        self.interface.clone().unwrap_or_else(|| format!("an interface that is gone (number {})", self.index))
    }

    /// How long it will last; `None` where its time is up or not known.
    pub fn left(&self) -> Option<Duration> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.until_s.and_then(|until| Duration::from_secs(until).checked_sub(now))
    }

    /// The error for a second shaping of an interface.
    pub(super) fn in_the_way(&self) -> String {
        let (name, pid) = (self.name(), self.switch.unwrap_or(0));
        let left = self.left().map_or(0, |left| left.as_secs());
        format!(
            "{name} is shaped already, for {left} s more (process {pid} will undo it); end that first: pipefill shape {name} --undo"
        )
    }
}

fn inside<T: Send>(netns: Option<&Path>, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let namespace = netns.map(Namespace::open).transpose()?;
    in_namespace(namespace.as_ref(), work)
}
