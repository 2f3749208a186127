//! The real executable, killed, starved and lied to. Whatever it acknowledged is there afterwards; whatever it refused is
//! not; and whoever waits is told in the end.

mod acknowledged_means_durable;
mod backup;
mod disk;
mod full_disk;
mod halts;
mod it_halts_rather_than_lies;
mod ledger;
mod load;
mod lost_database;
mod overdue;
mod postgres;
mod process;
mod random;
mod read_only_disk;
mod signals;
mod starting;
mod strace;
mod subscriber;

/// Tells why a test proved nothing. Not `eprintln!`: of a test that passes, the harness shows only what it did not capture.
fn skipped(why: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("SKIPPED: {why}\n").as_bytes());
}

/// A number from the environment.
fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().map_or(default, |text| text.parse().expect("a number"))
}
