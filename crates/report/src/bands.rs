//! What limited a run when, and in which congestion state it was, as bands of a picture.

use pipefill_analysis::band::{Band, Stay};
use pipefill_analysis::diagnosis::Span;
use pipefill_analysis::metrics::RunMetrics;
use pipefill_analysis::series::RunSeries;
use pipefill_core::tcp_info::CaState;

/// What limited the run when, in as many spans as its curves have buckets: a run of many has few.
pub(crate) fn limits(metrics: &RunMetrics, series: &RunSeries) -> Vec<Span> {
    let most =
        usize::try_from(series.span.length_us() / series.bucket_us.max(1)).unwrap_or(usize::MAX).max(8);
    let spans = metrics.timeline();
    let mut streams: Vec<(u32, Band<(_, _)>)> = Vec::new();
    for span in spans {
        let stay =
            Stay { from_us: span.from_us, to_us: span.to_us, value: (span.limited_by, span.cwnd_cause) };
        match streams.last_mut().filter(|(stream, _)| *stream == span.stream) {
            Some((_, band)) => band.push(stay),
            None => {
                let mut band = Band::of(most);
                band.push(stay);
                streams.push((span.stream, band));
            }
        }
    }
    let of_stream = |(stream, band): (u32, Band<(_, _)>)| {
        band.into_stays().into_iter().map(move |stay| Span {
            stream,
            from_us: stay.from_us,
            to_us: stay.to_us,
            limited_by: stay.value.0,
            cwnd_cause: stay.value.1,
        })
    };
    streams.into_iter().flat_map(of_stream).collect()
}

/// The word of the JSON.
pub(crate) const fn state_word(state: CaState) -> &'static str {
    match state {
        CaState::Open => "open",
        CaState::Disorder => "disorder",
        CaState::Cwr => "cwr",
        CaState::Recovery => "recovery",
        CaState::Loss => "loss",
    }
}
