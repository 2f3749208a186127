//! The real executable, killed, starved and lied to. Whatever it acknowledged is there afterwards;
//! whatever it refused is not; and whoever waits is told in the end.

mod acknowledged_means_durable;
mod backup;
mod clocks;
mod cluster;
mod debates;
mod disk;
mod full_disk;
mod halts;
mod it_halts_rather_than_lies;
mod ledger;
mod load;
mod lost_database;
mod lost_log_end;
mod overdue;
mod paused;
mod plans;
mod pooler;
pub(crate) mod postgres;
mod process;
mod proxy;
mod random;
mod read_only_disk;
mod restarts;
mod signals;
mod standby;
mod starting;
mod strace;
mod subscriber;
mod swizzle;

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

/// Tells why a test proved nothing. Not `eprintln!`: of a test that passes, the harness shows only
/// what it did not capture.
fn skipped(why: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("SKIPPED: {why}\n").as_bytes());
}

/// A number from the environment.
fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().map_or(default, |text| text.parse().expect("a number"))
}

/// Asks until there is an answer.
async fn eventually<T>(ask: impl AsyncFn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(begun.elapsed() < Duration::from_secs(90), "it does not come back");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What `/readyz` says: its status and its first word.
fn readiness(url: &str) -> String {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").expect("an address")).expect("it answers");
    stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let word = body.split([':', '\n']).next().unwrap_or_default();
    format!("{} {word}", head.split(' ').nth(1).unwrap_or_default())
}
