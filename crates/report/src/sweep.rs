//! `pipefill sweep`: how far the parts of a matrix are on a cluster.

use schemars::JsonSchema;
use serde::Serialize;

/// The version of the JSON.
pub const SCHEMA: u32 = 1;

/// A sweep and its shards.
#[derive(Debug, JsonSchema, Serialize)]
pub struct SweepStatus<'a> {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The scenario's name.
    pub experiment: &'a str,
    /// `local`, `slurm` or `ray`.
    pub engine: &'a str,
    /// The sweep's directory.
    pub directory: &'a str,
    /// Slurm's id of the newest array job; null for other engines.
    pub job: Option<&'a str>,
    /// Each shard, in order.
    pub shards: Vec<ShardStatus>,
    /// The directory of the experiment that the shards were merged to; null before.
    pub merged: Option<&'a str>,
}

/// One shard.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShardStatus {
    /// From 1.
    pub shard: u32,
    /// How far it is.
    pub state: ShardState,
    /// Its runs that have a valid record.
    pub recorded: usize,
    /// Its runs; null before it has begun.
    pub runs: Option<usize>,
}

/// How far a shard is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShardState {
    /// Every run has a valid record.
    Done,
    /// The engine has it: it waits, or is at work.
    Queued,
    /// It has begun, and the engine does not have it any more, as far as can be told.
    Unfinished,
    /// It has left nothing, and the engine does not have it, as far as can be told.
    Missing,
}

impl ShardState {
    /// Its word in the JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Queued => "queued",
            Self::Unfinished => "unfinished",
            Self::Missing => "missing",
        }
    }
}

impl SweepStatus<'_> {
    /// Shards that are to be run again.
    pub fn lacking(&self) -> Vec<u32> {
        self.of(|state| matches!(state, ShardState::Unfinished | ShardState::Missing))
    }

    /// Shards that are not done, whoever has them.
    pub fn open(&self) -> Vec<u32> {
        self.of(|state| state != ShardState::Done)
    }

    /// Whether every shard is done.
    pub fn is_done(&self) -> bool {
        self.open().is_empty()
    }

    /// A line for the sweep, and one for each state with its shards. Ends with a newline.
    pub fn render(&self) -> String {
        let job = self.job.map_or_else(String::new, |job| format!(", job {job}"));
        let mut lines =
            vec![format!("{}: {} shards, {}{job}", self.experiment, self.shards.len(), self.engine)];
        for state in [ShardState::Done, ShardState::Queued, ShardState::Unfinished, ShardState::Missing] {
            let shards = self.of(|known| known == state);
            if !shards.is_empty() {
                lines.push(format!("  {:<11} {:>5}  {}", state.word(), shards.len(), ranges(&shards)));
            }
        }
        lines.join("\n") + "\n"
    }

    fn of(&self, which: impl Fn(ShardState) -> bool) -> Vec<u32> {
        self.shards.iter().filter(|shard| which(shard.state)).map(|shard| shard.shard).collect()
    }
}

/// Ascending numbers as Slurm writes them: `1-3,7`.
pub fn ranges(numbers: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => parts.push((number, number)),
        }
    }
    let text = |(first, last): (u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    parts.into_iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_row_are_a_range() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!(ranges(&[]), "");
    }

    #[test]
    fn a_status_has_a_line_for_each_state() {
        let shard = |shard, state| ShardStatus { shard, state, recorded: 0, runs: None };
        let status = SweepStatus {
            schema: SCHEMA,
            experiment: "rtt",
            engine: "slurm",
            directory: "out",
            job: Some("12"),
            shards: vec![
                shard(1, ShardState::Done),
                shard(2, ShardState::Unfinished),
                shard(3, ShardState::Missing),
                shard(4, ShardState::Done),
            ],
            merged: None,
        };
        let text = "rtt: 4 shards, slurm, job 12\n  done            2  1,4\n  unfinished      1  2\n  missing         1  3\n";
        assert_eq!(status.render(), text);
        assert_eq!(status.lacking(), [2, 3]);
        assert!(!status.is_done());
    }
}
