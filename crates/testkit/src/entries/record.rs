//! The seed of records that are changed: a short run of the lab with a TCP flow, a UDP flow and a ping, every table, every field.

use serde_json::Value;
use std::sync::LazyLock;

/// Its JSON.
pub static RECORD: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("record.json")).expect("the seed is JSON"));
