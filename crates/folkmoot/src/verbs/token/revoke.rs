//! `folkmoot token revoke`

use anyhow::Result;
use folkmoot_api::{Client, core::TokenId};

use crate::{cli::ActingAs, connection::Connection, context::CliContext, exit::Exit};

/// Revoke a token; its streams end too
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The token's id, as `token list` shows it
    id: TokenId,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    if !connection.agrees(ctx, ActingAs::You, &format!("Revoke {}?", args.id)).await? {
        return Ok(Exit::Waiting);
    }
    let token =
        connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.revoke_token(&args.id).await?)).await?;
    ctx.screen.show(&token, format!("revoked {} of {}", token.id, token.name))?;
    Ok(Exit::Done)
}
