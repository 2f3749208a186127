//! A long run at a steady load, to see whether memory, open files or the write-ahead log grow.
//!
//! The load is a share of the server's maximum, measured just before. First the database is grown
//! beyond what SQLite keeps in memory, because filling that cache would look like growth; the first
//! fifth is warm-up too.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    children,
    load::{self, Found, Job, Window},
    server::Server,
};

#[cfg(test)]
mod tests;

/// Who finds the peak, and who keeps up the load.
const CLIENTS: usize = 64;
/// Of the database: half as much again as the writer and its readers keep in memory.
const FILL_MEGABYTES: usize = 120;
/// How many lines the table has, at most.
const LINES: u32 = 60;
const MEGABYTE: f64 = 1024.0 * 1024.0;

/// More than this fails.
const SLOPE_MAX: f64 = 1.0;
const FILES_MORE_MAX: i64 = 8;
const LOG_MAX: f64 = 64.0;

#[derive(Debug)]
struct Options {
    minutes: f64,
    load: f64,
}

/// What a moment looks like.
#[derive(Clone, Copy, Debug)]
struct Sample {
    minutes: f64,
    resident: f64,
    files: i64,
    log: f64,
    database: f64,
}

/// What is to be judged.
#[derive(Debug, PartialEq)]
struct Verdict {
    /// Of resident memory, in megabytes a minute.
    slope: f64,
    /// How many more files were open in the last third than in the first.
    more_files: i64,
    /// Of the write-ahead log, in megabytes.
    largest_log: f64,
}

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let options = parse(arguments)?;
    // Where syncs reach a disk.
    let parent = if Path::new("/var/tmp").is_dir() { PathBuf::from("/var/tmp") } else { std::env::temp_dir() };
    let folder = tempfile::Builder::new().prefix("folkmoot-soak-").tempdir_in(parent)?;
    children::die_cleanly(folder.path())?;
    let data = folder.path().join("data");
    std::fs::create_dir(&data)?;
    let server = Server::start(&data, None)?;

    load::spawn(&Job::Fill { target: server.target(), megabytes: FILL_MEGABYTES })?;
    let window = Window { warm_up: Duration::from_secs(2), measured: Duration::from_secs(6) };
    let peak = load::spawn(&Job::Cycles { target: server.target(), clients: CLIENTS, window })?.per_second;
    let rate = peak * options.load;
    println!("at most {peak:.0} gate cycles a second with {CLIENTS} clients; {rate:.0} from here on\n");
    let measured = Duration::from_secs_f64(options.minutes * 60.0);
    let window = Window { warm_up: Duration::ZERO, measured };
    let job = Job::Steady { target: server.target(), clients: CLIENTS, per_second: rate, window };
    let (tell, told) = mpsc::channel();
    thread::spawn(move || tell.send(load::spawn(&job)));
    let (samples, found) = watch(&server, &data, measured, &told)?;
    server.stop()?;

    println!(
        "\n{} cycles, {:.0} a second, {:.1} ms at the median and {:.1} ms at p99",
        found.count,
        found.per_second,
        found.p50_us / 1e3,
        found.p99_us / 1e3
    );
    ensure!(
        found.per_second > 0.8 * rate,
        "the load could not be kept up: {:.0} of {rate:.0} a second; this machine was too busy to tell",
        found.per_second
    );
    let verdict = judge(&samples).context("too few samples; give it more minutes")?;
    let lines = [
        (format!("resident memory grows by {:.2} MB a minute", verdict.slope), verdict.slope <= SLOPE_MAX, "1 MB"),
        (format!("{} more open files at the end", verdict.more_files), verdict.more_files <= FILES_MORE_MAX, "8"),
        (
            format!("the write-ahead log has {:.1} MB at most", verdict.largest_log),
            verdict.largest_log <= LOG_MAX,
            "64 MB",
        ),
    ];
    for (line, holds, limit) in &lines {
        println!("{} {line} (at most {limit} is allowed)", if *holds { "ok    " } else { "FAILED" });
    }
    let holds = lines.iter().all(|(_, holds, _)| *holds);
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Samples until the load has ended.
fn watch(
    server: &Server,
    data: &Path,
    measured: Duration,
    told: &mpsc::Receiver<Result<Found>>,
) -> Result<(Vec<Sample>, Found)> {
    let (every, mut samples) = ((measured / LINES).max(Duration::from_secs(2)), Vec::new());
    println!("  minute   memory MB   open files   log MB   database MB");
    let begun = Instant::now();
    loop {
        let megabytes =
            |name: &str| std::fs::metadata(data.join(name)).map_or(0.0, |file| file.len() as f64 / MEGABYTE);
        let sample = Sample {
            minutes: begun.elapsed().as_secs_f64() / 60.0,
            resident: server.resident_bytes()? as f64 / MEGABYTE,
            files: server.open_files()?,
            log: megabytes("folkmoot.db-wal"),
            database: megabytes("folkmoot.db"),
        };
        println!(
            "{:>8.1} {:>11.1} {:>12} {:>8.1} {:>13.1}",
            sample.minutes, sample.resident, sample.files, sample.log, sample.database
        );
        samples.push(sample);
        match told.recv_timeout(every) {
            Ok(found) => return Ok((samples, found?)),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => bail!("the load generator went away"),
        }
    }
}

/// `None` where there is too little to judge by.
fn judge(samples: &[Sample]) -> Option<Verdict> {
    let whole = samples.last()?.minutes;
    let warm: Vec<Sample> = samples.iter().copied().filter(|sample| sample.minutes >= whole / 5.0).collect();
    if warm.len() < 9 {
        return None;
    }
    let n = warm.len() as f64;
    let mean = |of: fn(&Sample) -> f64| warm.iter().map(of).sum::<f64>() / n;
    let (middle, average) = (mean(|sample| sample.minutes), mean(|sample| sample.resident));
    let along: f64 = warm.iter().map(|s| (s.minutes - middle) * (s.resident - average)).sum();
    let across: f64 = warm.iter().map(|s| (s.minutes - middle).powi(2)).sum();
    let most = |part: &[Sample]| part.iter().map(|sample| sample.files).max().unwrap_or_default();
    let third = warm.len() / 3;
    Some(Verdict {
        slope: along / across,
        more_files: most(&warm[warm.len() - third..]) - most(&warm[..third]),
        largest_log: samples.iter().map(|sample| sample.log).fold(0.0, f64::max),
    })
}

fn parse(arguments: &[String]) -> Result<Options> {
    let mut options = Options { minutes: 20.0, load: 0.7 };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut number = |within: std::ops::RangeInclusive<f64>| -> Result<f64> {
            let number: Option<f64> = arguments.next().and_then(|text| text.parse().ok());
            let found = number.filter(|number| within.contains(number));
            found.with_context(|| format!("{argument} takes a number from {} to {}", within.start(), within.end()))
        };
        match argument.as_str() {
            "--minutes" => options.minutes = number(0.5..=1440.0)?,
            "--load" => options.load = number(0.05..=1.0)?,
            unknown => bail!("unknown argument `{unknown}`; soak takes --minutes NUMBER, --load SHARE, --server PATH"),
        }
    }
    Ok(options)
}
