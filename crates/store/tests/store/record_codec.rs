//! Records as bytes and back: what goes in comes out, and damage says where.

use pipefill_core::plan::Run;
use pipefill_core::record::{
    CapturePoint, DeliverySample, Environment, Instrument, Manifest, PacketSample, PathSample,
    RECORD_VERSION, StreamEnd, Subject, TableSummary, TcpSample,
};
use pipefill_core::scenario::Scenario;
use pipefill_core::tcp_info::TcpInfo;
use pipefill_core::units::Ratio;
use pipefill_store::{
    RecordError, TableReader, decode_manifest, decode_table, encode_manifest, encode_table,
};
use proptest::prelude::*;
use std::io::Read;

fn run() -> Run {
    let scenario = Scenario::parse("name = \"x\"\n[run]\nwarmup = \"1s\"\n", "x.toml").expect("a scenario");
    scenario.plan().runs().remove(0)
}

fn manifest() -> Manifest {
    Manifest {
        version: RECORD_VERSION,
        pipefill: "0.1.0".to_owned(),
        backend: "sim".to_owned(),
        run: run(),
        subject: Subject::Planned,
        started_unix_ms: None,
        wall_ms: None,
        environment: Environment::default(),
        settings: Vec::new(),
        streams: Vec::new(),
        counters: Vec::new(),
        aqm: Vec::new(),
        instrument: Instrument::default(),
        invalid: Vec::new(),
        tables: None,
        artifacts: Vec::new(),
    }
}

fn manifest_text() -> String {
    let mut bytes = Vec::new();
    encode_manifest(&manifest(), &mut bytes).expect("a manifest");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

fn compressed(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 1).expect("memory")
}

fn tcp_sample(t_us: u64, cwnd_bytes: u64, srtt_us: Option<u32>) -> TcpSample {
    TcpSample {
        sndbuf_bytes: Some(87_380),
        ..TcpSample::of_info(
            t_us,
            0,
            StreamEnd::Sender,
            TcpInfo { cwnd_bytes: Some(cwnd_bytes), srtt_us, ..TcpInfo::default() },
        )
    }
}

#[test]
fn a_table_holds_no_null_and_its_rows_come_back() {
    let rows = [tcp_sample(1, 2, None), tcp_sample(1, 2, Some(7))];
    let mut bytes = Vec::new();
    encode_table(&rows, &mut bytes).expect("a table");
    let text = zstd::decode_all(bytes.as_slice()).expect("text");
    let text = String::from_utf8(text).expect("UTF-8");
    assert!(!text.contains("null") && text.contains(r#""srtt_us":9007199254740991"#), "{text}");
    assert_eq!(decode_table::<TcpSample>(bytes.as_slice()).expect("rows"), rows);
    let with_nulls: String =
        rows.iter().map(|row| serde_json::to_string(row).expect("JSON") + "\n").collect();
    assert!(with_nulls.contains(r#""srtt_us":null"#), "as pipefill 0.1.0 wrote it");
    assert_eq!(decode_table::<TcpSample>(&*compressed(&with_nulls)).expect("rows"), rows);
}

#[test]
fn a_manifest_comes_back() {
    let text = manifest_text();
    assert!(text.ends_with("}\n"));
    assert_eq!(decode_manifest(text.as_bytes()).expect("a manifest"), manifest());
}

#[test]
fn what_was_not_measured_is_null_in_the_manifest_and_a_gap_or_absent_in_tables() {
    let mut bytes = Vec::new();
    encode_table(&[tcp_sample(1, 2, None)], &mut bytes).expect("a table");
    let text = String::from_utf8(zstd::decode_all(&*bytes).expect("zstd")).expect("UTF-8");
    assert!(text.contains("\"srtt_us\":9007199254740991") && !text.contains("null"), "{text}");
    assert!(!text.contains("rmem_alloc_bytes"), "{text}");
    assert_eq!(decode_table::<TcpSample>(bytes.as_slice()).expect("a table"), [tcp_sample(1, 2, None)]);
    assert!(manifest_text().contains("\"started_unix_ms\": null"));
}

#[test]
fn a_manifest_of_another_version_says_what_reads_it() {
    let newer = manifest_text()
        .replace("\"version\": 2", "\"version\": 7")
        .replace("\"pipefill\": \"0.1.0\"", "\"pipefill\": \"3.2.0\"")
        .replace("\"backend\"", "\"renamed\"");
    let error = decode_manifest(newer.as_bytes()).expect_err("a newer version");
    let message = error.to_string();
    assert!(message.contains("version 7") && message.contains("versions 1 to 2"), "{message}");
    assert!(message.contains("pipefill 3.2.0 or newer"), "{message}");
}

#[test]
fn unknown_fields_are_let_pass_and_missing_ones_are_named() {
    let more = manifest_text().replacen('{', "{\"new_field\": [1, 2],", 1);
    assert_eq!(decode_manifest(more.as_bytes()).expect("a manifest"), manifest());
    let less = manifest_text().replace("\"backend\"", "\"renamed\"");
    let error = decode_manifest(less.as_bytes()).expect_err("no backend");
    assert!(error.to_string().contains("missing field `backend`"), "{error}");
    let row = compressed("{\"t_us\":1,\"stream\":0,\"sent_bytes\":2,\"received_bytes\":3,\"later\":4}\n");
    let rows: Vec<DeliverySample> = decode_table(&*row).expect("a row");
    assert_eq!(rows[0].received_bytes, 3);
}

#[test]
fn a_bad_row_is_named_by_table_and_line() {
    let good = "{\"t_us\":1,\"stream\":0,\"sent_bytes\":2,\"received_bytes\":3}\n";
    let bytes = compressed(&format!("{good}\n{good}{{\"t_us\":-1}}\n"));
    let error = decode_table::<DeliverySample>(&*bytes).expect_err("line 4");
    assert!(matches!(error, RecordError::Row { table: "delivery", line: 4, .. }), "{error:?}");
    assert!(error.to_string().starts_with("delivery.jsonl.zst, line 4: "), "{error}");
}

/// A record that somebody mailed may say that a run took longer than the world stands.
#[test]
fn an_integer_above_two_to_the_53_is_refused_by_its_key() {
    let row = compressed("{\"t_us\":1,\"stream\":0,\"sent_bytes\":9007199254740993,\"received_bytes\":3}\n");
    let error = decode_table::<DeliverySample>(&*row).expect_err("too large").to_string();
    let told = "delivery.jsonl.zst, line 1: \"sent_bytes\" is an integer above 2^53, which no run measures";
    assert_eq!(error, told);
    let text =
        manifest_text().replace("\"started_unix_ms\": ", "\"started_unix_ms\": 99999999999999999, \"was\": ");
    let error = decode_manifest(text.as_bytes()).expect_err("too large").to_string();
    assert!(error.contains("\"started_unix_ms\" is an integer above 2^53"), "{error}");
}

#[test]
fn a_table_that_was_cut_short_is_an_error() {
    let rows: Vec<TcpSample> = (0..1000).map(|t| tcp_sample(t, t * 7919, None)).collect();
    let mut bytes = Vec::new();
    encode_table(&rows, &mut bytes).expect("a table");
    let error = decode_table::<TcpSample>(&bytes[..bytes.len() / 2]).expect_err("half a table");
    assert!(matches!(error, RecordError::Io { table: "tcp", .. }), "{error:?}");
}

/// So that no reader takes a changed frame for a whole one, whatever else it checks.
#[test]
fn a_table_has_a_checksum() {
    let rows: Vec<TcpSample> = (0..100).map(|t| tcp_sample(t, t * 7919, None)).collect();
    let mut bytes = Vec::new();
    encode_table(&rows, &mut bytes).expect("a table");
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        if let Ok(read) = decode_table::<TcpSample>(&*changed) {
            assert_eq!(read, rows, "byte {at}");
        }
    }
}

/// Compressed to some kB, and would take all memory as one line.
#[test]
fn a_line_that_is_no_row_is_not_read_to_its_end() {
    for filler in [" ", "x"] {
        let bytes = compressed(&filler.repeat(64 << 20));
        assert!(bytes.len() < 10_000, "{}", bytes.len());
        let error = decode_table::<DeliverySample>(&*bytes).expect_err("no row");
        assert!(matches!(error, RecordError::LongRow { table: "delivery", line: 1 }), "{error:?}");
    }
}

#[test]
fn a_frame_that_wants_more_memory_than_ours_is_refused() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
    encoder.window_log(27).expect("a window");
    std::io::Write::write_all(&mut encoder, &vec![b'\n'; 16 << 20]).expect("memory");
    let bytes = encoder.finish().expect("a frame");
    let error = decode_table::<DeliverySample>(&*bytes).expect_err("a window of 128 MiB");
    assert!(matches!(error, RecordError::Io { table: "delivery", .. }), "{error:?}");
}

#[test]
fn a_table_has_the_rows_that_are_listed() {
    let rows: Vec<TcpSample> = (0..3).map(|t| tcp_sample(t, 1, None)).collect();
    let mut bytes = Vec::new();
    encode_table(&rows, &mut bytes).expect("a table");
    let read = |listed| -> Result<Vec<TcpSample>, RecordError> {
        TableReader::new(&*bytes).expect("a table").listed(listed).collect()
    };
    assert_eq!(read(3).expect("as listed"), rows);
    let [fewer, more] = [4, 2].map(|listed| read(listed).expect_err("not as listed").to_string());
    assert_eq!(fewer, "tcp.jsonl.zst: it has 3 rows, and the manifest lists 4");
    assert_eq!(more, "tcp.jsonl.zst: it has more rows, and the manifest lists 2");
}

#[test]
fn a_name_that_leads_elsewhere_is_refused_with_its_field() {
    for name in ["/etc/x", "../x", "..", "a/b", "", "a\\u0000"] {
        let directory = manifest_text().replace("\"0000-r1\"", &format!("\"{name}\""));
        let error = decode_manifest(directory.as_bytes()).expect_err("a path");
        let text = error.to_string();
        assert!(text.starts_with("manifest.json: run.directory: ") && text.contains("not a name"), "{text}");
        let experiment =
            manifest_text().replace("\"experiment\": \"x\"", &format!("\"experiment\": \"{name}\""));
        let text = decode_manifest(experiment.as_bytes()).expect_err("a path").to_string();
        assert!(text.starts_with("manifest.json: run.experiment: "), "{text}");
    }
}

#[test]
fn a_manifest_without_an_end_is_not_read_to_its_end() {
    let error = decode_manifest(std::io::repeat(b' ')).expect_err("no manifest");
    assert!(matches!(error, RecordError::LongManifest), "{error:?}");
}

#[test]
fn a_record_of_0_1_0_lists_no_tables() {
    assert!(!manifest_text().contains("tables"));
    let tables = vec![TableSummary { table: "tcp".to_owned(), rows: 1, bytes: 2, sha256: "ab".to_owned() }];
    let newer = Manifest { tables: Some(tables), ..manifest() };
    let mut bytes = Vec::new();
    encode_manifest(&newer, &mut bytes).expect("a manifest");
    assert_eq!(decode_manifest(&*bytes).expect("a manifest"), newer);
}

#[test]
fn an_empty_table_is_a_table() {
    let mut bytes = Vec::new();
    encode_table::<PathSample>(&[], &mut bytes).expect("a table");
    assert!(!bytes.is_empty());
    assert_eq!(decode_table::<PathSample>(&*bytes).expect("a table"), []);
}

proptest! {
    #[test]
    fn rows_come_back(values in prop::collection::vec((0..=1_u64 << 53, 0..=1_u64 << 53, any::<Option<u32>>()), 0..50)) {
        let rows: Vec<TcpSample> = values.into_iter().map(|(t, cwnd, srtt)| tcp_sample(t, cwnd, srtt)).collect();
        let mut bytes = Vec::new();
        encode_table(&rows, &mut bytes).expect("a table");
        prop_assert_eq!(decode_table::<TcpSample>(&*bytes).expect("a table"), rows);
    }

    #[test]
    fn fractions_come_back_to_the_last_bit(fraction in 0.0_f64..=1.0) {
        let mut before = manifest();
        before.run.cell.spec.path.forward.duplicate = Ratio::from_fraction(fraction);
        let mut bytes = Vec::new();
        encode_manifest(&before, &mut bytes).expect("a manifest");
        prop_assert_eq!(decode_manifest(&*bytes).expect("a manifest"), before);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = (decode_table::<TcpSample>(&*bytes), decode_manifest(&*bytes));
        let _ = decode_table::<TcpSample>(&*zstd::encode_all(&*bytes, 1).expect("memory"));
    }
}

/// What is not known before the handshake or a first round trip is a gap, and stays one.
#[test]
fn samples_of_packets_come_back_as_they_were() {
    let first = PacketSample {
        t_us: 10,
        end: StreamEnd::Receiver,
        capture_point: CapturePoint::Receiver,
        acked_bytes: 1_448,
        prompt_bytes: 2_896,
        ..PacketSample::default()
    };
    let later = PacketSample {
        t_us: 20,
        ca_state: Some(pipefill_core::tcp_info::CaState::Recovery),
        rwnd_bytes: Some(65_535),
        srtt_us: Some(20_000.into()),
        path_rtt_us: Some(19_000),
        rwnd_at_peak_bytes: Some(64_000),
        ..first
    };
    let mut bytes = Vec::new();
    encode_table(&[first, later], &mut bytes).expect("a table");
    assert_eq!(decode_table::<PacketSample>(&*bytes).expect("the table"), [first, later]);
    let text = String::from_utf8(zstd::decode_all(&*bytes).expect("a frame")).expect("JSON is UTF-8");
    assert!(!text.contains("null"), "{text}");
    let columns: Vec<usize> = text.lines().map(|line| line.matches("\":").count()).collect();
    assert_eq!(columns[0], columns[1], "readers infer the columns from the first rows");
}

/// A gigabyte of line ends is 100 kB of zstd: reading ends at the first thousand, whatever the manifest lists.
#[test]
fn a_table_of_empty_lines_ends_at_once() {
    let row = "{\"t_us\":0,\"stream\":0,\"sent_bytes\":0,\"received_bytes\":0}\n";
    let ends = || std::io::repeat(b'\n').take(1 << 28);
    for begin in ["", row] {
        let bomb = zstd::encode_all(begin.as_bytes().chain(ends()), 1).expect("memory");
        let mut reader = TableReader::<DeliverySample, _>::new(&*bomb).expect("zstd").listed(1);
        let read: Vec<_> = reader.by_ref().collect();
        let last = read.last().expect("an error");
        let line = 1_025 + begin.len().min(1);
        assert!(
            matches!(last, Err(RecordError::EmptyLines { table: "delivery", line: found }) if *found == line),
            "{last:?}"
        );
        assert_eq!(read.len(), 1 + begin.len().min(1));
        assert_eq!(
            last.as_ref().expect_err("it").to_string(),
            format!("delivery.jsonl.zst, line {line}: more than 1024 empty lines, which no table has")
        );
    }
}
