//! `folkmoot events`: all events of a run, its gates and its questions.

use anyhow::Result;
use folkmoot_api::{
    Client,
    wire::{AuditPage, Event, Run},
};

use crate::{
    cli::AsYou,
    connection::{Connection, find},
    context::CliContext,
    exit::Exit,
    verbs::watch,
};

const PAGE: u32 = 1000;

/// Show the events of a run, its gates and its questions
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run, or any unique beginning or end of its id
    run: String,
    /// Begin after this position
    #[arg(long, value_name = "N", default_value_t = 0)]
    after: u64,
    #[command(flatten)]
    acting: AsYou,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let read = async |client: &Client| {
        let id = find::any::<Run>(client, Some(&args.run)).await?;
        let (mut entries, mut after) = (Vec::new(), args.after);
        loop {
            let page = client.run_events(&id, after, PAGE).await?;
            entries.extend(page.entries);
            match page.next {
                Some(next) => after = next,
                None => return Ok(AuditPage { entries, next: None }),
            }
        }
    };
    let events = connection.ask(ctx, args.acting.who, read).await?;
    if ctx.screen.json {
        ctx.screen.json(&events)?;
        return Ok(Exit::Done);
    }
    for event in events.entries.into_iter().filter_map(|entry| entry.event()) {
        ctx.screen.say(watch::line(&Event::new(&event), None))?;
    }
    Ok(Exit::Done)
}
