//! The command line of Folkmoot: agents debate, people decide.
//!
//! One verb is one file. A verb speaks to a server through `folkmoot_api::Client` and nothing else; where no server runs
//! it hosts one for as long as it lasts (see [`connection`]).

mod adjust;
mod answer;
mod approve;
mod artifact;
mod ask;
mod ask_model;
mod audit;
mod backup;
mod cancel;
mod clear;
mod cli;
mod clock;
mod close;
mod completions;
mod connection;
mod context;
mod debate;
mod decide;
mod delivery;
mod demo;
mod deny;
mod doctor;
mod end;
mod erase;
mod events;
mod exit;
mod find;
mod gate;
mod gate_view;
mod halt;
mod hold_view;
mod hosted;
mod idempotency;
mod journal;
mod lift;
mod logging;
mod man;
mod notify;
mod outline;
mod pause;
mod plan;
mod prompt;
mod protect;
mod question;
mod question_view;
mod questions;
mod ready;
mod reject;
mod restore;
mod resume;
mod run_view;
mod runs;
mod screen;
mod serve;
mod service;
mod set_up;
mod show;
mod signal;
mod span;
mod start;
mod status;
mod step;
mod style;
mod telemetry;
mod terminal;
mod timeline;
mod token;
mod wait;
mod watch;
mod webhook;
mod which_model;

use std::process::ExitCode;

use clap::Parser;

use crate::{
    cli::{Cli, Verb},
    connection::Connection,
    context::Context,
    exit::Exit,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Whoever is started to build a jail around itself does nothing else first.
    if std::env::args_os().nth(1).is_some_and(|verb| verb == "__jail") {
        return folkmoot_server::workflows::tools::jail::inside();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    let json = cli.global.json;
    match start(cli) {
        Ok(exit) => exit.into(),
        Err(error) => exit::failure(&error, json),
    }
}

fn start(cli: Cli) -> anyhow::Result<Exit> {
    let works = match &cli.verb {
        Verb::Plan(_) => true,
        Verb::Debate(args) => args.works(),
        _ => false,
    };
    let ctx = Context::new(cli.global, works)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let exit = runtime.block_on(run(cli.verb, &ctx));
    // A prompt may still wait for a line that never comes.
    runtime.shutdown_background();
    exit
}

async fn run(verb: Verb, ctx: &Context) -> anyhow::Result<Exit> {
    match verb {
        Verb::Serve(args) => serve::run(args, ctx).await,
        Verb::Demo(args) => demo::run(args, ctx).await,
        Verb::Audit(audit::Verb::Verify(args)) if args.file.is_some() => audit::verify::offline(&args, ctx),
        Verb::Audit(audit::Verb::Check(args)) => audit::check::offline(&args, ctx),
        Verb::AskModel(args) => {
            logging::quiet(ctx)?;
            ask_model::run(args, ctx).await
        }
        Verb::Doctor(args) => {
            logging::quiet(ctx)?;
            doctor::run(args, ctx).await
        }
        Verb::Backup(args) => {
            logging::quiet(ctx)?;
            backup::run(args, ctx).await
        }
        Verb::Restore(args) => {
            logging::quiet(ctx)?;
            restore::run(args, ctx).await
        }
        Verb::Ready(args) => {
            logging::quiet(ctx)?;
            ready::run(args, ctx).await
        }
        Verb::Completions(args) => completions::run(args, ctx),
        Verb::Man(args) => man::run(args, ctx),
        verb => {
            logging::quiet(ctx)?;
            if let Verb::Clear(_) = verb {
                clear::must_know(ctx)?;
            }
            let mut connection = Connection::find(ctx).await?;
            let done = connected(verb, ctx, &mut connection).await.map_err(|error| connection.explain(ctx, error));
            // That the store has stopped says more than that some request failed.
            connection.close().await?;
            done
        }
    }
}

async fn connected(verb: Verb, ctx: &Context, connection: &mut Connection) -> anyhow::Result<Exit> {
    match verb {
        Verb::Serve(_) | Verb::Demo(_) => unreachable!("these bring their own server"),
        Verb::AskModel(_) | Verb::Doctor(_) | Verb::Completions(_) | Verb::Man(_) => unreachable!("these need none"),
        Verb::Backup(_) | Verb::Restore(_) | Verb::Ready(_) => unreachable!("these work beside one"),
        Verb::Gate(verb) => gate::run(verb, ctx, connection).await,
        Verb::Approve(args) => approve::run(args, ctx, connection).await,
        Verb::Reject(args) => reject::run(args, ctx, connection).await,
        Verb::Adjust(args) => adjust::run(args, ctx, connection).await,
        Verb::Pause(args) => pause::run(args, ctx, connection).await,
        Verb::Debate(args) => debate::run(*args, ctx, connection).await,
        Verb::Replay(args) => debate::replay::run(args, ctx, connection).await,
        Verb::Plan(args) => plan::run(*args, ctx, connection).await,
        Verb::Ask(args) => ask::run(*args, ctx, connection).await,
        Verb::Answer(args) => answer::run(args, ctx, connection).await,
        Verb::Deny(args) => deny::run(args, ctx, connection).await,
        Verb::Questions(args) => questions::run(args, ctx, connection).await,
        Verb::Question(verb) => question::run(verb, ctx, connection).await,
        Verb::Clear(args) => clear::run(args, ctx, connection).await,
        Verb::Halt(verb) => halt::run(verb, ctx, connection).await,
        Verb::Lift(args) => lift::run(args, ctx, connection).await,
        Verb::Start(args) => start::run(*args, ctx, connection).await,
        Verb::Runs(args) => runs::run(args, ctx, connection).await,
        Verb::Show(args) => show::run(args, ctx, connection).await,
        Verb::Journal(args) => journal::run(args, ctx, connection).await,
        Verb::Events(args) => events::run(args, ctx, connection).await,
        Verb::Step(verb) => step::run(verb, ctx, connection).await,
        Verb::End(args) => end::run(args, ctx, connection).await,
        Verb::Resume(args) => resume::run(args, ctx, connection).await,
        Verb::Cancel(args) => cancel::run(args, ctx, connection).await,
        Verb::Status(args) => status::run(args, ctx, connection).await,
        Verb::Watch(args) => watch::run(args, ctx, connection).await,
        Verb::Audit(verb) => audit::run(verb, ctx, connection).await,
        Verb::Erase(args) => erase::run(args, ctx, connection).await,
        Verb::Protect(args) => protect::run(args, ctx, connection).await,
        Verb::Token(verb) => token::run(verb, ctx, connection).await,
        Verb::Webhook(verb) => webhook::run(verb, ctx, connection).await,
        Verb::Delivery(verb) => delivery::run(verb, ctx, connection).await,
        Verb::Notify(verb) => notify::run(verb, ctx, connection).await,
    }
}
