//! One end of a test: its streams at work, what they count after the time that is left out, and samples of their sockets.

use pipefill_core::record::{Instrument, TcpSample};
use pipefill_core::tcp_info::TcpInfo;
use pipefill_core::units::{Bytes, Rate, Time};
use pipefill_lab::one_end::{Counted, EndInstrument, StreamSocket, Transfer, Work, cpu_times_us};
use pipefill_remote::far_end::{FarEnd, FarStream};
use pipefill_remote::iperf3::{Parameters, Results, StreamResult, Transport, stream_id};
use std::io;
use std::time::Duration;

/// From one sample to the next, at first, where nobody wants it otherwise.
pub const SAMPLE: Duration = Duration::from_millis(20);

/// What all streams had counted at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Mark {
    /// When.
    pub(super) at: Time,
    /// Each stream's counts.
    pub(super) counted: Vec<Counted>,
    /// Each stream's `tcp_info`; `None` for UDP.
    pub(super) infos: Vec<Option<TcpInfo>>,
}

/// The end.
#[derive(Debug)]
pub(super) struct End {
    pub(super) transfer: Transfer,
    is_udp: bool,
    omit: Duration,
    /// When data began to flow.
    began: Time,
    /// What was counted when the time that is left out had ended; that of the start until then.
    base: Mark,
    has_omitted: bool,
    /// What was counted at the end.
    stopped: Option<Mark>,
    /// Samples of each stream of TCP, where they are wanted.
    pub(super) samples: Vec<Vec<TcpSample>>,
    /// What newest datagrams of each stream of UDP told, after the time that is left out, where that is wanted.
    pub(super) transits: Vec<Vec<(u64, i64)>>,
    /// All streams together.
    samples_max: usize,
    every: Duration,
    next: Time,
    cpu_us: [u64; 2],
    /// How punctual it is, where samples are wanted; and how it was, in the end.
    instrument: Option<EndInstrument>,
    punctual: Option<Instrument>,
}

impl End {
    /// Of connected `streams`, in the order of their numbers. `samples_max` is 0 where nobody wants samples; `most` bounds what is sent and
    /// read, bits per second of all streams in a direction.
    ///
    /// # Errors
    /// Those of the sockets.
    pub(super) fn new(
        asked: &Parameters,
        streams: Vec<StreamSocket>,
        most: Option<Rate>,
        (samples_max, every): (usize, Duration),
    ) -> io::Result<Self> {
        let is_udp = asked.transport == Transport::Udp;
        let share = most.map(|most| Rate::from_bps((most.bps() / u64::from(asked.streams.max(1))).max(1)));
        let wanted = (asked.bitrate_bps > 0).then(|| Rate::from_bps(asked.bitrate_bps));
        let reads = (asked.read_rate_bps > 0).then(|| Rate::from_bps(asked.read_rate_bps));
        let work = Work {
            is_udp,
            length: Bytes::new(asked.length),
            bitrate: least(wanted, share),
            read_rate: least(reads, share),
            has_wide_counters: asked.has_wide_counters,
        };
        let count = if samples_max == 0 { 0 } else { streams.len() };
        let (tcp, udp) = if is_udp { (0, count) } else { (count, 0) };
        let transfer = Transfer::start(work, streams)?;
        Ok(Self {
            transfer,
            is_udp,
            omit: Duration::from_secs(asked.omit_s),
            began: Time::ZERO,
            base: Mark::default(),
            has_omitted: false,
            stopped: None,
            samples: vec![Vec::new(); tcp],
            transits: vec![Vec::new(); udp],
            samples_max,
            every,
            next: Time::ZERO,
            cpu_us: cpu_times_us(),
            instrument: None,
            punctual: None,
        })
    }

    /// Data flows from now on.
    ///
    /// # Errors
    /// There can be no more threads.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        // The other end may have begun before this one heard of it: what has come in already counts.
        self.base = Mark { counted: vec![Counted::default(); self.transfer.len()], ..self.mark() };
        self.began = self.base.at;
        self.has_omitted = self.omit.is_zero();
        self.next = self.began;
        self.instrument = self.is_sampling().then(|| EndInstrument::start(&self.transfer)).transpose()?;
        self.transfer.send()
    }

    /// What was counted so far.
    pub(super) fn mark(&self) -> Mark {
        let infos = (0..self.transfer.len()).map(|index| match self.is_udp {
            true => None,
            false => self.transfer.sample(index).map(|sample| sample.info),
        });
        Mark { infos: infos.collect(), counted: self.transfer.counted(), at: self.transfer.now() }
    }

    /// Takes a sample where one is due, and notes when the time that is left out has ended: true once then.
    pub(super) fn tick(&mut self) -> bool {
        let now = self.transfer.now();
        if now >= self.next && self.is_sampling() {
            self.sample();
            match &mut self.instrument {
                Some(instrument) => self.next = instrument.note_sample(self.next, self.every, now),
                None => self.next = now.after(self.every),
            }
        }
        if self.has_omitted || now < self.began.after(self.omit) {
            return false;
        }
        self.base = self.mark();
        self.transits.iter_mut().for_each(Vec::clear);
        self.has_omitted = true;
        true
    }

    /// Whether anybody wants samples.
    const fn is_sampling(&self) -> bool {
        !self.samples.is_empty() || !self.transits.is_empty()
    }

    fn sample(&mut self) {
        for (index, samples) in self.samples.iter_mut().enumerate() {
            samples.extend(self.transfer.sample(index));
        }
        if !self.transits.is_empty() {
            for (transits, counted) in self.transits.iter_mut().zip(self.transfer.counted()) {
                // Between two samples nothing may have come.
                transits.extend(counted.transit.filter(|newest| transits.last() != Some(newest)));
            }
        }
        let held = self.samples.iter().map(Vec::len).chain(self.transits.iter().map(Vec::len)).sum::<usize>();
        if held > self.samples_max {
            self.every *= 2;
            self.samples.iter_mut().for_each(halve);
            self.transits.iter_mut().for_each(halve);
        }
    }

    /// How long nothing is to be done, `most` at most.
    pub(super) fn idle_for(&self, most: Duration) -> Duration {
        let now = self.transfer.now();
        let omitted = (!self.has_omitted).then(|| self.began.after(self.omit));
        let sample = self.is_sampling().then_some(self.next);
        let next = Time::earliest(omitted, sample).map_or(most, |due| due.since(now));
        next.min(most)
    }

    /// Time since data began to flow.
    pub(super) fn elapsed(&self) -> Duration {
        self.transfer.now().since(self.began)
    }

    /// Time since what counts began; `None` while that is left out.
    pub(super) fn counting_for(&self) -> Option<Duration> {
        self.has_omitted.then(|| self.transfer.now().since(self.base.at))
    }

    /// What had been counted when what counts began.
    pub(super) const fn base(&self) -> &Mark {
        &self.base
    }

    /// How often samples were taken at last.
    pub(super) const fn every(&self) -> Duration {
        self.every
    }

    /// Payload since what counts began, of the streams on which this end sends, or of those on which it receives.
    pub(super) fn moved(&self, sends: bool) -> u64 {
        let of_way = |counted: &[Counted]| -> u64 {
            let places = (0..self.transfer.len()).filter(|&index| self.transfer.sends(index) == sends);
            places.filter_map(|index| counted.get(index)).map(|counts| counts.bytes).sum()
        };
        of_way(&self.transfer.counted()).saturating_sub(of_way(&self.base.counted))
    }

    /// Payload that has come in since data began to flow.
    pub(super) fn received(&self) -> u64 {
        let counted = self.transfer.counted();
        let received = counted.iter().enumerate().filter(|&(index, _)| !self.transfer.sends(index));
        received.map(|(_, counted)| counted.bytes).sum()
    }

    /// The test is over at this end: nothing more is sent, and what was counted counts. The time until the senders have noticed does not.
    pub(super) fn stop(&mut self) {
        if self.is_sampling() {
            self.sample();
        }
        let at = self.transfer.now();
        self.instrument.iter().for_each(EndInstrument::stop);
        self.transfer.stop_sending();
        let punctual = self.instrument.as_mut().map(|instrument| instrument.finish(&self.transfer));
        self.punctual = punctual;
        self.stopped = Some(Mark { at, ..self.mark() });
    }

    /// How punctual this end was, once it has stopped; `None` where it did not sample.
    pub(super) const fn punctual(&self) -> Option<&Instrument> {
        self.punctual.as_ref()
    }

    /// What the peer of stream `index` has acknowledged since what counts began; `None` where this end does not send by TCP.
    pub(super) fn acknowledged(&self, index: usize) -> Option<u64> {
        let acked = |mark: &Mark| mark.infos.get(index).copied().flatten()?.bytes_acked;
        let last = self.stopped.as_ref().filter(|_| self.transfer.sends(index))?;
        Some(acked(last)?.saturating_sub(acked(&self.base)?))
    }

    /// The largest window that the peer of stream `index` advertised, bytes.
    pub(super) fn largest_window(&self, index: usize) -> u64 {
        let samples = self.samples.get(index).into_iter().flatten();
        samples.filter_map(|sample| sample.info.rwnd_bytes).max().map_or(0, u64::from)
    }

    /// What came in after [`Self::stop`] counts too, until the time of the last byte.
    pub(super) fn count_what_came_late(&mut self) {
        let late = self.mark();
        let Some(stopped) = &mut self.stopped else { return };
        for (index, counted) in late.counted.iter().enumerate() {
            if !self.transfer.sends(index) && counted.bytes > stopped.counted[index].bytes {
                stopped.counted[index] = *counted;
                stopped.at = stopped.at.max(counted.last);
            }
        }
    }

    /// What this end tells the other one.
    pub(super) fn results(&self) -> Results {
        let last = self.stopped.clone().unwrap_or_else(|| self.mark());
        let span = last.at.since(self.base.at);
        let streams: Vec<StreamResult> =
            (0..self.transfer.len()).map(|index| self.result(index, &last, span)).collect();
        let wall_us = self.elapsed().as_micros().max(1) as f64;
        let [user, system] = cpu_times_us();
        let share = |us: u64| 100.0 * us as f64 / wall_us;
        let user = share(user.saturating_sub(self.cpu_us[0]));
        let system = share(system.saturating_sub(self.cpu_us[1]));
        Results {
            cpu_percent: [user + system, user, system],
            has_retransmits: !self.is_udp && (0..self.transfer.len()).any(|index| self.transfer.sends(index)),
            congestion_control: self.congestion_control(),
            streams,
            telemetry: None,
            output: None,
        }
    }

    fn result(&self, index: usize, last: &Mark, span: Duration) -> StreamResult {
        let (now, base) = (last.counted[index], self.base.counted.get(index).copied().unwrap_or_default());
        let sends = self.transfer.sends(index);
        let packets = now.packets.saturating_sub(base.packets);
        StreamResult {
            id: id(index),
            bytes: now.bytes.saturating_sub(base.bytes),
            retransmits: retransmits(&self.base, last, index).filter(|_| sends),
            jitter_s: now.jitter_ns as f64 / 1e9,
            lost: if sends { 0 } else { packets.saturating_sub(now.received.saturating_sub(base.received)) },
            packets,
            start_s: 0.0,
            end_s: span.as_secs_f64(),
        }
    }

    /// Name of the congestion control of the first stream of TCP.
    pub(super) fn congestion_control(&self) -> Option<String> {
        if self.is_udp { None } else { self.transfer.congestion_control(0) }
    }

    /// Its sockets' samples, for a client that can read them.
    pub(super) fn telemetry(&mut self) -> FarEnd {
        let every_us = u64::try_from(self.every.as_micros()).unwrap_or(u64::MAX);
        let mut of = |index: usize| FarStream {
            id: id(index),
            congestion_control: self.transfer.congestion_control(index).unwrap_or_default(),
            every_us,
            samples: self.samples.get_mut(index).map(std::mem::take).unwrap_or_default(),
            transits: self.transits.get_mut(index).map(std::mem::take).unwrap_or_default(),
        };
        let streams = (0..self.transfer.len()).map(&mut of).collect();
        FarEnd { instrument: self.punctual.clone(), ..FarEnd::new(env!("CARGO_PKG_VERSION"), streams) }
    }
}

/// The number of the stream at `index`.
fn id(index: usize) -> u32 {
    stream_id(u32::try_from(index).unwrap_or(u32::MAX - 2))
}

/// Leaves every second one.
pub(super) fn halve<T>(all: &mut Vec<T>) {
    let mut index = 0;
    all.retain(|_| {
        index += 1;
        index % 2 == 1
    });
}

fn least(left: Option<Rate>, right: Option<Rate>) -> Option<Rate> {
    match (left, right) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Segments sent again on stream `index` between two marks; `None` for UDP.
pub(super) fn retransmits(from: &Mark, to: &Mark, index: usize) -> Option<u64> {
    let count =
        |mark: &Mark| mark.infos.get(index).copied().flatten().map(|info| u64::from(info.retransmits));
    count(to).map(|now| now.saturating_sub(count(from).unwrap_or(0)))
}
