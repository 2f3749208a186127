//! `folkmoot start`: start a run that you or a workflow execute.

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{RunId, SessionId, WorkflowName},
    wire::StartRun,
};
use serde_json::Value;

use crate::{
    cli::{AsAgent, json},
    connection::{Connection, find, idempotency},
    context::CliContext,
    exit::Exit,
    terminal::style::{self, paint},
};

/// Start a run
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints the run's id. Without --workflow you execute it yourself: `folkmoot step` records what you have
done, `folkmoot gate open --run ID` asks for a decision in it, and `folkmoot end` ends it.

Example:
  run=$(folkmoot start \"Nightly build\" --session nightly)")]
pub(crate) struct Args {
    /// A title
    title: Option<String>,
    /// The workflow that executes it, such as publish@1; the server must know it
    #[arg(long, value_name = "NAME@VERSION")]
    workflow: Option<WorkflowName>,
    /// The input
    #[arg(long, value_name = "JSON", value_parser = json)]
    input: Option<Value>,
    /// Its session (default: a new one)
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// Its id (default: a new one)
    #[arg(long, value_name = "ID")]
    id: Option<RunId>,
    /// With the same key, a repeated command starts no second run
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    acting: AsAgent,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let key = args.idempotency_key.unwrap_or_else(idempotency::new_key);
    let request = StartRun {
        title: args.title,
        session_id: args.session,
        id: args.id,
        workflow: args.workflow,
        input: args.input,
        ..StartRun::default()
    };
    if !connection.agrees(ctx, args.acting.who, "Start this run in your name?").await? {
        return Ok(Exit::Waiting);
    }
    let start = async |client: &Client| Ok(client.start_run(&request, Some(&key)).await?);
    let run = connection.ask(ctx, args.acting.who, start).await?;
    if ctx.screen.json {
        ctx.screen.json(&run)?;
    } else if ctx.screen.terminal {
        ctx.screen.say(format!("{} {}", paint(style::STRONG, "Started"), run.id))?;
        let show = format!("{} show {}", ctx.command(), find::short_run(&run.id));
        ctx.screen.say(format!("{} shows where it is", paint(style::COMMAND, show)))?;
    } else {
        // `run=$(folkmoot start …)`
        ctx.screen.say(run.id.as_str())?;
    }
    Ok(Exit::Done)
}
