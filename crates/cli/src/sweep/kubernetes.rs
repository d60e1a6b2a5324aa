//! The engine `kubernetes`: an Indexed Job, and the ConfigMap with its scenario. It is printed as JSON, which is YAML too, and nothing is
//! applied from here.

use super::{Description, SCENARIO, SHARD, shell};
use crate::args::BackendName;
use pipefill_runs::Failure;
use serde_json::{Value, json};
use std::path::{Component, Path};

/// Where the pod has the scenario, and the volume.
const SCENARIO_FOLDER: &str = "/scenario";
const VOLUME: &str = "/data";
/// Longest name of a Job: its pods' names and labels have room for it (RFC 1123 label, with index and suffix behind).
const NAME_MAX: usize = 50;
/// Tries of an index after the first one: a node that went, a run that was invalid. Kubernetes waits 10 s, 20 s, 40 s … before them, in all
/// longer than the lease of a shard whose node went.
const RETRIES: u32 = 5;
/// Exit code of a task that no other try helps: the machine can't do it.
const CANNOT: u32 = 3;
/// The user of the pod, which is not root (65532: what images call `nonroot`).
const USER: u32 = 65_532;

/// Where the records go, and what runs.
#[derive(Debug)]
pub(crate) struct ClusterVolume<'a> {
    /// The image; it has a shell.
    image: &'a str,
    /// The PersistentVolumeClaim.
    claim: &'a str,
    /// The sweep's folder in the volume.
    folder: &'a Path,
}

impl<'a> ClusterVolume<'a> {
    /// # Errors
    /// [`Failure`] for the lab, which a pod without privileges does not have, and for a folder outside of the volume.
    pub(crate) fn new(
        image: &'a str,
        claim: &'a str,
        folder: &'a Path,
        on: BackendName,
    ) -> Result<Self, Failure> {
        if on == BackendName::Lab {
            return Err(Failure::usage("the pods have no privilege for the lab", "write --on sim"));
        }
        if !folder.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(Failure::usage(
                format!("{} is no folder of the volume", folder.display()),
                "write a relative path without .., e.g. --out studies/rtt",
            ));
        }
        Ok(Self { image, claim, folder })
    }
}

/// A List of the two, for `kubectl apply -f -`.
pub(crate) fn manifest(description: &Description, scenario: &str, place: &ClusterVolume<'_>) -> Value {
    let name = name(&description.experiment);
    let metadata = json!({ "name": name, "labels": { "app.kubernetes.io/name": "pipefill" } });
    json!({
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            { "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { SCENARIO: scenario } },
            { "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": job(description, &name, place) },
        ],
    })
}

fn job(description: &Description, name: &str, place: &ClusterVolume<'_>) -> Value {
    json!({
        "completionMode": "Indexed",
        "completions": description.shards,
        "parallelism": description.at_once.unwrap_or(description.shards),
        "backoffLimitPerIndex": RETRIES,
        "podFailurePolicy": { "rules": [
            { "action": "FailIndex", "onExitCodes": { "operator": "In", "values": [CANNOT] } },
            { "action": "Ignore", "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] },
        ] },
        "template": { "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": USER, "runAsGroup": USER, "fsGroup": USER,
                "seccompProfile": { "type": "RuntimeDefault" },
            },
            "containers": [{
                "name": "shard",
                "image": place.image,
                "command": ["sh", "-c", script(description, place.folder)],
                "resources": { "requests": { "cpu": description.cpus.to_string() } },
                "securityContext": { "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } },
                "volumeMounts": [
                    { "name": "scenario", "mountPath": SCENARIO_FOLDER, "readOnly": true },
                    { "name": "data", "mountPath": VOLUME },
                ],
            }],
            "volumes": [
                { "name": "scenario", "configMap": { "name": name } },
                { "name": "data", "persistentVolumeClaim": { "claimName": place.claim } },
            ],
        } },
    })
}

/// Kubernetes counts from 0, shards from 1. No `$(`: that is Kubernetes' own syntax for a variable.
fn script(description: &Description, folder: &Path) -> String {
    let words = description.words(Path::new(SCENARIO_FOLDER), SHARD, &Path::new(VOLUME).join(folder));
    format!("shard=`expr \"$JOB_COMPLETION_INDEX\" + 1`; {}", shell("pipefill", &words))
}

/// A name that Kubernetes takes, from the scenario's.
fn name(experiment: &str) -> String {
    let letter =
        |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let name: String = format!("pipefill-{experiment}").chars().map(letter).take(NAME_MAX).collect();
    name.trim_end_matches('-').to_owned()
}

#[cfg(test)]
#[path = "kubernetes_tests.rs"]
mod tests;
