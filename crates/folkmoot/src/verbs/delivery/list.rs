//! `folkmoot delivery list`

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::delivery::DeliveryStatus,
    wire::{Delivery, DeliveryListParams},
};

use crate::{
    cli::{ActingAs, PageArgs, word},
    clock,
    connection::Connection,
    context::CliContext,
    exit::Exit,
    terminal::{printable::one_line, span, style, table::TableRow},
};

/// List notifications and whether they were delivered
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only with this status
    #[arg(long, value_parser = word::<DeliveryStatus>(DeliveryStatus::WORDS))]
    state: Option<DeliveryStatus>,
    /// Only those that failed for good
    #[arg(long, conflicts_with = "state")]
    dead: bool,
    /// Only to this channel
    #[arg(long)]
    channel: Option<String>,
    #[command(flatten)]
    page: PageArgs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let state = args.state.or(args.dead.then_some(DeliveryStatus::Dead));
    let query =
        DeliveryListParams { state, channel: args.channel, cursor: args.page.cursor, limit: Some(args.page.limit) };
    let list = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.deliveries(&query).await?)).await?;
    let none = match state {
        Some(state) => format!("No message is {state}."),
        None => "There was nothing to tell yet.".to_owned(),
    };
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
    let names = &["DELIVERY", "CHANNEL", "EVENT", "STATE", "ATTEMPTS", "HAPPENED", "LAST ERROR"];
    ctx.screen.list(&list, names, rows, none, list.next.is_some())?;
    Ok(Exit::Done)
}
