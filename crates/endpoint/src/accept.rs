//! Which form a scraper asks for in its header `Accept` (RFC 9110, 12.5.1).

/// A form of the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Prometheus' text, version 0.0.4.
    Text,
    /// OpenMetrics 1.0.0, which has exemplars.
    OpenMetrics,
}

impl Form {
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// OpenMetrics where `accept` names it and prefers no text; else text, which everybody reads.
    pub(crate) fn preferred(accept: &str) -> Self {
        let (mut text, mut open) = (0.0_f64, 0.0_f64);
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            let (mut quality, mut is_known) = (1.0, true);
            for parameter in parts {
                match parameter
                    .split_once('=')
                    .map(|(name, value)| (name.trim(), value.trim().trim_matches('"')))
                {
                    // What is no number asks for nothing.
                    Some(("q", value)) => quality = value.parse().unwrap_or(0.0),
                    Some(("version", version)) => is_known = ["0.0.1", "0.0.4", "1.0.0"].contains(&version),
                    _ => {}
                }
            }
            match &*kind {
                "text/plain" => text = text.max(quality),
                "application/openmetrics-text" if is_known => open = open.max(quality),
                _ => {}
            }
        }
        if open > 0.0 && open >= text { Self::OpenMetrics } else { Self::Text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn openmetrics_is_for_those_that_name_it() {
        for (accept, form) in [
            ("", Form::Text),
            ("*/*", Form::Text),
            ("text/plain", Form::Text),
            ("application/openmetrics-text", Form::OpenMetrics),
            ("Application/OpenMetrics-Text; Version=1.0.0", Form::OpenMetrics),
            ("application/openmetrics-text;version=1.0.0,text/plain;q=0.5", Form::OpenMetrics),
            ("application/openmetrics-text;q=0.2,text/plain;version=0.0.4;q=0.5", Form::Text),
            ("application/openmetrics-text;version=2.0.0,*/*;q=0.1", Form::Text),
            ("application/openmetrics-text;q=0", Form::Text),
            ("application/openmetrics-text;q=much", Form::Text),
            // Prometheus 2.42, and one that reads protobuf too.
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                Form::OpenMetrics,
            ),
            (
                "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.5",
                Form::OpenMetrics,
            ),
        ] {
            assert_eq!(Form::preferred(accept), form, "{accept}");
        }
    }

    proptest! {
        #[test]
        fn any_header_asks_for_one_of_both(accept in ".{0,200}") {
            Form::preferred(&accept);
        }
    }
}
