//! The rules of the middle's bridge: what comes in at one of two ports goes to the queue of its direction, and nothing else crosses.
//!
//! The target NFQUEUE works at the hooks of IP, where one sees no ports: the bridge's own hook marks each packet by its port
//! before (`net/netfilter/nft_compat.c`, `net/bridge/br_netfilter_hooks.c`).

use super::{COMING_FROM_A, COMING_FROM_B};
use crate::attributes::nested;
use crate::nfnetlink::{Message, Nfnetlink};
use netlink_packet_core::DefaultNla;
use std::io;

/// `NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_*`.
const NEW_TABLE: u16 = 10 << 8;
const NEW_CHAIN: u16 = 10 << 8 | 3;
const NEW_RULE: u16 = 10 << 8 | 6;
/// `NFPROTO_INET`, `NFPROTO_BRIDGE`.
const INET: u8 = 1;
const BRIDGE: u8 = 7;
/// `NF_BR_PRE_ROUTING`, before `NF_BR_PRI_BRNF`; `NF_INET_FORWARD`.
const BEFORE_ROUTING: (u32, i32) = (0, -300);
const FORWARD: (u32, i32) = (2, 0);
const TABLE: &str = "pipefill";
const PORTS: &str = "ports";
const QUEUES: &str = "queues";
/// `NFT_REG32_00`, `NFT_REG_VERDICT`.
const REGISTER: u32 = 8;
const VERDICT: u32 = 0;
/// `NF_DROP`, `NF_ACCEPT`.
const DROP: u32 = 0;
const ACCEPT: u32 = 1;
/// `NFT_META_*`.
const META_PROTOCOL: u32 = 1;
const META_MARK: u32 = 3;
const META_INTERFACE: u32 = 4;
const META_PACKET_TYPE: u32 = 19;
/// `PACKET_OTHERHOST`: for one host, and not this one. What a host sends to many is no traffic of anybody's.
const OTHER_HOST: u8 = 3;

/// Sets them for the ports with these interface indices: towards A, towards B.
///
/// # Errors
/// A kernel without nf_tables, its compatibility with xtables, or the target NFQUEUE.
pub(super) fn set(netfilter: &Nfnetlink, ports: [u32; 2]) -> io::Result<()> {
    let (table, marking, queueing) = (table(), chain(PORTS, BEFORE_ROUTING), chain(QUEUES, FORWARD));
    let (mut marks, mut queues) = (Vec::new(), Vec::new());
    for (port, queue) in ports.into_iter().zip([COMING_FROM_A, COMING_FROM_B]) {
        let mark = u32::from(queue) + 1;
        for protocol in [libc::ETH_P_IP, libc::ETH_P_IPV6] {
            let is_it = [meta(META_PROTOCOL), equals(&(protocol as u16).to_be_bytes())];
            let is_for_one = [meta(META_PACKET_TYPE), equals(&[OTHER_HOST])];
            let comes_in = [meta(META_INTERFACE), equals(&port.to_ne_bytes())];
            let marked = [load(&mark.to_ne_bytes()), set_mark(), verdict(ACCEPT)];
            marks.push(rule(PORTS, &[&is_it[..], &is_for_one, &comes_in, &marked].concat()));
        }
        queues.push(rule(QUEUES, &[meta(META_MARK), equals(&mark.to_ne_bytes()), to_queue(queue)]));
    }
    let change = |kind, family, attributes| Message { kind, family, resource: 0, attributes };
    let mut changes = vec![change(NEW_TABLE, BRIDGE, &table[..]), change(NEW_CHAIN, BRIDGE, &marking[..])];
    changes.extend(marks.iter().map(|rule| change(NEW_RULE, BRIDGE, rule)));
    changes.extend([change(NEW_TABLE, INET, &table[..]), change(NEW_CHAIN, INET, &queueing[..])]);
    changes.extend(queues.iter().map(|rule| change(NEW_RULE, INET, rule)));
    netfilter.transaction(&changes)
}

/// `NFTA_TABLE_NAME`.
fn table() -> Vec<DefaultNla> {
    vec![text(1, TABLE)]
}

/// `NFTA_CHAIN_*`: a filter at a hook, with a priority. What no rule accepts is dropped.
fn chain(name: &str, (hook, priority): (u32, i32)) -> Vec<DefaultNla> {
    let hook = [number(1, hook), DefaultNla::new(2, priority.to_be_bytes().into())];
    vec![text(1, TABLE), text(3, name), nested(4, &hook), number(5, DROP), text(7, "filter")]
}

/// `NFTA_RULE_*`, with `NFTA_LIST_ELEM` for each expression.
fn rule(chain: &str, expressions: &[Expression]) -> Vec<DefaultNla> {
    let each: Vec<DefaultNla> = expressions.iter().map(|expression| nested(1, expression)).collect();
    vec![text(1, TABLE), text(2, chain), nested(4, &each)]
}

/// `NFTA_EXPR_NAME` and `NFTA_EXPR_DATA`.
type Expression = [DefaultNla; 2];

fn expression(name: &str, attributes: &[DefaultNla]) -> Expression {
    [text(1, name), nested(2, attributes)]
}

/// Loads a property of the packet (`NFTA_META_DREG`, `NFTA_META_KEY`).
fn meta(key: u32) -> Expression {
    expression("meta", &[number(1, REGISTER), number(2, key)])
}

/// Marks the packet with what is loaded (`NFTA_META_KEY`, `NFTA_META_SREG`).
fn set_mark() -> Expression {
    expression("meta", &[number(2, META_MARK), number(3, REGISTER)])
}

/// Goes on where what is loaded is `value` (`NFTA_CMP_*`, `NFT_CMP_EQ`).
fn equals(value: &[u8]) -> Expression {
    expression("cmp", &[number(1, REGISTER), number(2, 0), data(3, value)])
}

/// Loads `value` (`NFTA_IMMEDIATE_*`).
fn load(value: &[u8]) -> Expression {
    expression("immediate", &[number(1, REGISTER), data(2, value)])
}

/// Decides about the packet (`NFTA_DATA_VERDICT`, `NFTA_VERDICT_CODE`).
fn verdict(code: u32) -> Expression {
    let code = nested(2, &[number(1, code)]);
    expression("immediate", &[number(1, VERDICT), nested(2, &[code])])
}

/// `NFTA_TARGET_*` with `struct xt_NFQ_info`, aligned to 8 bytes.
fn to_queue(number_of_queue: u16) -> Expression {
    let mut info = [0; 8];
    info[..2].copy_from_slice(&number_of_queue.to_ne_bytes());
    expression("target", &[text(1, "NFQUEUE"), number(2, 0), DefaultNla::new(3, info.into())])
}

/// `NFTA_DATA_VALUE`.
fn data(kind: u16, value: &[u8]) -> DefaultNla {
    nested(kind, &[DefaultNla::new(1, value.into())])
}

fn number(kind: u16, number: u32) -> DefaultNla {
    DefaultNla::new(kind, number.to_be_bytes().into())
}

fn text(kind: u16, text: &str) -> DefaultNla {
    DefaultNla::new(kind, [text.as_bytes(), b"\0"].concat())
}
