//! `folkmoot token create`

use anyhow::Result;
use folkmoot_api::{
    core::{Name, Role},
    wire::NewToken,
};

use crate::{
    cli::{As, word},
    connection::Connection,
    context::Context,
    exit::Exit,
};

/// Make a token; its secret is shown once
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whom it names
    #[arg(long)]
    name: Name,
    /// What they may do; a name has one role
    #[arg(long, value_parser = word::<Role>(Role::WORDS))]
    role: Role,
}

pub(crate) async fn run(args: Args, ctx: &Context, connection: &Connection) -> Result<Exit> {
    // Asked once: a second token, whose secret nobody has seen, would be worse than an error.
    let token = connection
        .client(As::You)?
        .create_token(&NewToken { name: args.name, role: args.role, capabilities: Vec::new() })
        .await?;
    if ctx.screen.json {
        ctx.screen.json(&token)?;
        return Ok(Exit::Done);
    }
    ctx.screen.note(format!("Token {} of {} ({}). This is shown once:", token.id, token.name, token.role));
    // Alone on stdout, so that a script can take it.
    ctx.screen.say(token.token.unwrap_or_default())?;
    Ok(Exit::Done)
}
