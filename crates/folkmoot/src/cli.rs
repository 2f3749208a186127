//! The command line's grammar: global options and verbs.

use std::{path::PathBuf, str::FromStr};

use clap::{
    Args, Parser, ValueEnum,
    builder::{PossibleValuesParser, Styles, TypedValueParser},
};
use folkmoot_api::core::vocabulary::UnknownWord;

use crate::{
    terminal::style,
    verbs::{self, Verb},
};

const SHORT: &str = "\
folkmoot demo                  see agents debate, and decide at their gates
folkmoot help COMMAND          what a command does, with examples
folkmoot --help                what every command does, and the exit codes";

const LONG: &str = "\
Start here:
  folkmoot demo                               see agents debate, and decide at their gates
  folkmoot gate open \"Deploy 1.4.2\" --wait    ask, and wait for a person
  folkmoot approve                            decide, in another terminal
  folkmoot debate \"…\" --gate convergence      let agents debate, and decide on the result
  folkmoot plan \"Open a second bakery\"        plan, and decide at every checkpoint
  folkmoot clear builder && make              work only while nothing halts you
  folkmoot start \"Nightly build\"              record it, so nothing is done twice
  folkmoot ask-model \"…\"                      ask a model
  folkmoot doctor                             check the server, its data and its models
  folkmoot halt all --reason \"…\"              halt every agent that asks for clearance

Exit codes:
  0   done: the gate lets you pass, the question is answered, the agent may work
  1   an error; stderr says what to do
  2   the command line is invalid
  3   not approved: the gate rejected, sent back, paused or cancelled,
      the question denied, skipped or cancelled
  4   still waiting for a person
  5   timed out: the gate, the question, or the wait for an answer or for clearance
  6   the agent is halted
  7   `step begin`: the step is already done
  8   `step begin`: it was begun before, and it is unknown whether it was done
  9   `step begin`: it failed before
  10  `debate`: it ended without a decision
  11  `audit check`: the receipt is valid, but its key is unknown
  70  the store has stopped; nothing was acknowledged after that
  130 `ask-model`: interrupted";

/// Lists the verbs in groups, before the options.
const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{options}{after-help}";

/// Agents ask, people decide: gates that hold until somebody does.
#[derive(Debug, Parser)]
#[command(name = "folkmoot", version, styles = STYLES, max_term_width = 100, help_template = TEMPLATE)]
#[command(before_help = verbs::in_groups(), before_long_help = verbs::with_their_abouts())]
#[command(after_help = SHORT, after_long_help = LONG)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The data folder, if not the usual one (FOLKMOOT_DATA)
    #[arg(long, global = true, value_name = "DIR", env = "FOLKMOOT_DATA", hide_env = true)]
    pub(crate) data: Option<PathBuf>,
    /// The server, if not the data folder's (FOLKMOOT_URL)
    #[arg(long, global = true, value_name = "URL", env = "FOLKMOOT_URL", hide_env = true)]
    pub(crate) url: Option<String>,
    /// Your token, if not the data folder's (FOLKMOOT_TOKEN)
    #[arg(long, global = true, value_name = "TOKEN", env = "FOLKMOOT_TOKEN", hide_env = true)]
    pub(crate) token: Option<String>,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// No colour (as with NO_COLOR)
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) no_color: bool,
}

/// Which of the data folder's tokens to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ActingAs {
    /// The agent's token: opens gates and waits.
    Agent,
    /// Your token: decides.
    You,
}

/// Whose token a verb uses: yours by default.
#[derive(Debug, Args)]
pub(crate) struct AsYou {
    /// Whose token to use
    #[arg(long = "as", value_enum, default_value = "you", hide_possible_values = true, value_name = "agent|you")]
    pub(crate) who: ActingAs,
}

/// Whose token a verb uses: your agent's by default.
#[derive(Debug, Args)]
pub(crate) struct AsAgent {
    /// Whose token to use
    #[arg(long = "as", value_enum, default_value = "agent", hide_possible_values = true, value_name = "agent|you")]
    pub(crate) who: ActingAs,
}

/// Which part of a list.
#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub(crate) limit: u32,
    /// Continue a list after its `next`
    #[arg(long)]
    pub(crate) cursor: Option<String>,
}

pub(crate) fn json(text: &str) -> Result<serde_json::Value, String> {
    serde_json::from_str(text).map_err(|error| format!("{error}; write JSON, and a text as '\"text\"'"))
}

/// Reads a word of one of core's vocabularies, and lists them in the help.
pub(crate) fn word<T>(words: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = UnknownWord> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|word| word.parse())
}

/// As [`word`], ignoring case. The argument must set `ignore_case = true`.
pub(crate) fn word_in_any_case<T>(words: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = UnknownWord> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|said| {
        let known = words.iter().find(|word| word.eq_ignore_ascii_case(&said));
        known.map_or(said.as_str(), |word| *word).parse()
    })
}

const STYLES: Styles = Styles::styled()
    .header(style::STRONG)
    .usage(style::STRONG)
    .literal(style::COMMAND)
    .placeholder(style::FAINT)
    .error(style::BAD)
    .valid(style::GOOD)
    .invalid(style::WARN);

#[cfg(test)]
mod tests;
