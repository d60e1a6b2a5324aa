//! What was said about a flow's application, resolved.

use super::Violations;
use crate::cell::{Application, BurstsSpec, Protocol, RequestsSpec, WindowSpec, WritesSpec};
use crate::scenario::application::APPLICATION;
use crate::scenario::draft::{AppDraft, AppKind, FlowDraft};
use crate::scenario::key::{APP, Slot};
use crate::units::Bytes;

/// A request that is not given.
const REQUEST: Bytes = Bytes::new(200);
/// The answer to a message where none is given.
const ANSWER: Bytes = Bytes::new(1);

/// The application of the flow at `index`, and every rule that its parameters break together.
pub(super) fn resolve(flow: &FlowDraft, index: usize, violations: &mut Violations) -> Application {
    let draft = &flow.app;
    let kind = draft.kind.unwrap_or_default();
    check_parameters(draft, kind, index, violations);
    check_flow(flow, kind, index, violations);
    let mut missing = |name: &str, example: &str| {
        violations.add(
            &[Slot::in_flow(index, "app")],
            format!("flow.app: {} needs {name}", APPLICATION.word(kind)),
            format!("give {name} too, e.g. {name} = {example}"),
        );
    };
    let application = match kind {
        AppKind::Bulk => Some(Application::Bulk),
        AppKind::Requests => {
            if draft.response.is_none() {
                missing("response", "\"64KiB\"");
            }
            draft.response.map(|response| {
                Application::Requests(RequestsSpec {
                    request: draft.request.unwrap_or(REQUEST),
                    response,
                    think: draft.think.unwrap_or_default(),
                    outstanding: draft.outstanding.unwrap_or(1),
                    count: draft.count,
                    pause: draft.pause.unwrap_or_default(),
                })
            })
        }
        AppKind::Bursts => {
            if draft.size.is_none() {
                missing("size", "\"1MB\"");
            }
            if draft.every.is_none() {
                missing("every", "\"2s\"");
            }
            draft.size.zip(draft.every).map(|(size, every)| Application::Bursts(BurstsSpec { size, every }))
        }
        AppKind::Window => {
            if draft.size.is_none() {
                missing("size", "\"2MiB\"");
            }
            draft.size.map(|size| Application::Window(WindowSpec { size }))
        }
        AppKind::Writes => {
            if draft.sizes.is_none() {
                missing("sizes", "[\"300B\", \"1200B\"]");
            }
            draft.sizes.clone().map(|sizes| {
                Application::Writes(WritesSpec {
                    sizes,
                    response: draft.response.unwrap_or(ANSWER),
                    think: draft.think.unwrap_or_default(),
                })
            })
        }
    };
    application.unwrap_or_default()
}

/// Parameters of other kinds are refused.
fn check_parameters(draft: &AppDraft, kind: AppKind, index: usize, violations: &mut Violations) {
    let given = APPLICATION.all.iter().filter(|parameter| (parameter.is_given)(draft));
    for parameter in given.filter(|parameter| !parameter.kinds.contains(&kind)) {
        let name = parameter.name;
        let owners: Vec<String> =
            parameter.kinds.iter().map(|kind| format!("kind = \"{}\"", APPLICATION.word(*kind))).collect();
        violations.add(
            &[Slot::in_flow(index, &format!("{APP}{name}")), Slot::in_flow(index, "app")],
            format!("flow.app.{name}: {} does not have this parameter", APPLICATION.word(kind)),
            format!("leave it out, or write {}", owners.join(" or ")),
        );
    }
}

/// Keys of the flow that do not go together with an application of this kind are refused.
fn check_flow(flow: &FlowDraft, kind: AppKind, index: usize, violations: &mut Violations) {
    if kind == AppKind::Bulk {
        return;
    }
    let protocol = flow.protocol.unwrap_or(Protocol::Tcp);
    let is_tcp = protocol == Protocol::Tcp;
    let is_bursts = kind == AppKind::Bursts;
    let is_carried = is_tcp || (protocol == Protocol::Udp && is_bursts);
    if !is_carried {
        let message = format!("flow.app: {} does not carry {}", protocol.as_str(), APPLICATION.word(kind));
        let help = match protocol {
            Protocol::Ping => "leave app out: a ping is an application of its own",
            _ => "write protocol = \"tcp\", or an app that UDP carries: bulk or bursts",
        };
        violations.add(&[Slot::in_flow(index, "app")], message, help);
        return;
    }
    for (key, is_given, what) in [
        ("bitrate", flow.bitrate.is_some(), "when it sends"),
        ("writer", flow.writer.is_some() && is_tcp, "how it writes"),
        ("length", flow.length.is_some() && is_tcp, "the sizes of its writes"),
        ("read_rate", flow.read_rate.is_some() && is_tcp && !is_bursts, "when it reads"),
    ] {
        if is_given {
            violations.add(
                &[Slot::in_flow(index, key)],
                format!("flow.{key}: an application of kind {} decides {what}", APPLICATION.word(kind)),
                format!("leave {key} out, or app"),
            );
        }
    }
}
