//! The manifest, and its command as each of the indices.

use super::*;
use crate::sweep::tests::described;
use std::process::Command;

fn printed() -> Value {
    let description = described(&["--engine", "kubernetes", "--shards", "4", "--at-once", "2"]).unwrap();
    let place = ClusterVolume::new("registry/pipefill:1", "records", Path::new("my sweep"), BackendName::Sim)
        .unwrap();
    manifest(&description, "name = \"four.cells\"\n", &place)
}

#[test]
fn a_job_has_an_index_for_each_shard() {
    let [map, job] = [0, 1].map(|at| printed()["items"][at].clone());
    assert_eq!(map["data"]["scenario.toml"], "name = \"four.cells\"\n");
    assert_eq!(map["metadata"]["name"], "pipefill-four-cells");
    assert_eq!([&job["spec"]["completions"], &job["spec"]["parallelism"]], [4, 2]);
    assert_eq!(
        job["spec"]["template"]["spec"]["volumes"][1]["persistentVolumeClaim"]["claimName"],
        "records"
    );
}

#[test]
fn every_index_runs_its_shard() {
    let command = printed()["items"][1]["spec"]["template"]["spec"]["containers"][0]["command"].clone();
    let script = command[2].as_str().unwrap();
    assert!(!script.contains("$("), "Kubernetes would take it for a variable of its own: {script}");
    for index in 0..4 {
        // A function in place of the program.
        let script = format!("pipefill() {{ printf '%s|' \"$@\"; }}; {script}");
        let output = Command::new("sh")
            .args(["-c", &script])
            .env("JOB_COMPLETION_INDEX", index.to_string())
            .output()
            .unwrap();
        let shard = index + 1;
        let expected = format!(
            "run|/scenario/scenario.toml|--on|sim|--jobs|1|--quiet|--resume|--shard|{shard}/4|--out|/data/my sweep/shards/{shard}|"
        );
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    }
}

#[test]
fn a_place_is_in_the_volume_and_needs_no_privilege() {
    let place = |folder: &'static str, on| ClusterVolume::new("image", "claim", Path::new(folder), on);
    assert!(place("a/b", BackendName::Sim).is_ok());
    for folder in ["/a", "../a", "a/../../b"] {
        assert!(place(folder, BackendName::Sim).is_err(), "{folder}");
    }
    assert!(place("a", BackendName::Lab).is_err());
}

#[test]
fn a_name_is_one_that_kubernetes_takes() {
    assert_eq!(name("RTT / loss"), "pipefill-rtt---loss");
    let long = name(&"x-".repeat(60));
    assert!(long.len() <= NAME_MAX && !long.ends_with('-'), "{long}");
}
