//! Durations as people write and read them.

use std::time::Duration;

use anyhow::{Result, bail};
use folkmoot_api::core::{Deadline, Timeout, Timestamp};

/// `90s`, `30m`, `1h30m`, `2d`, `500ms`.
pub(crate) fn parse(text: &str) -> Result<Duration> {
    let mut rest = text.trim();
    let mut whole = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let letters = rest[digits..].find(|c: char| !c.is_ascii_alphabetic()).map_or(rest.len(), |end| digits + end);
        let millis = match &rest[digits..letters] {
            "ms" => 1,
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => bail!("{text:?} is no span of time; write 90s, 30m, 1h30m or 2d"),
        };
        let span = rest[..digits].parse::<u64>().ok().and_then(|count| count.checked_mul(millis));
        let sum = span.and_then(|span| whole.checked_add(Duration::from_millis(span)));
        let Some(sum) = sum else { bail!("{text:?} is no span of time; write 90s, 30m, 1h30m or 2d") };
        whole = sum;
        rest = &rest[letters..];
    }
    if whole.is_zero() {
        bail!("{text:?} is no time at all; write 90s, 30m, 1h30m or 2d");
    }
    Ok(whole)
}

/// As [`parse`], or `never`.
pub(crate) fn parse_timeout(text: &str) -> Result<Timeout> {
    if text == "never" { Ok(Timeout::Never) } else { parse(text).map(Timeout::After) }
}

/// The two largest units that matter: `29 min`, `1 h 30 min`, `3.2 s`.
pub(crate) fn short(span: Duration) -> String {
    let seconds = span.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match seconds {
        0 => format!("{} ms", span.as_millis()),
        1..10 => format!("{:.1} s", span.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..600 if !seconds.is_multiple_of(60) => format!("{minutes} min {} s", seconds % 60),
        60..3_600 => format!("{minutes} min"),
        3_600..86_400 if minutes > 0 => format!("{hours} h {minutes} min"),
        3_600..86_400 => format!("{hours} h"),
        _ if hours > 0 => format!("{days} d {hours} h"),
        _ => format!("{days} d"),
    }
}

/// The time until a deadline.
pub(crate) fn left(deadline: Deadline, now: Timestamp) -> String {
    match deadline {
        Deadline::At(moment) if moment <= now => "overdue".to_owned(),
        // Whole seconds, rounded up, so that a gate that was just opened shows "30 min".
        Deadline::At(moment) => short(Duration::from_secs(moment.since(now).as_millis().div_ceil(1000) as u64)),
        Deadline::Never => "no limit".to_owned(),
    }
}

pub(crate) fn ago(moment: Timestamp, now: Timestamp) -> String {
    let span = now.since(moment);
    if span < Duration::from_secs(2) { "just now".to_owned() } else { format!("{} ago", short(span)) }
}

/// The time of day, in UTC.
pub(crate) fn time_of_day(moment: Timestamp) -> String {
    moment.to_string().get(11..19).unwrap_or_default().to_owned()
}

/// Day and time, in UTC.
pub(crate) fn day_and_time(moment: Timestamp) -> String {
    let text = moment.to_string();
    format!("{} {} UTC", text.get(..10).unwrap_or_default(), text.get(11..19).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    #[test]
    fn spans_are_read_as_people_write_them() {
        let read = |text| super::parse(text).ok().map(|span| span.as_millis());
        let spans = ["500ms", "90s", "30m", "30min", "1h30m", "2d"].map(read);
        assert_eq!(spans, [500, 90_000, 1_800_000, 1_800_000, 5_400_000, 172_800_000].map(Some));
        for bad in ["", "0s", "30", "m", "-1s", "1.5h", "1 h", "never", "1y", "99999999999999999999s", "300000000000d"]
        {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn spans_are_told_in_the_units_that_matter() {
        let told = |seconds| super::short(Duration::from_secs(seconds));
        let spans = [3, 42, 60, 95, 1_740, 3_600, 5_400, 86_400, 90_000].map(told);
        let wanted = ["3.0 s", "42 s", "1 min", "1 min 35 s", "29 min", "1 h", "1 h 30 min", "1 d", "1 d 1 h"];
        assert_eq!(spans, wanted);
    }
}
