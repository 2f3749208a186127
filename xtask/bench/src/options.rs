//! The options of `cargo xtask bench`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

#[derive(Debug)]
pub(crate) struct Options {
    /// One short round, to check that everything runs. Do not rely on its figures.
    pub(crate) quick: bool,
    pub(crate) only: Option<Measure>,
    pub(crate) json: PathBuf,
    /// How many pending gates memory is measured with, if not the usual number.
    pub(crate) gates: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measure {
    GateCheck,
    /// The machine's own limits, without our server.
    Limits,
    Cycles,
    Wake,
    /// Asking, answering, and "may I work?".
    Questions,
    /// Durable runs.
    Runs,
    /// Model calls, without the model's own time.
    Models,
    /// Debates whose models answer at once.
    Debates,
    /// Jobs in the jail.
    Jail,
    ColdStart,
    Memory,
    /// A million gates, ten thousand subscribers, ten thousand decisions. Takes minutes, so only on
    /// request.
    Scale,
}

impl Measure {
    const NAMES: [(&'static str, Self); 12] = [
        ("gate-check", Self::GateCheck),
        ("limits", Self::Limits),
        ("cycles", Self::Cycles),
        ("wake", Self::Wake),
        ("questions", Self::Questions),
        ("runs", Self::Runs),
        ("models", Self::Models),
        ("debates", Self::Debates),
        ("jail", Self::Jail),
        ("cold-start", Self::ColdStart),
        ("memory", Self::Memory),
        ("scale", Self::Scale),
    ];

    fn parse(name: &str) -> Result<Self> {
        let found = Self::NAMES.into_iter().find(|(known, _)| *known == name);
        let (_, measure) = found.with_context(|| {
            let names = Self::NAMES.map(|(name, _)| name).join(", ");
            format!("nothing to measure is called `{name}`; there are {names}")
        })?;
        Ok(measure)
    }
}

impl Options {
    /// Most measurements need the limits for comparison.
    pub(crate) fn wants(&self, measure: Measure) -> bool {
        match self.only {
            None => measure != Measure::Scale,
            Some(Measure::Cycles | Measure::Wake | Measure::Questions | Measure::Runs)
                if measure == Measure::Limits =>
            {
                true
            }
            Some(only) => only == measure,
        }
    }
}

pub(crate) fn parse(arguments: &[String]) -> Result<Options> {
    let mut options = Options { quick: false, only: None, json: PathBuf::from("bench.json"), gates: None };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => options.quick = true,
            "--only" => {
                let name = arguments.next().context("--only takes a name")?;
                options.only = Some(Measure::parse(name)?);
            }
            "--json" => options.json = arguments.next().context("--json takes a path")?.into(),
            "--gates" => {
                let number = arguments.next().context("--gates takes a number")?;
                options.gates = Some(number.parse().context("--gates takes a number")?);
            }
            unknown => {
                bail!("unknown argument `{unknown}`; bench takes --quick, --only NAME, --gates NUMBER, --json PATH")
            }
        }
    }
    Ok(options)
}
