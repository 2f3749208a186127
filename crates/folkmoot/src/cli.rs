//! What can be said on the command line.

use std::{path::PathBuf, str::FromStr};

use clap::{
    Args, Parser, Subcommand, ValueEnum,
    builder::{PossibleValuesParser, Styles, TypedValueParser},
};
use folkmoot_api::core::vocabulary::UnknownWord;

use crate::{adjust, approve, audit, demo, gate, pause, reject, serve, status, style, token, watch};

const START: &str = "\
Start here:
  folkmoot demo                               see a gate open, hold, and be decided
  folkmoot gate open \"Deploy 1.4.2\" --wait    ask, and wait for a person
  folkmoot approve                            decide, in another terminal

Exit codes:
  0   done, or the gate lets you pass
  1   an error; stderr says what to do
  2   the command line is not right
  3   the gate was not approved: rejected, sent back, paused or cancelled
  4   the gate is still waiting for a person
  5   the gate timed out
  70  the store has stopped; nothing was acknowledged after that";

/// Agents ask, people decide: gates that hold until somebody does.
#[derive(Debug, Parser)]
#[command(name = "folkmoot", version, styles = STYLES, after_help = START, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The data folder; the platform's own unless it is given
    #[arg(long, global = true, value_name = "DIR", env = "FOLKMOOT_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// A server to use, instead of the data folder's
    #[arg(long, global = true, value_name = "URL", env = "FOLKMOOT_URL")]
    pub(crate) url: Option<String>,
    /// Who you are, instead of the data folder's tokens
    #[arg(long, global = true, value_name = "TOKEN", env = "FOLKMOOT_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// Print JSON exactly as the server sends it
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// No colour (as with NO_COLOR)
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Demo(demo::Args),
    Serve(serve::Args),
    /// Open gates, wait for them, and look at them
    #[command(subcommand)]
    Gate(gate::Verb),
    Approve(approve::Args),
    Reject(reject::Args),
    Adjust(adjust::Args),
    Pause(pause::Args),
    Status(status::Args),
    Watch(watch::Args),
    /// Check the log, or take it with you
    #[command(subcommand)]
    Audit(audit::Verb),
    /// Who may open and who may decide
    #[command(subcommand)]
    Token(token::Verb),
}

/// Which of the data folder's tokens to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum As {
    /// Your agent, which opens and waits.
    Agent,
    /// You, who decides.
    You,
}

/// Reads a word of one of core's vocabularies, and lists them in the help.
pub(crate) fn word<T>(words: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = UnknownWord> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|word| word.parse())
}

const STYLES: Styles = Styles::styled()
    .header(style::STRONG)
    .usage(style::STRONG)
    .literal(style::COMMAND)
    .placeholder(style::FAINT)
    .error(style::BAD)
    .valid(style::GOOD)
    .invalid(style::WARN);
