//! `folkmoot delivery list`

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::delivery::DeliveryStatus,
    wire::{Delivery, DeliveryListParams},
};

use crate::{
    cli::{ActingAs, word},
    clock,
    connection::Connection,
    context::CliContext,
    exit::Exit,
    terminal::{printable::one_line, span, style, table::TableRow},
};

/// List what was told, and what was not
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these
    #[arg(long, value_parser = word::<DeliveryStatus>(DeliveryStatus::WORDS))]
    state: Option<DeliveryStatus>,
    /// Only those that nobody was told
    #[arg(long, conflicts_with = "state")]
    dead: bool,
    /// Only to this channel
    #[arg(long)]
    channel: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
    /// Go on after another list, where its `next` says
    #[arg(long)]
    cursor: Option<String>,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let state = args.state.or(args.dead.then_some(DeliveryStatus::Dead));
    let query = DeliveryListParams { state, channel: args.channel, cursor: args.cursor, limit: Some(args.limit) };
    let list = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.deliveries(&query).await?)).await?;
    if ctx.screen.json {
        ctx.screen.json(&list)?;
        return Ok(Exit::Done);
    }
    if list.deliveries.is_empty() {
        ctx.screen.note(match state {
            Some(state) => format!("No message is {state}."),
            None => "There was nothing to tell yet.".to_owned(),
        });
        return Ok(Exit::Done);
    }
    let now = clock::now();
    let row = |delivery: &Delivery| {
        let state = delivery.state.word();
        let painted = match delivery.state {
            DeliveryStatus::Dead => Some((state, style::BAD)),
            DeliveryStatus::Waiting if delivery.last_error.is_some() => Some((state, style::WARN)),
            DeliveryStatus::Waiting | DeliveryStatus::Sending | DeliveryStatus::Delivered => None,
        };
        let cells = vec![
            delivery.id.to_string(),
            one_line(&delivery.channel),
            delivery.kind.clone(),
            state.to_owned(),
            delivery.attempts.to_string(),
            span::ago(delivery.created_at, now),
            one_line(delivery.last_error.as_deref().unwrap_or_default()),
        ];
        TableRow { cells, painted }
    };
    let rows = list.deliveries.iter().map(row).collect();
    ctx.screen.table(&["DELIVERY", "CHANNEL", "EVENT", "STATE", "ATTEMPTS", "HAPPENED", "LAST ERROR"], rows)?;
    ctx.screen.note_more(list.deliveries.len(), list.next.is_some());
    Ok(Exit::Done)
}
