//! Chance, as an argument: a small PRNG with named streams.
//!
//! Why our own: the sequence is part of the contract (a seed in a manifest has to give the same fate to every
//! packet in ten years), so it can't hang on another crate's choice of default. Never read the machine's entropy here.
//!
//! The generator is xoshiro256++ 1.0 (Blackman and Vigna, 2019), seeded through SplitMix64 as its authors advise.
//! A *stream* is a generator whose seed is mixed with a name, so that adding an element to a path does not
//! reshuffle another element's chance.

use crate::units::{Ratio, Seed};

/// One step of SplitMix64 (Steele, Lea, Flood, 2014): advances `state`, returns the next value.
#[inline]
pub const fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// FNV-1a, 64 bits: the stable hash of names and identities (ids, streams). Not for untrusted keys of a table.
#[inline]
pub const fn fnv1a(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    hash
}

impl Seed {
    /// A seed derived from this one and a name; different names give independent seeds.
    #[inline]
    pub const fn derive(self, name: &str) -> Self {
        let mut state = self.get() ^ fnv1a(name.as_bytes());
        Self::new(splitmix64(&mut state))
    }
}

/// A xoshiro256++ generator.
#[derive(Debug, Clone)]
pub struct Prng {
    state: [u64; 4],
}

impl Prng {
    /// The stream called `name` of `seed`, e.g. `"forward/loss"`.
    #[inline]
    pub const fn stream(seed: Seed, name: &str) -> Self {
        let mut mix = seed.derive(name).get();
        Self {
            state: [splitmix64(&mut mix), splitmix64(&mut mix), splitmix64(&mut mix), splitmix64(&mut mix)],
        }
    }

    /// A generator with this very state; for test vectors. The state must not be all zero.
    pub const fn from_state(state: [u64; 4]) -> Self {
        Self { state }
    }

    /// The next 64 random bits.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A uniform number in [0, 1) with 53 bits.
    #[inline]
    pub fn next_unit(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit an f64 exactly")]
        let bits = (self.next_u64() >> 11) as f64;
        bits * (1.0 / (1_u64 << 53) as f64)
    }

    /// True with probability `p`; always consumes exactly one draw.
    #[inline]
    pub fn chance(&mut self, p: Ratio) -> bool {
        self.next_unit() < p.fraction()
    }

    /// A uniform integer in `0..bound` (Lemire's multiply-shift; the bias is below 2^-64 × bound). `bound` > 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.next_u64()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// A standard normal number (Box–Muller, the cosine branch; always consumes exactly two draws).
    #[inline]
    pub fn next_normal(&mut self) -> f64 {
        let u = 1.0 - self.next_unit();
        let v = self.next_unit();
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference output of the authors' splitmix64.c for seed 1234567.
    #[test]
    fn splitmix64_matches_the_reference() {
        let mut state = 1_234_567;
        let got: Vec<u64> = (0..5).map(|_| splitmix64(&mut state)).collect();
        let want = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(got, want);
    }

    /// The reference output of the authors' xoshiro256plusplus.c for the state 1, 2, 3, 4.
    #[test]
    fn xoshiro256plusplus_matches_the_reference() {
        let mut prng = Prng::from_state([1, 2, 3, 4]);
        let got: Vec<u64> = (0..5).map(|_| prng.next_u64()).collect();
        let want =
            [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386, 9_228_616_714_210_784_205];
        assert_eq!(got, want);
    }

    #[test]
    fn streams_are_independent_and_repeatable() {
        let seed = Seed::new(1);
        let a: Vec<u64> = {
            let mut p = Prng::stream(seed, "forward/loss");
            (0..4).map(|_| p.next_u64()).collect()
        };
        let b: Vec<u64> = {
            let mut p = Prng::stream(seed, "forward/jitter");
            (0..4).map(|_| p.next_u64()).collect()
        };
        let again: Vec<u64> = {
            let mut p = Prng::stream(seed, "forward/loss");
            (0..4).map(|_| p.next_u64()).collect()
        };
        assert_ne!(a, b);
        assert_eq!(a, again);
    }

    #[test]
    fn units_and_normals_have_their_moments() {
        let mut prng = Prng::stream(Seed::new(7), "moments");
        let n = 200_000;
        let (mut sum, mut normal_sum, mut normal_squares) = (0.0, 0.0, 0.0);
        for _ in 0..n {
            sum += prng.next_unit();
            let x = prng.next_normal();
            normal_sum += x;
            normal_squares += x * x;
        }
        let n = f64::from(n);
        assert!((sum / n - 0.5).abs() < 0.003);
        assert!((normal_sum / n).abs() < 0.01);
        assert!((normal_squares / n - 1.0).abs() < 0.02);
    }
}
