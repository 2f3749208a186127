//! When a vendor allows the next attempt.

use std::time::Duration;

use jiff::{Zoned, fmt::rfc2822};
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// Reads the headers: milliseconds, seconds, or a date. A date is compared with the vendor's own
/// clock, because ours may differ; without the vendor's clock it is ignored.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(|ms| seconds(ms, 1e-3)) {
        return Some(wait);
    }
    let told = text(RETRY_AFTER.as_str())?;
    seconds(told, 1.0).or_else(|| {
        let (now, then) = (date(text(DATE.as_str())?)?, date(told)?);
        // A date in the past means at once.
        Some(Duration::try_from(then.timestamp().duration_since(now.timestamp())).unwrap_or_default())
    })
}

fn seconds(number: &str, unit: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * unit).ok()
}

fn date(text: &str) -> Option<Zoned> {
    rfc2822::DateTimeParser::new().parse_zoned(text).ok()
}

#[cfg(test)]
mod tests;
