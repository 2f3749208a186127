//! The verbs. Each is in a file of its name.
//!
//! A verb talks to a server only through `folkmoot_api::Client`. It contains no rules: the server
//! judges.

mod adjust;
mod answer;
mod approve;
mod ask;
mod ask_model;
mod audit;
mod backup;
mod cancel;
mod clear;
mod completions;
mod debate;
mod delivery;
mod demo;
mod deny;
mod doctor;
mod end;
mod erase;
mod events;
mod gate;
mod halt;
mod journal;
mod lift;
mod man;
mod notify;
mod pause;
mod plan;
mod protect;
mod question;
mod questions;
mod ready;
mod reject;
mod replay;
mod restore;
mod resume;
mod runs;
mod serve;
mod show;
mod start;
mod status;
mod step;
mod token;
mod watch;
mod webhook;

use anyhow::Result;
use clap::{Command, Subcommand};
use futures_util::future::LocalBoxFuture;

use crate::{connection::Connection, context::CliContext, exit::Exit};

/// Registers the verbs. `connected` verbs are given a server; `alone` verbs need none, or start
/// their own.
macro_rules! verbs {
    ($($heading:literal { $($(#[$attribute:meta])* $needs:ident $verb:ident($module:ident::$args:ident),)* })*) => {
        #[derive(Debug, Subcommand)]
        pub(crate) enum Verb {
            $($($(#[$attribute])* $verb(Box<$module::$args>),)*)*
        }

        impl Verb {
            /// Boxed, because a future of all verbs in one is large and slow to compile.
            pub(crate) fn run(self, ctx: &CliContext) -> LocalBoxFuture<'_, Result<Exit>> {
                match self {
                    $($(Verb::$verb(args) => verbs!(@$needs $module, *args, ctx),)*)*
                }
            }
        }

        /// The headings, each with its number of verbs, in order.
        const GROUPS: &[(&str, usize)] = &[$(($heading, [$(stringify!($verb)),*].len())),*];
    };
    (@alone $module:ident, $args:expr, $ctx:expr) => {
        Box::pin($module::run($args, $ctx))
    };
    (@connected $module:ident, $args:expr, $ctx:expr) => {
        Box::pin(Connection::with($ctx, async |connection| $module::run($args, $ctx, connection).await))
    };
}

verbs! {
    "Begin" {
        alone Demo(demo::Args),
        alone Doctor(doctor::Args),
        alone Serve(serve::Args),
        connected Protect(protect::Args),
    }
    "Decide" {
        connected Status(status::Args),
        connected Watch(watch::Args),
        connected Approve(approve::Args),
        connected Reject(reject::Args),
        connected Adjust(adjust::Args),
        connected Pause(pause::Args),
        connected Answer(answer::Args),
        connected Deny(deny::Args),
    }
    "Ask people" {
        /// Open gates, wait for them, and look at them
        #[command(subcommand)]
        connected Gate(gate::Verb),
        connected Ask(ask::Args),
        connected Questions(questions::Args),
        /// Look at one question, wait for it, or close it without an answer
        #[command(subcommand)]
        connected Question(question::Verb),
    }
    "Stop agents" {
        /// Stop an agent, a session or everyone
        #[command(subcommand)]
        connected Halt(halt::Verb),
        connected Lift(lift::Args),
        alone Clear(clear::Args),
    }
    "Use models" {
        connected Debate(debate::Args),
        connected Replay(replay::Args),
        connected Plan(plan::Args),
        alone AskModel(ask_model::Args),
    }
    "Record work" {
        connected Start(start::Args),
        connected Runs(runs::Args),
        connected Show(show::Args),
        connected Journal(journal::Args),
        connected Events(events::Args),
        /// Record the steps of your own run
        #[command(subcommand)]
        connected Step(step::Verb),
        connected End(end::Args),
        connected Resume(resume::Args),
        connected Cancel(cancel::Args),
    }
    "Tell others" {
        /// Send events to your programs, as signed messages
        #[command(subcommand)]
        connected Webhook(webhook::Verb),
        /// List messages that were sent, and send them again
        #[command(subcommand)]
        connected Delivery(delivery::Verb),
        /// List and test notification channels
        #[command(subcommand)]
        connected Notify(notify::Verb),
    }
    "Operate" {
        /// Manage tokens: who may open gates and who may decide
        #[command(subcommand)]
        connected Token(token::Verb),
        /// Verify or export the log
        #[command(subcommand)]
        alone Audit(audit::Verb),
        connected Erase(erase::Args),
        alone Backup(backup::Args),
        alone Restore(restore::Args),
        alone Ready(ready::Args),
        alone Completions(completions::Args),
        alone Man(man::Args),
    }
}

impl Verb {
    /// Whether workflows run in this process while the verb lasts.
    pub(crate) fn works(&self) -> bool {
        match self {
            Verb::Plan(_) => true,
            Verb::Debate(args) => args.works(),
            _ => false,
        }
    }
}

/// The names of the verbs in a few lines, so that the short help fits on a screen of 24 lines.
pub(crate) fn in_groups() -> String {
    let lines = groups().into_iter().map(|(heading, verbs)| {
        let names: Vec<_> = verbs.iter().map(Command::get_name).collect();
        format!("{heading:<12} {}", names.join(", "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The verbs with their descriptions.
pub(crate) fn with_their_abouts() -> String {
    let groups = groups().into_iter().map(|(heading, verbs)| {
        let verb = |verb: &Command| {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            format!("  {:<12} {about}", verb.get_name())
        };
        let verbs: Vec<_> = verbs.iter().map(verb).collect();
        format!("{heading}:\n{}", verbs.join("\n"))
    });
    groups.collect::<Vec<_>>().join("\n\n")
}

fn groups() -> Vec<(&'static str, Vec<Command>)> {
    let all = Verb::augment_subcommands(Command::new("folkmoot"));
    let mut verbs = all.get_subcommands().cloned();
    GROUPS.iter().map(|(heading, count)| (*heading, verbs.by_ref().take(*count).collect())).collect()
}
