//! The graphs for xplot, in the files that tcptrace writes: the same commands, colours and endings of names.
//!
//! Time-sequence: data white, retransmissions with `R` (fast), `RTO` and `TLP` above them, ACKs green, the window yellow, SACK purple.
//! Times are seconds since 1970, sequence numbers count from the sender's first; rates are bits per second, where tcptrace has bytes.

use super::{Bins, Graphs, Series, ValueSpan};
use std::io::{self, Write};

/// A graph, each a file of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Graph {
    /// Data, ACKs and window over time.
    TimeSequence,
    /// Bytes outstanding against the advertised window.
    Windows,
    /// RTT samples.
    Rtt,
    /// What was sent and what was acknowledged.
    Throughput,
}

/// How a series of the time-sequence graph is drawn.
struct SeriesStyle {
    series: Series,
    colour: &'static str,
    /// Commands at the lower and the upper end.
    ends: [&'static str; 2],
    /// Text above it.
    text: &'static str,
}

const MARKS: [SeriesStyle; 13] = [
    style(Series::Data, "white", ["darrow", "uarrow"], ""),
    style(Series::OutOfOrder, "pink", ["darrow", "uarrow"], "O"),
    style(Series::FastRetransmit, "red", ["darrow", "uarrow"], "R"),
    style(Series::RtoRetransmit, "magenta", ["darrow", "uarrow"], "RTO"),
    style(Series::TlpRetransmit, "blue", ["darrow", "uarrow"], "TLP"),
    style(Series::Spurious, "orange", ["dot", "diamond"], "spurious"),
    style(Series::Sack, "purple", ["htick", "htick"], "S"),
    style(Series::Dsack, "orange", ["htick", "htick"], "D"),
    style(Series::ZeroWindow, "yellow", ["box", "box"], "Z"),
    style(Series::ZeroWindowProbe, "orange", ["dot", "dot"], "P"),
    style(Series::Syn, "orange", ["diamond", "uarrow"], "SYN"),
    style(Series::Fin, "orange", ["diamond", "box"], "FIN"),
    style(Series::Reset, "red", ["diamond", "box"], "RST"),
];

const fn style(
    series: Series,
    colour: &'static str,
    ends: [&'static str; 2],
    text: &'static str,
) -> SeriesStyle {
    SeriesStyle { series, colour, ends, text }
}

impl Graph {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::TimeSequence, Self::Windows, Self::Rtt, Self::Throughput];

    /// What tcptrace puts behind the name of a connection: `_tsg.xpl`.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::TimeSequence => "_tsg.xpl",
            Self::Windows => "_owin.xpl",
            Self::Rtt => "_rtt.xpl",
            Self::Throughput => "_tput.xpl",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::TimeSequence => "time sequence graph",
            Self::Windows => "outstanding data",
            Self::Rtt => "rtt samples",
            Self::Throughput => "throughput",
        }
    }

    const fn upward(self) -> &'static str {
        match self {
            Self::TimeSequence => "sequence number",
            Self::Windows => "outstanding data (bytes)",
            Self::Rtt => "rtt (ms)",
            Self::Throughput => "throughput (bits/s)",
        }
    }
}

/// Writes `graph` of `graphs`.
///
/// # Errors
/// Those of `to`.
pub fn write(graph: Graph, graphs: &Graphs, to: &mut impl Write) -> io::Result<()> {
    let [from, receiver] = graphs.ends();
    write!(to, "timeval unsigned\ntitle\n{from}_==>_{receiver} ({})\n", graph.title())?;
    write!(to, "xlabel\ntime\nylabel\n{}\n", graph.upward())?;
    let mut plot = Plot { start_ns: graphs.first_ns().unwrap_or(0), end_ns: graphs.length_ns(), to };
    match graph {
        Graph::TimeSequence => plot.time_sequence(graphs)?,
        Graph::Windows => {
            plot.stairs("yellow", graphs.of(Series::Window).as_slice(), "")?;
            plot.stairs("blue", graphs.of(Series::InFlight).as_slice(), "")?;
            plot.stairs("red", graphs.of(Series::Outstanding).as_slice(), "")?;
        }
        Graph::Rtt => plot.rtt(graphs.of(Series::Rtt).as_slice())?,
        Graph::Throughput => {
            plot.rates("yellow", graphs.sent())?;
            plot.rates("blue", graphs.acked())?;
        }
    }
    to.write_all(b"go\n")
}

struct Plot<'a, W> {
    start_ns: u64,
    end_ns: u64,
    to: &'a mut W,
}

impl<W: Write> Plot<'_, W> {
    fn time_sequence(&mut self, graphs: &Graphs) -> io::Result<()> {
        self.stairs("green", graphs.of(Series::Ack).as_slice(), "dtick")?;
        self.stairs("yellow", graphs.of(Series::WindowEdge).as_slice(), "utick")?;
        writeln!(self.to, "green")?;
        for span in graphs.of(Series::DuplicateAck).as_slice() {
            let (at, _) = self.times(span);
            writeln!(self.to, "dtick {at} {}", span.high)?;
        }
        MARKS.iter().try_for_each(|look| self.marks(look, graphs.of(look.series).as_slice()))
    }

    /// Vertical lines; a merged span has its count as a label.
    fn marks(&mut self, look: &SeriesStyle, spans: &[ValueSpan]) -> io::Result<()> {
        for (number, span) in spans.iter().enumerate() {
            if number == 0 {
                writeln!(self.to, "{}", look.colour)?;
            }
            let (at, until) = self.times(span);
            let [lower, upper] = look.ends;
            if span.low < span.high {
                writeln!(self.to, "{lower} {at} {}", span.low)?;
                writeln!(self.to, "line {at} {} {until} {}", span.low, span.high)?;
            }
            writeln!(self.to, "{upper} {until} {}", span.high)?;
            if !look.text.is_empty() {
                writeln!(self.to, "atext {until} {}", span.high)?;
                match span.count {
                    1 => writeln!(self.to, "{}", look.text)?,
                    count => writeln!(self.to, "{} {count}", look.text)?,
                }
            }
        }
        Ok(())
    }

    /// Values that hold until the next, the last until the end.
    fn stairs(&mut self, colour: &str, spans: &[ValueSpan], tick: &str) -> io::Result<()> {
        let mut spans = spans.iter().peekable();
        if spans.peek().is_some() {
            writeln!(self.to, "{colour}")?;
        }
        while let Some(span) = spans.next() {
            let (at, until) = self.times(span);
            let next_ns = spans.peek().map_or(self.end_ns, |next| next.from_ns);
            let next = self.time(next_ns.max(span.to_ns));
            if span.low < span.high {
                writeln!(self.to, "line {at} {} {until} {}", span.low, span.high)?;
            }
            writeln!(self.to, "line {until} {} {next} {}", span.high, span.high)?;
            if let Some(after) = spans.peek().filter(|after| after.low != span.high) {
                writeln!(self.to, "line {next} {} {next} {}", span.high, after.low)?;
            }
            if !tick.is_empty() {
                writeln!(self.to, "{tick} {until} {}", span.high)?;
            }
        }
        Ok(())
    }

    fn rtt(&mut self, spans: &[ValueSpan]) -> io::Result<()> {
        writeln!(self.to, "red")?;
        for span in spans {
            let (at, until) = self.times(span);
            let [low, high] = [span.low, span.high].map(|us| format!("{}.{:03}", us / 1000, us % 1000));
            writeln!(self.to, "dot {at} {low}")?;
            if span.low < span.high {
                writeln!(self.to, "line {at} {low} {until} {high}\ndot {until} {high}")?;
            }
        }
        Ok(())
    }

    fn rates(&mut self, colour: &str, bins: &Bins) -> io::Result<()> {
        writeln!(self.to, "{colour}")?;
        let mut before = None;
        for (from_ns, bps) in bins.rates() {
            let [at, until] = [from_ns, from_ns.saturating_add(bins.width_ns())].map(|ns| self.time(ns));
            if let Some(before) = before.filter(|&before| before != bps) {
                writeln!(self.to, "line {at} {before} {at} {bps}")?;
            }
            writeln!(self.to, "line {at} {bps} {until} {bps}")?;
            before = Some(bps);
        }
        Ok(())
    }

    fn times(&self, span: &ValueSpan) -> (String, String) {
        (self.time(span.from_ns), self.time(span.to_ns))
    }

    /// Seconds since 1970, with microseconds: more digits xplot does not read.
    fn time(&self, since_first_ns: u64) -> String {
        let us = self.start_ns.saturating_add(since_first_ns) / 1000;
        format!("{}.{:06}", us / 1_000_000, us % 1_000_000)
    }
}
