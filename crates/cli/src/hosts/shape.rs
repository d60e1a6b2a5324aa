//! Where an interface is given the path of a scenario.

use pipefill_core::backend::BackendError;
use pipefill_core::cell::PathSpec;
use pipefill_core::hosts::Shape;

/// The interface while it is shaped.
#[derive(Debug)]
pub(super) struct Shaped;

/// Shapes the interface of `shape` as `path` asks, until the result goes.
///
/// # Errors
/// [`BackendError::Unsupported`].
pub(super) fn prepare(shape: &Shape, _path: &PathSpec) -> Result<Shaped, BackendError> {
    Err(BackendError::Unsupported {
        what: format!("hosts.shape = \"{shape}\": shaping an interface is not built yet"),
        remedy: "leave hosts.shape and the keys of [path] out, and measure the path as it is".to_owned(),
    })
}
