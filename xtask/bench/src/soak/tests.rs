//! What counts as growth.

use super::{Sample, judge, parse};

fn samples(count: usize, of: impl Fn(f64) -> (f64, i64)) -> Vec<Sample> {
    let sample = |n: usize| {
        let minutes = n as f64 / 4.0;
        let (resident, files) = of(minutes);
        Sample { minutes, resident, files, log: 30.0 + minutes, database: 0.0 }
    };
    (0..count).map(sample).collect()
}

#[test]
fn what_grows_is_measured_after_the_warm_up() {
    // Ten minutes: two of them steep, then two megabytes and one file a minute.
    let steep = |minutes: f64| if minutes < 2.0 { 50.0 * minutes } else { 96.0 + 2.0 * minutes };
    let found = judge(&samples(41, |minutes| (steep(minutes), minutes as i64))).unwrap();
    assert!((found.slope - 2.0).abs() < 1e-9, "{found:?}");
    assert_eq!((found.more_files, found.largest_log), (6, 40.0));
}

#[test]
fn what_only_wavers_does_not_grow() {
    let found = judge(&samples(41, |minutes| (80.0 + (minutes * 8.0).sin(), 20))).unwrap();
    assert!(found.slope.abs() < 0.1 && found.more_files == 0, "{found:?}");
}

#[test]
fn too_little_is_not_judged() {
    assert!(judge(&samples(8, |_| (1.0, 1))).is_none() && judge(&[]).is_none());
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let parse = |words: &[&str]| parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    assert!(
        parse(&["--minutes", "3", "--load", "0.5"]).is_ok_and(|options| options.minutes == 3.0 && options.load == 0.5)
    );
    for words in [&["--load", "7"][..], &["--minutes"], &["--minutes", "x"], &["--often"]] {
        assert!(parse(words).is_err(), "{words:?}");
    }
}
