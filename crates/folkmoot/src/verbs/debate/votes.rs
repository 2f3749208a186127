//! `folkmoot debate votes`: who voted for whom, and the result.

use anyhow::Result;
use folkmoot_api::{Client, wire::DebateVote};

use super::DebateArgs;
use crate::{
    cli::ActingAs,
    connection::Connection,
    context::CliContext,
    exit::Exit,
    terminal::{printable::one_line, style, table::TableRow},
    views,
};

/// Show how the agents of a debate voted
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: DebateArgs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let id = args.which.find(ctx, connection).await?;
    let votes = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.debate_votes(&id).await?)).await?;
    if ctx.screen.json {
        ctx.screen.json(&votes)?;
        return Ok(Exit::Done);
    }
    if votes.votes.is_empty() {
        ctx.screen.note("Nobody has voted.");
    } else {
        ctx.screen.table(&["VOTER", "ROUND", "CONFIDENCE", "RANKING"], votes.votes.iter().map(row).collect())?;
    }
    if let Some(verdict) = &votes.verdict {
        ctx.screen.say(format!("\n{}", views::debate::decision(verdict)))?;
    }
    Ok(Exit::Done)
}

fn row(vote: &DebateVote) -> TableRow {
    let ranking = match &vote.refused {
        Some(why) => format!("does not count: {}", one_line(why)),
        None => views::debate::ranking(&vote.ranking),
    };
    let cells = [vote.voter.to_string(), vote.round.to_string(), format!("{:.2}", vote.confidence), ranking];
    TableRow { cells: cells.into(), painted: vote.refused.as_ref().map(|_| ("does", style::WARN)) }
}
