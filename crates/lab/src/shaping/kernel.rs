//! The requests that shaping makes to the kernel: devices, qdiscs, filters, and lists of them.
//!
//! Lists are read as bytes: the qdiscs and filters of an interface are other programs', and of any kind. Every function acts in the
//! namespace of its [`Rtnetlink`].

use crate::attributes::{attribute, word};
use crate::netlink::Rtnetlink;
use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use netlink_packet_route::tc::{
    TcAction, TcActionAttribute, TcActionMirror, TcActionMirrorOption, TcActionOption, TcActionType,
    TcAttribute, TcFilterU32, TcFilterU32Option, TcHandle, TcHeader, TcMessage, TcMirror, TcOption, TcU32Key,
    TcU32Selector, TcU32SelectorFlags,
};
use std::fs;
use std::io;

/// Where a filter sees what leaves (`TC_H_MIN_EGRESS` of clsact).
pub(super) const EGRESS: TcHandle = TcHandle { major: u16::MAX, minor: TcHandle::MIN_EGRESS };
/// Where a filter sees what arrives.
pub(super) const INGRESS: TcHandle = TcHandle { major: u16::MAX, minor: TcHandle::MIN_INGRESS };
/// The kind of qdisc that filters of both stand in.
pub(super) const CLSACT: &str = "clsact";

/// `ETH_P_ALL` as a filter has it.
const ALL_PROTOCOLS: u16 = (libc::ETH_P_ALL as u16).to_be();
/// `TCA_KIND`, `TCA_OPTIONS`, `TCA_STATS2`, and in it `TCA_STATS_BASIC`, `TCA_STATS_QUEUE` and `TCA_STATS_APP`.
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
const STATS2: u16 = 7;
const STATS_BASIC: u16 = 1;
const STATS_QUEUE: u16 = 3;
const STATS_APP: u16 = 4;
/// `IFLA_IFNAME`, `IFLA_MTU`, `IFLA_LINKINFO`, `IFLA_IFALIAS`, and `IFLA_INFO_KIND`.
const IFNAME: u16 = 3;
const MTU: u16 = 4;
const LINKINFO: u16 = 18;
const IFALIAS: u16 = 20;
const INFO_KIND: u16 = 1;
/// Length of `struct tcmsg` and `struct ifinfomsg`.
const TC_HEADER: usize = 20;
const LINK_HEADER: usize = 16;

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) index: u32,
    pub(super) name: String,
    pub(super) mtu: u32,
    /// E.g. `ifb`; none for hardware.
    pub(super) kind: Option<String>,
    /// The alias that the device's maker has set (`ip link set alias`).
    pub(super) alias: Option<String>,
    pub(super) is_loopback: bool,
}

/// A queueing discipline of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Qdisc {
    /// The index of its interface.
    pub(super) device: u32,
    pub(super) kind: String,
    pub(super) handle: TcHandle,
    pub(super) parent: TcHandle,
    pub(super) counts: Counts,
    /// The counters of its kind (`struct tc_codel_xstats` and the like).
    pub(super) own_counts: Vec<u8>,
}

/// What a qdisc has counted, and what it holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) bytes: u64,
    pub(super) packets: u64,
    pub(super) drops: u64,
    pub(super) backlog_packets: u64,
    pub(super) backlog_bytes: u64,
}

/// What a filter does with packets that match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Sends them through the device with this index.
    Redirect(u32),
    /// Lets them go on; no later filter sees them.
    Pass,
}

/// All interfaces.
pub(super) fn links(netlink: &Rtnetlink) -> io::Result<Vec<Link>> {
    let mut links = Vec::new();
    netlink.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()), |body| links.extend(link(body)))?;
    Ok(links)
}

/// Makes the device `name` of kind ifb, which is down and has no addresses.
pub(super) fn add_ifb(netlink: &Rtnetlink, name: &str, mtu: u32) -> io::Result<()> {
    let mut link = LinkMessage::default();
    link.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::Mtu(mtu),
        LinkAttribute::TxQueueLen(1000),
        LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Ifb)]),
    ];
    netlink.request(RouteNetlinkMessage::NewLink(link), NLM_F_CREATE | NLM_F_EXCL)?;
    // Neighbour discovery of its own would be counted with the test's packets. Without IPv6 there is no such file.
    let _absent = fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
    Ok(())
}

/// Leaves a text at a device.
pub(super) fn set_alias(netlink: &Rtnetlink, index: u32, alias: &str) -> io::Result<()> {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.attributes = vec![LinkAttribute::IfAlias(alias.to_owned())];
    netlink.request(RouteNetlinkMessage::SetLink(link), 0)
}

/// Sets a device up.
pub(super) fn set_up(netlink: &Rtnetlink, index: u32) -> io::Result<()> {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    netlink.request(RouteNetlinkMessage::SetLink(link), 0)
}

/// Removes a device.
pub(super) fn remove_link(netlink: &Rtnetlink, index: u32) -> io::Result<()> {
    let mut link = LinkMessage::default();
    link.header.index = index;
    netlink.request(RouteNetlinkMessage::DelLink(link), 0)
}

/// The qdiscs of the interface `index`.
pub(super) fn qdiscs(netlink: &Rtnetlink, index: u32) -> io::Result<Vec<Qdisc>> {
    let mut found = Vec::new();
    netlink.dump(RouteNetlinkMessage::GetQueueDiscipline(message(index)?), |body| {
        found.extend(qdisc_of(body).filter(|qdisc| qdisc.device == index));
    })?;
    Ok(found)
}

/// The qdisc that a message is about (`struct tcmsg` and its attributes).
pub(super) fn qdisc_of(body: &[u8]) -> Option<Qdisc> {
    let header = header(body)?;
    let stats = attribute(body.get(TC_HEADER..)?, STATS2).unwrap_or_default();
    Some(Qdisc {
        device: u32::try_from(header.index).ok()?,
        kind: text(body, KIND).unwrap_or_default(),
        handle: header.handle,
        parent: header.parent,
        counts: counts(stats),
        own_counts: attribute(stats, STATS_APP).unwrap_or_default().to_vec(),
    })
}

/// Adds a qdisc with `options`, the bytes of its `TCA_OPTIONS`.
pub(super) fn add_qdisc(
    netlink: &Rtnetlink,
    index: u32,
    (parent, handle): (TcHandle, TcHandle),
    kind: &str,
    options: Vec<u8>,
) -> io::Result<()> {
    let mut message = message(index)?;
    message.header.parent = parent;
    message.header.handle = handle;
    message.attributes = vec![TcAttribute::Kind(kind.to_owned())];
    if !options.is_empty() {
        message.attributes.push(TcAttribute::Other(DefaultNla::new(OPTIONS, options)));
    }
    netlink.request(RouteNetlinkMessage::NewQueueDiscipline(message), NLM_F_CREATE | NLM_F_EXCL)
}

/// Adds the qdisc that filters at both hooks stand in.
pub(super) fn add_clsact(netlink: &Rtnetlink, index: u32) -> io::Result<()> {
    add_qdisc(
        netlink,
        index,
        (TcHandle::CLSACT, TcHandle { major: u16::MAX, minor: 0 }),
        CLSACT,
        Default::default(),
    )
}

/// Removes it.
pub(super) fn remove_clsact(netlink: &Rtnetlink, index: u32) -> io::Result<()> {
    let mut message = message(index)?;
    message.header.parent = TcHandle::CLSACT;
    message.header.handle = TcHandle { major: u16::MAX, minor: 0 };
    netlink.request(RouteNetlinkMessage::DelQueueDiscipline(message), 0)
}

/// The preferences of the filters at `hook`, one for each filter.
pub(super) fn preferences(netlink: &Rtnetlink, index: u32, hook: TcHandle) -> io::Result<Vec<u16>> {
    let mut request = message(index)?;
    request.header.parent = hook;
    let mut found = Vec::new();
    netlink.dump(RouteNetlinkMessage::GetTrafficFilter(request), |body| {
        found.extend(header(body).map(|header| (header.info >> 16) as u16));
    })?;
    Ok(found)
}

/// Adds a filter for packets that have all of `keys`, behind those of the same preference.
pub(super) fn add_filter(
    netlink: &Rtnetlink,
    index: u32,
    preference: u16,
    keys: Vec<TcU32Key>,
    act: Act,
) -> io::Result<()> {
    let mut selector = TcU32Selector::default();
    selector.flags = TcU32SelectorFlags::Terminal;
    selector.nkeys = u8::try_from(keys.len()).map_err(io::Error::other)?;
    selector.keys = keys;
    let mut options = vec![TcOption::U32(TcFilterU32Option::Selector(selector))];
    if let Act::Redirect(device) = act {
        options.push(TcOption::U32(TcFilterU32Option::Action(vec![redirect(device)])));
    }
    let mut message = filter_message(index, preference)?;
    message.attributes.push(TcAttribute::Options(options));
    netlink.request(RouteNetlinkMessage::NewTrafficFilter(message), NLM_F_CREATE | NLM_F_EXCL)
}

/// Removes all filters of this preference.
pub(super) fn remove_filters(netlink: &Rtnetlink, index: u32, preference: u16) -> io::Result<()> {
    netlink.request(RouteNetlinkMessage::DelTrafficFilter(filter_message(index, preference)?), 0)
}

fn filter_message(index: u32, preference: u16) -> io::Result<TcMessage> {
    let mut message = message(index)?;
    message.header.parent = EGRESS;
    message.header.info = u32::from(preference) << 16 | u32::from(ALL_PROTOCOLS);
    message.attributes = vec![TcAttribute::Kind(TcFilterU32::KIND.to_owned())];
    Ok(message)
}

fn redirect(device: u32) -> TcAction {
    let mut mirror = TcMirror::default();
    mirror.generic.action = TcActionType::Stolen;
    mirror.ifindex = device;
    let mut action = TcAction::default();
    action.attributes = vec![
        TcActionAttribute::Kind(TcActionMirror::KIND.to_owned()),
        TcActionAttribute::Options(vec![TcActionOption::Mirror(TcActionMirrorOption::Parms(mirror))]),
    ];
    action
}

fn message(index: u32) -> io::Result<TcMessage> {
    Ok(TcMessage::with_index(i32::try_from(index).map_err(io::Error::other)?))
}

fn header(body: &[u8]) -> Option<TcHeader> {
    TcHeader::parse(body).ok()
}

fn link(body: &[u8]) -> Option<Link> {
    let (header, attributes) = body.split_at_checked(LINK_HEADER)?;
    let number = |bytes: &[u8]| bytes.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
    let kind = attribute(attributes, LINKINFO).and_then(|info| attribute(info, INFO_KIND));
    Some(Link {
        index: number(&header[4..])?,
        name: attribute(attributes, IFNAME).map(text)?,
        mtu: attribute(attributes, MTU).and_then(number)?,
        kind: kind.map(text),
        alias: attribute(attributes, IFALIAS).map(text),
        is_loopback: number(&header[8..])? & libc::IFF_LOOPBACK as u32 != 0,
    })
}

/// `struct gnet_stats_basic` and `struct gnet_stats_queue` (`include/uapi/linux/gen_stats.h`).
fn counts(stats: &[u8]) -> Counts {
    let (basic, queue) = (attribute(stats, STATS_BASIC), attribute(stats, STATS_QUEUE));
    let number = |bytes: Option<&[u8]>, at: usize| u64::from(word(bytes.unwrap_or_default(), at));
    Counts {
        bytes: basic.and_then(|basic| basic.first_chunk()).map_or(0, |bytes| u64::from_ne_bytes(*bytes)),
        packets: number(basic, 8),
        drops: number(queue, 8),
        backlog_packets: number(queue, 0),
        backlog_bytes: number(queue, 4),
    }
}

fn text(body: &[u8], kind: u16) -> Option<String> {
    let bytes = attribute(body.get(TC_HEADER..)?, kind)?;
    Some(String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned())
}
