//! What can be said on the command line.

use std::{path::PathBuf, str::FromStr};

use clap::{
    Args, Parser, Subcommand, ValueEnum,
    builder::{PossibleValuesParser, Styles, TypedValueParser},
};
use folkmoot_api::core::vocabulary::UnknownWord;

use crate::{
    adjust, answer, approve, ask, ask_model, audit, backup, cancel, clear, completions, debate, delivery, demo, deny,
    doctor, end, erase, events, gate, halt, journal, lift, man, notify, pause, plan, protect, question, questions,
    ready, reject, restore, resume, runs, serve, show, start, status, step, style, token, watch, webhook,
};

const START: &str = "\
Start here:
  folkmoot demo                               see agents debate, and decide at their gates
  folkmoot debate \"…\" --gate convergence      let agents debate, and decide what holds
  folkmoot gate open \"Deploy 1.4.2\" --wait    ask, and wait for a person
  folkmoot approve                            decide, in another terminal
  folkmoot plan \"Open a second bakery\"        plan, and decide at every checkpoint
  folkmoot clear builder && make              work only while nothing halts you
  folkmoot start \"Nightly build\"              record it, so nothing is done twice
  folkmoot ask-model \"…\"                      ask whichever model there is
  folkmoot doctor                             see how it is, and what agents can use
  folkmoot halt all --reason \"…\"              stop everyone who asks before working

Exit codes:
  0   done: the gate lets you pass, the question is answered, the agent may work
  1   an error; stderr says what to do
  2   the command line is not right
  3   not approved: the gate rejected, sent back, paused or cancelled,
      the question denied, skipped or cancelled
  4   still waiting for a person
  5   timed out: the gate, the question, or the wait for an answer or for clearance
  6   the agent is halted
  7   `step begin`: the step is done already
  8   `step begin`: it was begun before, and nobody knows whether it was done
  9   `step begin`: it failed before
  10  `debate`: it ended without a decision
  11  `audit check`: the receipt is sound, but its key is not known
  70  the store has stopped; nothing was acknowledged after that
  130 `ask-model`: interrupted";

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
    #[arg(long, global = true, value_name = "DIR", env = "FOLKMOOT_DATA", hide_env_values = true)]
    pub(crate) data: Option<PathBuf>,
    /// A server to use, instead of the data folder's
    #[arg(long, global = true, value_name = "URL", env = "FOLKMOOT_URL", hide_env_values = true)]
    pub(crate) url: Option<String>,
    /// Who you are, instead of the data folder's tokens
    #[arg(long, global = true, value_name = "TOKEN", env = "FOLKMOOT_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// Print JSON: exactly what the server sends, or all that the verb found out
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
    Debate(Box<debate::Args>),
    Replay(debate::replay::Args),
    Plan(Box<plan::Args>),
    Ask(Box<ask::Args>),
    Answer(answer::Args),
    Deny(deny::Args),
    Questions(questions::Args),
    /// Look at one question, wait for it, or close it without an answer
    #[command(subcommand)]
    Question(question::Verb),
    Clear(clear::Args),
    /// Stop an agent, a session or everyone
    #[command(subcommand)]
    Halt(halt::Verb),
    Lift(lift::Args),
    Start(Box<start::Args>),
    Runs(runs::Args),
    Show(show::Args),
    Journal(journal::Args),
    Events(events::Args),
    /// Record what you have done in a run of your own
    #[command(subcommand)]
    Step(step::Verb),
    End(end::Args),
    Resume(resume::Args),
    Cancel(cancel::Args),
    AskModel(ask_model::Args),
    Doctor(doctor::Args),
    Status(status::Args),
    Watch(watch::Args),
    /// Check the log, or take it with you
    #[command(subcommand)]
    Audit(audit::Verb),
    Erase(erase::Args),
    /// Who may open and who may decide
    #[command(subcommand)]
    Token(token::Verb),
    Protect(protect::Args),
    /// Tell programs of yours what happens, by signed messages
    #[command(subcommand)]
    Webhook(webhook::Verb),
    /// Look at what was told, and send it again
    #[command(subcommand)]
    Delivery(delivery::Verb),
    /// See who can be told, and test it
    #[command(subcommand)]
    Notify(notify::Verb),
    Ready(ready::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// Which of the data folder's tokens to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum As {
    /// Your agent, which opens and waits.
    Agent,
    /// You, who decides.
    You,
}

/// Reads JSON.
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

/// As [`word`], however it is spelled; the argument says `ignore_case = true`.
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
