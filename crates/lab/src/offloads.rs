//! Offloads of a host's interface: switched as a scenario asks, then read back, because a driver may not know one.
//!
//! TCP has handed super-packets to its own stack since Linux 4.17, whatever ethtool(8) says (`sk_setup_caps()`); without GSO they are only cut
//! earlier. So `gso = false` also makes a super-packet of one segment (`gso_max_segs`), and `gro = false` is obeyed by the data path, which
//! hands over segments apart.

use crate::namespace::Namespace;
use crate::netlink::Rtnetlink;
use crate::sys::ethtool;
use crate::topology::HOST_INTERFACE;
use pipefill_core::cell::Offloads;
use pipefill_core::record::Setting;
use std::io;

/// What ethtool(8) switches with `gso`, `gro` and `tso`, in the kernel's names.
const GSO: &[&str] = &["tx-generic-segmentation"];
const GRO: &[&str] = &["rx-gro"];
const TSO: &[&str] = &[
    "tx-tcp-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-tcp6-segmentation",
];

/// Switches the offloads of the host in `namespace`; every setting as asked and as read back. `place` names the host in the records.
pub(crate) fn apply(namespace: &Namespace, place: &str, offloads: &Offloads) -> io::Result<Vec<Setting>> {
    let asked = [("gso", GSO, offloads.gso), ("gro", GRO, offloads.gro), ("tso", TSO, offloads.tso)];
    if offloads.is_empty() {
        return Ok(Vec::new());
    }
    namespace.enter(|| {
        let interface = ethtool::Offloads::of(HOST_INTERFACE)?;
        if offloads.gso == Some(false) {
            Rtnetlink::connect()?.set_gso_max_segs(HOST_INTERFACE, 1)?;
        }
        let asked = asked.iter().filter_map(|&(name, features, on)| Some((name, features, on?)));
        asked.map(|(name, features, on)| switch(&interface, place, name, features, on)).collect()
    })
}

fn switch(
    interface: &ethtool::Offloads,
    place: &str,
    name: &str,
    features: &[&str],
    on: bool,
) -> io::Result<Setting> {
    for feature in features {
        interface.switch(feature, on)?;
    }
    let got = interface.is_on(features[0])?;
    let word = |on: bool| if on { "on" } else { "off" }.to_owned();
    Ok(Setting {
        place: place.to_owned(),
        name: name.to_owned(),
        asked: Some(word(on)),
        got: got.map(word),
        why: (got != Some(on)).then(|| "the interface does not let it be switched".to_owned()),
        met: got == Some(on),
    })
}
