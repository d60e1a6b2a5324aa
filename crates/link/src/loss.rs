//! Which packets are lost before anything else happens to them.
//!
//! Never: a draw that depends on a packet's size or on what other elements did, so the fate of the n-th packet (or super-packet)
//! is a function of the seed and n alone.

use pipefill_core::cell::{LossSpec, LossUnit};
use pipefill_core::prng::Prng;
use pipefill_core::units::Ratio;

/// A loss model. Takes no time and holds nothing.
#[derive(Debug)]
pub struct Loss {
    model: Model,
    unit: LossUnit,
    prng: Prng,
    /// The super-packet decided last, and its fate.
    gso_id: Option<(u64, bool)>,
}

impl Loss {
    /// The element for `spec`; `None` where it would never drop.
    pub fn new(spec: &LossSpec, unit: LossUnit, prng: Prng) -> Option<Self> {
        Some(Self { model: Model::new(spec)?, unit, prng, gso_id: None })
    }

    /// The element of an independent loss that [`Self::set_probability`] changes; nothing is lost before.
    pub(crate) fn following(unit: LossUnit, prng: Prng) -> Self {
        Self { model: Model::Independent(Ratio::ZERO), unit, prng, gso_id: None }
    }

    /// The probability of what comes from now on, of an element made by [`Self::following`].
    pub(crate) fn set_probability(&mut self, probability: Ratio) {
        self.model = Model::Independent(probability);
    }

    /// Whether the next packet, a segment of `gso_id`, is lost. With [`LossUnit::SuperPacket`] the first segment of a super-packet
    /// decides for its other segments.
    pub fn drops(&mut self, gso_id: u64) -> bool {
        match (self.unit, self.gso_id) {
            (LossUnit::SuperPacket, Some((decided, lost))) if decided == gso_id => lost,
            _ => {
                let lost = self.model.draw(&mut self.prng);
                self.gso_id = Some((gso_id, lost));
                lost
            }
        }
    }
}

#[derive(Debug)]
enum Model {
    Independent(Ratio),
    GilbertElliott { p: Ratio, r: Ratio, loss_bad: Ratio, loss_good: Ratio, bad: bool },
    Packets { lost: Vec<u64>, count: u64 },
}

impl Model {
    fn new(spec: &LossSpec) -> Option<Self> {
        match spec {
            LossSpec::None | LossSpec::Independent(Ratio::ZERO) => None,
            LossSpec::Independent(probability) => Some(Self::Independent(*probability)),
            &LossSpec::GilbertElliott { p, r, loss_bad, loss_good } => {
                Some(Self::GilbertElliott { p, r, loss_bad, loss_good, bad: false })
            }
            LossSpec::Packets(lost) => {
                let mut lost = lost.clone();
                lost.sort_unstable();
                Some(Self::Packets { lost, count: 0 })
            }
        }
    }

    /// The fate of the next unit. Draws per unit: one (independent), two (Gilbert–Elliott), none (list).
    fn draw(&mut self, prng: &mut Prng) -> bool {
        match self {
            Self::Independent(probability) => prng.chance(*probability),
            Self::GilbertElliott { p, r, loss_bad, loss_good, bad } => {
                // As loss_gilb_ell() in net/sched/sch_netem.c: the state before the transition decides; the first is good.
                let (leave, loss) = if *bad { (*r, *loss_bad) } else { (*p, *loss_good) };
                *bad ^= prng.chance(leave);
                prng.chance(loss)
            }
            Self::Packets { lost, count } => {
                *count += 1;
                lost.binary_search(count).is_ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::units::Seed;

    fn loss(spec: &LossSpec, unit: LossUnit) -> Loss {
        Loss::new(spec, unit, Prng::stream(Seed::new(1), "forward/loss")).expect("a model")
    }

    fn lost_of(loss: &mut Loss, gso_ids: impl IntoIterator<Item = u64>) -> Vec<usize> {
        let fates = gso_ids.into_iter().map(|gso_id| loss.drops(gso_id));
        fates.enumerate().filter_map(|(i, lost)| lost.then_some(i + 1)).collect()
    }

    #[test]
    fn no_loss_is_no_element() {
        for spec in [LossSpec::None, LossSpec::Independent(Ratio::ZERO)] {
            assert!(Loss::new(&spec, LossUnit::Segment, Prng::from_state([1; 4])).is_none());
        }
    }

    #[test]
    fn a_list_counts_packets_from_one() {
        let mut loss = loss(&LossSpec::Packets(vec![1, 3, 4]), LossUnit::Segment);
        assert_eq!(lost_of(&mut loss, [7; 6]), [1, 3, 4]);
    }

    #[test]
    fn a_list_counts_super_packets_where_the_unit_is_the_super_packet() {
        let mut loss = loss(&LossSpec::Packets(vec![2, 4]), LossUnit::SuperPacket);
        assert_eq!(lost_of(&mut loss, [10, 10, 11, 11, 11, 12, 13]), [3, 4, 5, 7]);
    }

    #[test]
    fn certain_loss_loses_everything() {
        let mut loss = loss(&LossSpec::Independent(Ratio::ONE), LossUnit::Segment);
        assert_eq!(lost_of(&mut loss, 0..100).len(), 100);
    }

    #[test]
    fn gilbert_elliott_that_alternates_loses_every_second_from_the_second() {
        let spec = LossSpec::GilbertElliott {
            p: Ratio::ONE,
            r: Ratio::ONE,
            loss_bad: Ratio::ONE,
            loss_good: Ratio::ZERO,
        };
        assert_eq!(lost_of(&mut loss(&spec, LossUnit::Segment), 0..8), [2, 4, 6, 8]);
    }
}
