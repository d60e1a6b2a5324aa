//! Applications on this machine's kernel: what is sent is what the scenario says, to the byte.

use crate::measuring::{Folder, Outcome, Test, lab, names, report, slow_test};
use pipefill_core::record::{Manifest, StreamEnd, TcpSample};
use pipefill_store::{decode_manifest, decode_table};
use serde_json::Value;
use std::fs::File;
use std::path::PathBuf;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        slow_test("every_request_has_one_response", every_request_has_one_response),
        slow_test("both_directions_have_conversations_of_their_own", both_directions),
        slow_test("messages_are_answered", messages_are_answered),
        slow_test("no_more_than_the_window_is_outstanding", no_more_than_the_window_is_outstanding),
        slow_test("bursts_arrive_whole", bursts_arrive_whole),
        slow_test("bursts_of_datagrams_have_their_sizes", bursts_of_datagrams_have_their_sizes),
        slow_test("nodelay_is_asked_for_at_both_ends", nodelay_is_asked_for_at_both_ends),
    ]
}

/// A run of two seconds over a path of 10 ms with this flow.
struct Conversation {
    _folder: Folder,
    report: Value,
    manifest: Manifest,
    run: PathBuf,
}

impl Conversation {
    fn with(flow: &str) -> Result<Self, crate::measuring::Skip> {
        let folder = lab()?;
        let text = format!(
            "name = \"conversation\"\n[path]\nrtt = \"10ms\"\nrate = \"50mbit\"\nqueue = \"1000p\"\n\
             [[flow]]\nduration = \"2s\"\n{flow}\n[run]\nrepeat = 1\n"
        );
        folder.write("conversation.toml", &text);
        let report = report(&folder, &["conversation.toml"])?;
        let runs = folder.path("lab/runs");
        let run = runs.join(&names(&runs)[0]);
        let manifest = decode_manifest(File::open(run.join("manifest.json")).unwrap()).unwrap();
        Ok(Self { _folder: folder, report, manifest, run })
    }

    fn samples(&self) -> Vec<TcpSample> {
        decode_table(File::open(self.run.join("tcp.jsonl.zst")).unwrap()).unwrap()
    }
}

fn every_request_has_one_response() -> Outcome {
    let conversation = Conversation::with(
        "parallel = 2\napp = { kind = \"requests\", request = \"300B\", response = \"20000B\", count = 6, outstanding = 2 }",
    )?;
    for stream in &conversation.manifest.streams {
        assert_eq!((stream.sent_bytes, stream.received_bytes), (120_000, 120_000), "{stream:?}");
        let asked = stream.tcp.and_then(|info| info.bytes_received);
        assert_eq!(asked, Some(6 * 300), "what the server's socket received");
    }
    assert_eq!(conversation.manifest.streams.len(), 2);
    assert_eq!(conversation.report["cells"][0]["valid"], 1);
    Ok(())
}

fn both_directions() -> Outcome {
    let conversation = Conversation::with(
        "direction = \"both\"\napp = { kind = \"requests\", response = \"5000B\", count = 3, think = \"5ms\", pause = \"5ms\" }",
    )?;
    let received: Vec<u64> =
        conversation.manifest.streams.iter().map(|stream| stream.received_bytes).collect();
    assert_eq!(received, [15_000; 2]);
    assert_eq!(conversation.report["cells"][0]["flows"].as_array().map(Vec::len), Some(2));
    Ok(())
}

fn messages_are_answered() -> Outcome {
    let conversation =
        Conversation::with("app = { kind = \"writes\", sizes = [\"300B\", \"1200B\"], response = \"7B\" }")?;
    let [stream] = &conversation.manifest.streams[..] else { panic!("one stream") };
    let answers = stream.tcp.and_then(|info| info.bytes_received).expect("the kernel counts it");
    assert!(answers >= 7, "{answers}");
    // A message is written when the one before is answered.
    let (begun, answered) = (stream.sent_bytes.div_ceil(1_500), answers / 7);
    assert!(begun == answered || begun == answered + 1, "{begun} messages, {answered} answers");
    Ok(())
}

fn no_more_than_the_window_is_outstanding() -> Outcome {
    const WINDOW: u64 = 20_000;
    let conversation = Conversation::with("nodelay = true\napp = { kind = \"window\", size = \"20000B\" }")?;
    let samples = conversation.samples();
    let held = |info: &pipefill_core::tcp_info::TcpInfo| {
        // What was written and not acknowledged; credits come with or after the acknowledgement.
        Some(
            info.bytes_sent? - info.bytes_retrans? + u64::from(info.notsent_bytes?)
                - info.bytes_acked?.saturating_sub(1),
        )
    };
    let sender = samples.iter().filter(|sample| sample.end == StreamEnd::Sender);
    let most = sender.filter_map(|sample| held(&sample.info)).max().expect("samples");
    let [stream] = &conversation.manifest.streams[..] else { panic!("one stream") };
    println!("{most} bytes at most, {} in all", stream.received_bytes);
    assert!(most <= WINDOW + 1, "{most} bytes without an acknowledgement");
    assert!(stream.received_bytes > WINDOW, "{} bytes: no credit came", stream.received_bytes);
    let credits = stream.tcp.and_then(|info| info.bytes_received).expect("the kernel counts it");
    assert_eq!(credits % 36, 0, "{credits} bytes of credits");
    assert!(
        stream.sent_bytes <= WINDOW + credits / 36 * (WINDOW / 2),
        "{stream:?}, {credits} bytes of credits"
    );
    Ok(())
}

/// Three bursts are due within two seconds.
fn bursts_arrive_whole() -> Outcome {
    let conversation =
        Conversation::with("app = { kind = \"bursts\", size = \"100kB\", every = \"700ms\" }")?;
    let [stream] = &conversation.manifest.streams[..] else { panic!("one stream") };
    assert_eq!((stream.sent_bytes, stream.received_bytes), (300_000, 300_000));
    Ok(())
}

/// 3100 bytes are three datagrams, of which the last has 204 bytes.
fn bursts_of_datagrams_have_their_sizes() -> Outcome {
    let conversation = Conversation::with(
        "protocol = \"udp\"\nparallel = 2\napp = { kind = \"bursts\", size = \"3100B\", every = \"700ms\" }",
    )?;
    for stream in &conversation.manifest.streams {
        let totals = stream.udp.expect("datagrams");
        assert_eq!((totals.sent, totals.received, stream.received_bytes), (9, 9, 3 * 3_100), "{stream:?}");
    }
    Ok(())
}

fn nodelay_is_asked_for_at_both_ends() -> Outcome {
    let places = |flow: &str| {
        let conversation = Conversation::with(flow)?;
        let settings = conversation.manifest.settings.iter().filter(|setting| setting.name == "TCP_NODELAY");
        Ok::<_, crate::measuring::Skip>(
            settings.map(|setting| (setting.place.clone(), setting.met)).collect::<Vec<_>>(),
        )
    };
    let flow = "app = { kind = \"requests\", response = \"5000B\", count = 1 }";
    let at = |place: &str| (place.to_owned(), true);
    assert_eq!(places(&format!("{flow}\nnodelay = true"))?, [at("stream 0 sender"), at("stream 0 receiver")]);
    assert_eq!(places(flow)?, []);
    Ok(())
}
