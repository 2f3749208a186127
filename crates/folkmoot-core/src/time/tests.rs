use std::time::Duration;

use super::{Deadline, Timeout, Timestamp};

#[test]
fn a_moment_is_always_written_with_six_decimals() {
    let written = [0, 1, 1_769_850_000_000_000, i64::MAX].map(|micros| Timestamp::from_micros(micros).to_string());
    let wanted = [
        "1970-01-01T00:00:00.000000Z",
        "1970-01-01T00:00:00.000001Z",
        "2026-01-31T09:00:00.000000Z",
        "9999-12-30T22:00:00.000000Z",
    ];
    assert_eq!(written, wanted);
}

#[test]
fn a_moment_is_read_in_any_zone_and_nothing_else_is_a_moment() {
    let read = |text: &str| serde_json::from_value::<Timestamp>(text.into());
    assert_eq!(read("2026-01-31T10:00:00+01:00").unwrap(), Timestamp::from_micros(1_769_850_000_000_000));
    for bad in ["", "now", "2026-01-31", "2026-01-31T09:00:00", "1769850000"] {
        assert!(read(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn no_wait_reaches_past_the_last_moment() {
    let start = Timestamp::from_micros(1);
    assert_eq!(Timeout::After(Duration::MAX).deadline(start), Deadline::At(Timestamp::from_micros(i64::MAX)));
    assert_eq!(Timeout::Never.deadline(start), Deadline::Never);
    assert_eq!(start.since(start.plus(Duration::from_secs(1))), Duration::ZERO);
    assert_eq!(start.plus(Duration::from_secs(1)).since(start), Duration::from_secs(1));
}

#[test]
fn never_is_later_than_any_moment() {
    let last = Timestamp::from_micros(i64::MAX);
    assert!(Deadline::Never > Deadline::At(last) && Deadline::Never.as_micros() > last.as_micros());
    assert!(Timeout::Never > Timeout::After(Duration::MAX));
    assert!(!Deadline::Never.has_passed(last) && Deadline::At(last).has_passed(last));
}
