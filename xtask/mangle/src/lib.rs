//! Spoiled input, with which all our parsers are tested.
//!
//! A parser of untrusted text must never panic, take a second, or fill the memory. [`check`] gives
//! it real samples with mistakes, and random bytes. CI runs it briefly. To run it longer:
//!
//! ```text
//! FOLKMOOT_PARSERS_SECONDS=30 cargo test -p folkmoot-llm parsers -- --nocapture --test-threads=1
//! ```

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use proptest::{collection::vec, prelude::*, test_runner::TestRunner};

/// The CPU time for one input, and the wall time on a busy machine.
const WORK_MAX: Duration = Duration::from_secs(1);
const WALL_TIME_MAX: Duration = Duration::from_secs(60);
/// The memory that a check may use; only checked if nothing else runs.
const MEMORY_KB_MAX: u64 = 100 * 1024;
/// How many inputs a check has in CI, and how many where each takes a process.
const CASES: u32 = 150;
const CASES_WITH_A_PROCESS: u32 = 12;

/// Gives `parse` each sample unchanged, then spoiled in every way, and random bytes. `parse` may
/// return or refuse anything, but must not panic.
pub fn check(name: &str, samples: &[&str], parse: impl Fn(&[u8])) {
    run(name, samples, CASES, parse);
}

/// As [`check`], for parsers of text.
pub fn check_text(name: &str, samples: &[&str], parse: impl Fn(&str)) {
    run(name, samples, CASES, |bytes| parse(&String::from_utf8_lossy(bytes)));
}

/// As [`check`], if each input needs a process.
pub fn check_process(name: &str, samples: &[&str], parse: impl Fn(&[u8])) {
    run(name, samples, CASES_WITH_A_PROCESS, parse);
}

fn run(name: &str, samples: &[&str], usual: u32, parse: impl Fn(&[u8])) {
    for sample in samples {
        parse(sample.as_bytes());
    }
    let seconds = std::env::var("FOLKMOOT_PARSERS_SECONDS").ok().and_then(|text| text.parse().ok());
    let before = memory_kb("VmRSS:");
    let began = Instant::now();
    let (cases, slowest) = (Cell::new(0_u64), Cell::new(Duration::ZERO));
    loop {
        let config = ProptestConfig::default();
        // What the environment says for all of proptest goes first.
        let asked = if std::env::var_os("PROPTEST_CASES").is_some() { config.cases } else { usual };
        let config = ProptestConfig { cases: asked, failure_persistence: None, ..config };
        let tried = TestRunner::new(config).run(&input(samples), |bytes| {
            let (begins, before) = (Instant::now(), worked());
            parse(&bytes);
            let took = begins.elapsed();
            let work = worked().zip(before).map_or(took, |(after, before)| after.saturating_sub(before));
            cases.set(cases.get() + 1);
            slowest.set(slowest.get().max(work));
            prop_assert!(took < WALL_TIME_MAX, "it took {:?}", took);
            prop_assert!(seconds.is_none() || work < WORK_MAX, "it worked for {:?}", work);
            Ok(())
        });
        if let Err(failure) = tried {
            panic!("{name}: {failure}");
        }
        if seconds.is_none_or(|seconds| began.elapsed() >= Duration::from_secs(seconds)) {
            break;
        }
    }
    println!("parsers: {name}: {} cases, the slowest took {:?}", cases.get(), slowest.get());
    if let (Some(_), Some(before), Some(peak)) = (seconds, before, memory_kb("VmHWM:")) {
        let grown = peak.saturating_sub(before);
        println!("parsers: {name}: at most {} MB more memory", grown / 1024);
        assert!(grown < MEMORY_KB_MAX, "{name} took {} MB", grown / 1024);
    }
}

/// The CPU time of this thread; `None` if the kernel does not report it.
fn worked() -> Option<Duration> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(told.split_whitespace().next()?.parse().ok()?))
}

/// What the kernel says of this process; nothing where there is no such file.
fn memory_kb(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Mostly valid bytes.
pub fn input(samples: &[&str]) -> BoxedStrategy<Vec<u8>> {
    let samples: Vec<Vec<u8>> = samples.iter().map(|sample| sample.as_bytes().to_vec()).collect();
    let wild = vec(any::<u8>(), 0..300).boxed();
    if samples.is_empty() {
        return wild;
    }
    let spoiled = (proptest::sample::select(samples), vec(spoil(), 1..6)).prop_map(|(mut bytes, spoils)| {
        for spoil in spoils {
            spoil.apply(&mut bytes);
        }
        bytes
    });
    prop_oneof![8 => spoiled, 1 => wild].boxed()
}

/// One mistake. Positions are relative, so that they fit any input.
#[derive(Clone, Debug)]
enum Spoil {
    Flip(f64, u8),
    Insert(f64, Vec<u8>),
    Delete(f64, f64),
    Duplicate(f64, f64, usize),
    Swap(f64, f64),
    Cut(f64),
}

fn spoil() -> impl Strategy<Value = Spoil> {
    let at = || 0.0..1.0_f64;
    let piece = prop_oneof![
        proptest::sample::select(PIECES.to_vec()).prop_map(|piece| piece.to_vec()),
        vec(any::<u8>(), 1..8),
        // Deep, long and large.
        (
            proptest::sample::select(vec![
                b"[".as_slice(),
                b"{\"a\":",
                b"(",
                b"a",
                b"9",
                b"\0",
                b" ",
                b"\n",
                b"\xc3\xa4"
            ]),
            1..20_000_usize
        )
            .prop_map(|(piece, times)| piece.repeat(times)),
    ];
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(place, byte)| Spoil::Flip(place, byte)),
        (at(), piece).prop_map(|(place, piece)| Spoil::Insert(place, piece)),
        (at(), 0.0..0.3_f64).prop_map(|(place, part)| Spoil::Delete(place, part)),
        (at(), 0.0..0.3_f64, 1..50_usize).prop_map(|(place, part, times)| Spoil::Duplicate(place, part, times)),
        (at(), at()).prop_map(|(a, b)| Spoil::Swap(a, b)),
        at().prop_map(Spoil::Cut),
    ]
}

/// Inputs that have broken parsers before.
const PIECES: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\\udc00\\ud800",
    b"\x00",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\t",
    b",",
    b":",
    b"{",
    b"}",
    b"[",
    b"]",
    b"-",
    b"-0",
    b"1e400",
    b"-1e400",
    b"1e-400",
    b"0x10",
    b"NaN",
    b"Infinity",
    b"18446744073709551616",
    b"-9223372036854775809",
    b"9223372036854775807",
    b"4294967296",
    b"0.1",
    b"null",
    b"true",
    b"''",
    b"```",
    b"```json\n",
    b"data: ",
    b"id: ",
    b"event: ",
    b"%",
    b"%00",
    b"%ff",
    b"..",
    b"/",
    b"://",
    b"@",
    b"#",
    b"?",
    b"&",
    b"=",
    b"\xe2\x80\xae",
    b"\xe2\x80\xa8",
    b"\xf0\x9f\x8c\x8d",
    b"\x1b[2J",
    b"$ref",
    b"__proto__",
    b"--",
    b"=[[",
    b"\"\"\"",
];

impl Spoil {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        let place = |part: f64| ((part * length as f64) as usize).min(length);
        let range = |from: f64, part: f64| place(from)..place((from + part).min(1.0));
        match self {
            Spoil::Flip(at, byte) => {
                if let Some(found) = bytes.get_mut(place(*at)) {
                    *found ^= byte;
                }
            }
            Spoil::Insert(at, piece) => drop(bytes.splice(place(*at)..place(*at), piece.iter().copied())),
            Spoil::Delete(at, part) => drop(bytes.drain(range(*at, *part))),
            Spoil::Duplicate(at, part, times) => {
                let piece = bytes[range(*at, *part)].repeat(*times);
                bytes.splice(place(*at)..place(*at), piece);
            }
            Spoil::Swap(a, b) if length > 0 => bytes.swap(place(*a).min(length - 1), place(*b).min(length - 1)),
            Spoil::Swap(..) => {}
            Spoil::Cut(at) => bytes.truncate(place(*at)),
        }
        // Longer inputs only take longer.
        bytes.truncate(1 << 20);
    }
}
