//! What limited a run when, in few enough spans for a picture.

use pipefill_analysis::findings::metrics::RunMetrics;
use pipefill_analysis::findings::series::RunSeries;
use pipefill_analysis::ground::step_function::{Step, StepFunction};
use pipefill_analysis::judge::Span;

/// What limited the run when, in as many spans as its curves have buckets: a run of many has few.
pub(crate) fn over_time(metrics: &RunMetrics, series: &RunSeries) -> Vec<Span> {
    let most =
        usize::try_from(series.span.length_us() / series.bucket_us.max(1)).unwrap_or(usize::MAX).max(8);
    let spans = metrics.timeline();
    let mut streams: Vec<(u32, StepFunction<(_, _, _, _)>)> = Vec::new();
    for span in spans {
        let step = Step {
            from_us: span.from_us,
            to_us: span.to_us,
            value: (span.limited_by, span.cause, span.cwnd_cause, span.rule),
        };
        match streams.last_mut().filter(|(stream, _)| *stream == span.stream) {
            Some((_, function)) => function.push(step),
            None => {
                let mut function = StepFunction::of(most);
                function.push(step);
                streams.push((span.stream, function));
            }
        }
    }
    let of_stream = |(stream, function): (u32, StepFunction<(_, _, _, _)>)| {
        function.into_steps().into_iter().map(move |step| Span {
            stream,
            from_us: step.from_us,
            to_us: step.to_us,
            limited_by: step.value.0,
            cause: step.value.1,
            cwnd_cause: step.value.2,
            rule: step.value.3,
        })
    };
    streams.into_iter().flat_map(of_stream).collect()
}
