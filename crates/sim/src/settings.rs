//! Every setting of a run as asked and as taken, in the lab's names.

use crate::host::Host;
use crate::options::WindowRule;
use pipefill_core::cell::{BUFFER_CAPPED, Direction, FlowSpec, Protocol};
use pipefill_core::plan::Run;
use pipefill_core::record::Setting;

/// The hosts' sysctls and the sockets' options.
pub(crate) fn all(run: &Run, hosts: [(&str, &Host); 2]) -> Vec<Setting> {
    let spec = &run.cell.spec;
    let mut settings = Vec::new();
    for ((place, host), spec) in hosts.into_iter().zip([&spec.sender, &spec.receiver]) {
        let asked = spec.sysctl.iter().map(|(name, value)| setting(place, name, Some(value), value, None));
        settings.extend(asked);
        let defaults = defaults(host).into_iter().filter(|(name, _)| !spec.sysctl.contains_key(*name));
        settings.extend(defaults.map(|(name, got)| setting(place, name, None, &got, None)));
    }
    let mut stream = 0;
    for flow in &spec.flows {
        for _ in 0..flow.parallel {
            if flow.protocol == Protocol::Tcp {
                settings.extend(socket_options(run, flow, stream));
            }
            stream += 1;
        }
    }
    settings
}

fn socket_options(run: &Run, flow: &FlowSpec, stream: u32) -> Vec<Setting> {
    let spec = &run.cell.spec;
    let host = match flow.direction {
        Direction::Forward => &spec.sender,
        Direction::Reverse => &spec.receiver,
    };
    let peer = match flow.direction {
        Direction::Forward => &spec.receiver,
        Direction::Reverse => &spec.sender,
    };
    let name = flow.congestion_control.as_ref().unwrap_or(&host.congestion_control);
    let sender = format!("stream {stream} sender");
    let receiver = format!("stream {stream} receiver");
    let mut settings = vec![setting(&sender, "TCP_CONGESTION", Some(name), name, None)];
    let sndbuf = flow.sndbuf.map(|asked| (asked, host.granted_sndbuf(asked)));
    let rcvbuf = flow.rcvbuf.map(|asked| (asked, peer.granted_rcvbuf(asked)));
    for (place, option, buffer) in [(&sender, "SO_SNDBUF", sndbuf), (&receiver, "SO_RCVBUF", rcvbuf)] {
        settings.extend(buffer.map(|(asked, granted)| {
            let (wanted, got) = (asked.get().to_string(), granted.get().saturating_mul(2).to_string());
            let is_capped = granted < asked;
            let why = if is_capped { BUFFER_CAPPED } else { "the kernel doubles it" };
            setting(place, option, Some(&wanted), &got, Some(why))
        }));
    }
    let nodelay = flow.nodelay.then_some([&sender, &receiver]).into_iter().flatten();
    settings.extend(nodelay.map(|place| setting(place, "TCP_NODELAY", Some("1"), "1", None)));
    settings.extend(flow.max_pacing_rate.map(|rate| {
        let bytes = (rate.bps() / 8).to_string();
        setting(&sender, "SO_MAX_PACING_RATE", Some(&bytes), &bytes, None)
    }));
    settings
}

fn defaults(host: &Host) -> Vec<(&'static str, String)> {
    let sizes = |sizes: [u64; 3]| sizes.map(|size| size.to_string()).join("\t");
    let flag = |on: bool| u8::from(on).to_string();
    let mut all = vec![
        ("net.ipv4.tcp_moderate_rcvbuf", flag(host.moderate_rcvbuf)),
        ("net.ipv4.tcp_rmem", sizes(host.rmem)),
        ("net.ipv4.tcp_sack", flag(true)),
        ("net.ipv4.tcp_slow_start_after_idle", flag(host.slow_start_after_idle)),
        ("net.ipv4.tcp_timestamps", flag(host.timestamps)),
        ("net.ipv4.tcp_window_scaling", flag(host.window_scaling)),
        ("net.ipv4.tcp_wmem", sizes(host.wmem)),
    ];
    if let WindowRule::AdvWinScale(scale) = host.window_rule {
        all.push(("net.ipv4.tcp_adv_win_scale", scale.to_string()));
    }
    all
}

fn setting(place: &str, name: &str, asked: Option<&str>, got: &str, why: Option<&str>) -> Setting {
    Setting {
        place: place.to_owned(),
        name: name.to_owned(),
        asked: asked.map(str::to_owned),
        got: Some(got.to_owned()),
        why: why.map(str::to_owned),
        met: true,
    }
}
