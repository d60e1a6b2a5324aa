//! Decimal text as an exact number: digits and a scale.
//!
//! Never: a float before the very last step, so that `0.1` means one tenth.

/// `digits × 10^-scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: u128,
    scale: u32,
}

/// Why a decimal times a factor is not a whole number of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misfit {
    TooLarge,
    Fraction,
}

impl Decimal {
    /// More significant digits than this can't be meant.
    const MAX_DIGITS: usize = 24;

    /// From `12`, `0.5`, `1.25`: digits, and a point with digits on both sides at most.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(fraction) {
            return None;
        }
        let fraction = fraction.trim_end_matches('0');
        let digits = format!("{whole}{fraction}");
        let digits = digits.trim_start_matches('0');
        if digits.len() > Self::MAX_DIGITS || fraction.len() > Self::MAX_DIGITS {
            return None;
        }
        Some(Self {
            digits: if digits.is_empty() { 0 } else { digits.parse().ok()? },
            scale: u32::try_from(fraction.len()).ok()?,
        })
    }

    /// This number times `factor`, where the product is whole and fits.
    pub(super) fn times(self, factor: u64) -> Result<u64, Misfit> {
        let product = self.digits.checked_mul(u128::from(factor)).ok_or(Misfit::TooLarge)?;
        let divisor = 10_u128.pow(self.scale);
        if product % divisor != 0 {
            return Err(Misfit::Fraction);
        }
        u64::try_from(product / divisor).map_err(|_| Misfit::TooLarge)
    }

    /// This number ÷ 10^`power`, as the nearest float.
    pub(super) fn over_power_of_ten(self, power: u32) -> f64 {
        let text = format!("{}e-{}", self.digits, self.scale + power);
        // Digits, `e-` and digits are what `f64::from_str` is defined for; it rounds correctly.
        text.parse().unwrap_or(f64::NAN)
    }
}
