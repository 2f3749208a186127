//! `folkmoot halt …`: stop an agent, a session or everyone, until the halt is lifted.

use anyhow::Result;
use clap::Subcommand;
use folkmoot_api::{
    Client,
    core::{Name, Scope, SessionId},
    wire::{Halt, RaiseHalt},
};

use crate::{
    cli::ActingAs,
    connection::{Connection, find, idempotency},
    context::CliContext,
    exit::Exit,
    terminal::style::{self, paint},
};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Stop one agent, in any session
    Agent {
        /// The agent
        #[arg(value_name = "ID")]
        agent: Name,
        #[command(flatten)]
        why: HaltReasonArgs,
    },
    /// Stop everyone in a session
    Session {
        /// The session
        #[arg(value_name = "ID")]
        session: SessionId,
        #[command(flatten)]
        why: HaltReasonArgs,
    },
    /// Stop everyone
    All {
        #[command(flatten)]
        why: HaltReasonArgs,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct HaltReasonArgs {
    /// The reason, which halted agents see
    #[arg(long, short = 'm', value_name = "TEXT")]
    reason: String,
}

pub(crate) async fn run(verb: Verb, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let request = request(verb);
    let key = idempotency::new_key();
    // In an emergency nobody is asked for confirmation. Only their presence is shown.
    if connection.is_personal() {
        connection.answered().await?;
    }
    let raise = async |client: &Client| Ok(client.raise_halt(&request, Some(&key)).await?);
    let halt = connection.ask(ctx, ActingAs::You, raise).await?;
    if ctx.screen.json {
        ctx.screen.json(&halt)?;
    } else if ctx.screen.terminal {
        ctx.screen.say(format!("{} {} {}", paint(style::BAD, "Halted"), whom(&halt), paint(style::FAINT, &halt.id)))?;
        let lift = paint(style::COMMAND, format!("{} lift {}", ctx.command(), find::short(&halt.id)));
        ctx.screen.say(format!("until {lift}"))?;
    } else {
        // `halt=$(folkmoot halt …)`
        ctx.screen.say(halt.id.as_str())?;
    }
    Ok(Exit::Done)
}

fn request(verb: Verb) -> RaiseHalt {
    let (scope, agent_id, session_id, why) = match verb {
        Verb::Agent { agent, why } => (Scope::Agent, Some(agent), None, why),
        Verb::Session { session, why } => (Scope::Session, None, Some(session), why),
        Verb::All { why } => (Scope::All, None, None, why),
    };
    RaiseHalt { scope, agent_id, session_id, reason: why.reason }
}

pub(crate) fn whom(halt: &Halt) -> String {
    match (&halt.agent_id, &halt.session_id) {
        (Some(agent), _) => format!("agent {agent}"),
        (None, Some(session)) => format!("session {session}"),
        (None, None) => "everyone".to_owned(),
    }
}
