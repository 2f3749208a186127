//! `folkmoot webhook …`: addresses that receive events.

mod add;
mod change;
mod list;
mod remove;
mod rotate;
mod show;

use anyhow::{Result, bail};
use clap::Subcommand;
use folkmoot_api::{Client, core::delivery::Pattern, wire::Webhook};

use crate::{connection::Connection, context::CliContext, exit::Exit, terminal::table::facts};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Add(add::Args),
    List(list::Args),
    Show(show::Args),
    Change(change::Args),
    Rotate(rotate::Args),
    Remove(remove::Args),
}

pub(crate) async fn run(verb: Verb, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    match verb {
        Verb::Add(args) => add::run(args, ctx, connection).await,
        Verb::List(args) => list::run(args, ctx, connection).await,
        Verb::Show(args) => show::run(args, ctx, connection).await,
        Verb::Change(args) => change::run(args, ctx, connection).await,
        Verb::Rotate(args) => rotate::run(args, ctx, connection).await,
        Verb::Remove(args) => remove::run(args, ctx, connection).await,
    }
}

#[derive(Debug, clap::Args)]
struct WebhookArgs {
    /// Its name or id, as `webhook list` shows them
    webhook: String,
}

impl WebhookArgs {
    async fn find(&self, client: &Client) -> Result<Webhook> {
        let list = client.webhooks().await?.webhooks;
        let is_it = |webhook: &Webhook| webhook.name.as_str() == self.webhook || webhook.id.as_str() == self.webhook;
        match list.into_iter().find(is_it) {
            Some(webhook) => Ok(webhook),
            None => bail!("there is no webhook {:?}; `folkmoot webhook list` shows those there are", self.webhook),
        }
    }
}

/// Prints a webhook without its secret.
fn say(ctx: &CliContext, webhook: &Webhook) -> Result<()> {
    if ctx.screen.json {
        return ctx.screen.json(webhook);
    }
    let state = match (webhook.removed_at, webhook.disabled) {
        (Some(_), _) => "removed",
        (None, true) => "disabled",
        (None, false) => "told",
    };
    let key = webhook.key_id.as_ref().map(|key| format!(" of {key}")).unwrap_or_default();
    let before = webhook.previous_until.map(|until| format!(", with the one before until {until}")).unwrap_or_default();
    let secret = format!("number {}{key}{before}", webhook.generation);
    ctx.screen.say(format!("{} {}", webhook.name, webhook.id))?;
    ctx.screen.say(facts([
        ("address", Some(webhook.url.clone())),
        ("events", Some(events(&webhook.events))),
        ("state", Some(state.to_owned())),
        ("secret", Some(secret)),
        ("made by", Some(webhook.created_by.to_string())),
    ]))?;
    Ok(())
}

/// Prints a secret once, alone on stdout, so that a script can capture it.
fn say_secret(ctx: &CliContext, webhook: &Webhook, what: &str) -> Result<Exit> {
    if ctx.screen.json {
        ctx.screen.json(webhook)?;
        return Ok(Exit::Done);
    }
    ctx.screen.note(format!("{what} Its messages are signed with this, which is shown once:"));
    ctx.screen.say(webhook.secret.as_deref().unwrap_or_default())?;
    Ok(Exit::Done)
}

pub(crate) fn events(events: &[Pattern]) -> String {
    match events {
        [] => "gates that name it".to_owned(),
        some => some.iter().map(Pattern::as_str).collect::<Vec<_>>().join(" "),
    }
}
