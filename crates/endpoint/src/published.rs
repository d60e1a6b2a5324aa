//! What the last look measured, and its forms, each made once, where somebody asks for it.

use crate::accept::Form;
use crate::exposition;
use hyper::body::Bytes;
use pipefill_observe::Metrics;
use pipefill_report::words::complete_connections;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// What was published last. Whoever publishes and whoever scrapes only swap or take a pointer while the other one waits.
#[derive(Debug, Clone)]
pub(crate) struct Publisher(Arc<Mutex<Arc<Published>>>);

/// What was measured by one look.
#[derive(Debug)]
pub(crate) struct Published {
    metrics: Arc<Metrics>,
    at: Instant,
    text: OnceLock<Bytes>,
    open_metrics: OnceLock<Bytes>,
    connections: OnceLock<Bytes>,
}

impl Publisher {
    /// Hands out `metrics`, until there are newer ones.
    pub(crate) fn new(metrics: Metrics) -> Self {
        Self(Arc::new(Mutex::new(Arc::new(Published::now(metrics)))))
    }

    /// Hands out `metrics` from now on.
    pub(crate) fn publish(&self, metrics: Metrics) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(Published::now(metrics));
    }

    pub(crate) fn last(&self) -> Arc<Published> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Published {
    fn now(metrics: Metrics) -> Self {
        Self {
            metrics: Arc::new(metrics),
            at: Instant::now(),
            text: OnceLock::new(),
            open_metrics: OnceLock::new(),
            connections: OnceLock::new(),
        }
    }

    /// The metrics.
    pub(crate) fn metrics(&self, form: Form) -> Bytes {
        let made = match form {
            Form::Text => &self.text,
            Form::OpenMetrics => &self.open_metrics,
        };
        made.get_or_init(|| exposition::render(&self.metrics, form).into()).clone()
    }

    /// The last findings, as `watch --json` prints them.
    pub(crate) fn connections(&self) -> Bytes {
        let json = || {
            let found = complete_connections(self.metrics.connections());
            // Every key is text, and every number finite.
            serde_json::to_vec_pretty(&found).unwrap_or_default().into()
        };
        self.connections.get_or_init(json).clone()
    }

    /// How long ago the look was.
    pub(crate) fn age(&self) -> Duration {
        self.at.elapsed()
    }
}
