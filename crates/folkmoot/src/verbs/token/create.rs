//! `folkmoot token create`

use anyhow::{Context as _, Result};
use folkmoot_api::{
    core::{Capability, Name, Role, token::TokenKind},
    wire::NewToken,
};

use super::list::powers;
use crate::{
    cli::{ActingAs, word},
    connection::Connection,
    context::CliContext,
    exit::Exit,
};

/// Create a token; its secret is shown once
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of its owner
    #[arg(required_unless_present = "named", conflicts_with = "named")]
    name: Option<Name>,
    /// Same as NAME
    #[arg(long = "name", value_name = "NAME", hide = true)]
    named: Option<Name>,
    /// The role; a name has one role
    #[arg(long, value_parser = word::<Role>(Role::WORDS))]
    role: Role,
    /// What this token allows beyond the role; can be repeated. `halt` lets a monitoring agent
    /// raise halts
    #[arg(long = "can", value_name = "CAPABILITY", value_delimiter = ',')]
    #[arg(value_parser = word::<Capability>(Capability::WORDS))]
    capabilities: Vec<Capability>,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    // Not retried: a second token whose secret nobody has seen would be worse than an error.
    let name = args.name.or(args.named).context("name its owner: folkmoot token create NAME --role …")?;
    let request = NewToken { name, role: args.role, capabilities: args.capabilities, kind: TokenKind::Minted };
    let may = if request.role.decides() { ", who can decide without you" } else { "" };
    let ask = format!("Make a token for {} ({}){may}?", request.name, request.role);
    if !connection.agrees(ctx, ActingAs::You, &ask).await? {
        return Ok(Exit::Waiting);
    }
    let token = connection.client(ActingAs::You)?.create_token(&request).await?;
    if ctx.screen.json {
        ctx.screen.json(&token)?;
        return Ok(Exit::Done);
    }
    ctx.screen.note(format!("Token {} of {} ({}). This is shown once:", token.id, token.name, powers(&token)));
    // Alone on stdout, so that a script can capture it.
    ctx.screen.say(token.token.unwrap_or_default())?;
    Ok(Exit::Done)
}
