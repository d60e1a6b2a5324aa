//! Marks in place of drops: ECN at both ends, and at the queue whose discipline drops.

use super::Case;
use super::keys::host_name;
use crate::findings::finding::{Advice, Goal};
use crate::findings::proposal::{Change, Reason, Setting, Target};
use pipefill_core::cell::{AqmSpec, CellSpec, Protocol};

/// The sysctl of both ends (`tcp_ecn` of a scenario's hosts).
const SYSCTL: &str = "net.ipv4.tcp_ecn";
/// Its value where a host asks for ECN.
const ASKS: &str = "1";

impl Case<'_> {
    /// ECN for a flow whose segments a discipline drops that could mark them. `None` for BBR, which does not answer marks.
    pub(super) fn marks_in_place_of_drops(&self) -> Option<Advice> {
        let flow = &self.judged.flow;
        let plan = self.judged.plan.as_ref()?;
        let did = self.judged.aqm.as_ref()?;
        let drops = did.dropped_packets.is_some_and(|dropped| dropped > 0);
        let is_marked = did.marked_packets.is_none_or(|marked| marked > 0);
        let answers_marks = flow.protocol == Protocol::Tcp && self.judged.congestion_control != "bbr";
        let discipline = plan.path.way(flow.direction).aqm.as_ref();
        let can_mark = discipline.is_some_and(|aqm| *aqm != AqmSpec::Drophead);
        if !drops || is_marked || !answers_marks || !can_mark || both_ask(plan) {
            return None;
        }
        let host = |sends| {
            let key = format!("{}.tcp_ecn", host_name(flow, sends));
            let target = if sends { Target::Sender } else { Target::Receiver };
            Change { target, setting: Setting::Ecn, key }
        };
        let mut changes = vec![host(true), host(false)];
        changes.extend(discipline.filter(|aqm| !aqm.marks()).map(|_| Change {
            target: Target::Bottleneck,
            setting: Setting::MarkingAqm,
            key: Self::path_key(flow.direction, "ecn"),
        }));
        let forecast = Some(self.at(self.judged.goodput_bps));
        let advice = self.proposed(changes, Reason::MarksInPlaceOfDrops, forecast);
        Some(Advice { goal: Goal::Losses, ..advice })
    }
}

fn both_ask(plan: &CellSpec) -> bool {
    [&plan.sender, &plan.receiver]
        .into_iter()
        .all(|host| host.sysctl.get(SYSCTL).is_some_and(|value| value == ASKS))
}
