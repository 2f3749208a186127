use super::*;

fn check(headers: &[(&'static str, &'static str)], expected: Option<Duration>) {
    let map = headers.iter().map(|(name, value)| {
        let name = reqwest::header::HeaderName::from_static(name);
        (name, reqwest::header::HeaderValue::from_static(value))
    });
    assert_eq!(retry_after(&map.collect()), expected, "{headers:?}");
}

#[test]
fn a_wait_is_told_in_three_forms() {
    let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    check(&[], None);
    check(&[("retry-after", "7")], Some(Duration::from_secs(7)));
    check(&[("retry-after", "1.5")], Some(Duration::from_millis(1500)));
    check(&[("retry-after-ms", "250"), ("retry-after", "7")], Some(Duration::from_millis(250)));
    check(&[date, ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], Some(Duration::from_secs(30)));
    check(&[date, ("retry-after", "Sun, 06 Nov 1994 08:49:07 GMT")], Some(Duration::ZERO));
    // Without the vendor's clock a date says nothing.
    check(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], None);
}

#[test]
fn what_is_no_wait_is_none() {
    for nonsense in ["", "soon", "-1", "NaN", "inf", "1e400", "7 seconds", "Sun, 99 Foo 1994 08:50:07 GMT"] {
        check(&[("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("retry-after", nonsense)], None);
    }
}
