use anyhow::anyhow;

use super::*;

#[test]
fn a_target_is_judged_by_the_median_of_the_ratios() {
    let report = report([(1_000.0, 100.0), (1_000.0, 200.0), (10.0, 1.3)]);
    check(&report, "SQLite cycles/s, 1 clients, to raw commits", "100 | 1000 | 0.130 | ≥ 0.12 | pass");
}

#[test]
fn a_figure_below_its_target_is_a_gap() {
    check(
        &report([(1_000.0, 119.0)]),
        "SQLite cycles/s, 1 clients, to raw commits",
        "119 | 1000 | 0.119 | ≥ 0.12 | gap",
    );
}

#[test]
fn a_round_that_failed_leaves_no_figure() {
    let mut report = report([(1_000.0, 119.0)]);
    let mut failed = Round::default();
    failed.put(RAW_SQLITE, Ok(1_000.0));
    failed.put_rate("SQLite cycles", "1", Err(anyhow!("500 in place of 201")));
    report.add(failed);
    let table = report.table();
    assert!(report.has_failures());
    assert!(!table.contains("SQLite cycles/s, 1 clients"), "{table}");
    check(&report, "SQLite cycles at 1", "failed: 500 in place of 201 | | | | failed");
}

#[test]
fn at_64_clients_the_lower_limit_counts() {
    let mut round = Round::default();
    round.put(RAW_SQLITE, Ok(10_000.0));
    round.put(BARE, Ok(100_000.0));
    round.put("SQLite cycles at 64, per s", Ok(9_500.0));
    let mut report = Report::new(false, Path::new("/"));
    report.add(round);
    check(
        &report,
        "SQLite cycles/s, 64 clients, to the lower of 1.2 × raw and 0.09 × bare",
        "9500 | 9000 | 1.056 | ≥ 1 | pass",
    );
}

#[test]
fn a_median_of_an_even_number_lies_between() {
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    assert_eq!(median(&[]), None);
}

/// Raw commits and cycles per second at one client, for each round.
fn report<const N: usize>(rounds: [(f64, f64); N]) -> Report {
    let mut report = Report::new(false, Path::new("/"));
    for (raw, cycles) in rounds {
        let mut round = Round::default();
        round.put(RAW_SQLITE, Ok(raw));
        round.put("SQLite cycles at 1, per s", Ok(cycles));
        report.add(round);
    }
    report
}

#[track_caller]
fn check(report: &Report, what: &str, expected: &str) {
    let table = report.table();
    let row = format!("| {what} | {expected} |");
    assert!(table.lines().any(|line| line == row), "no {row}\n{table}");
}
