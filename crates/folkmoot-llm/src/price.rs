//! Prices of tokens.

use serde::Deserialize;

use crate::TokenUsage;

/// A model's price in US dollars per million tokens. Stored in whole millionths of a dollar, so
/// that sums are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "PriceSettings", deny_unknown_fields)]
pub struct Price {
    input: u64,
    cached: u64,
    output: u64,
}

/// `input_usd = 2.5, output_usd = 10.0`, and `cached_usd` if cached tokens are cheaper.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceSettings {
    input_usd: f64,
    cached_usd: Option<f64>,
    output_usd: f64,
}

impl TryFrom<PriceSettings> for Price {
    type Error = String;

    fn try_from(written: PriceSettings) -> Result<Self, String> {
        let input = micros("input_usd", written.input_usd)?;
        let cached = written.cached_usd.map_or(Ok(input), |cached| micros("cached_usd", cached))?;
        Ok(Self { input, cached, output: micros("output_usd", written.output_usd)? })
    }
}

impl Price {
    pub const NOTHING: Self = Self { input: 0, cached: 0, output: 0 };

    /// The higher of two prices, field by field.
    pub fn dearer(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            cached: self.cached.max(other.cached),
            output: self.output.max(other.output),
        }
    }

    /// The cost of this usage in millionths of a dollar, rounded up.
    pub fn cost(&self, usage: &TokenUsage) -> u64 {
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let parts =
            [(usage.input_tokens - cached, self.input), (cached, self.cached), (usage.output_tokens, self.output)];
        let sum: u128 = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(*price)).sum();
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// Converts dollars to millionths. More than a million dollars is refused as a mistake.
pub(crate) fn micros(what: &str, usd: f64) -> Result<u64, String> {
    if !(0.0..=1_000_000.0).contains(&usd) {
        return Err(format!("{what} is {usd}; write a sum of US dollars from 0 to 1000000"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range, as was just checked")]
    Ok((usd * 1e6).round() as u64)
}
