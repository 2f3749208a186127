//! Chooses the model, and prints the choice before it is asked. A model server that merely runs on
//! this machine is proposed, never used automatically: the configuration, an option, or a person at
//! the terminal must choose it. The data folder remembers the person's answer.

use anyhow::Result;
use folkmoot_api::{
    Client,
    wire::{AskedModel, ListeningModel},
};
use folkmoot_server::LocalModel;

use crate::{
    cli::ActingAs,
    connection::Connection,
    context::CliContext,
    terminal::{
        printable::one_line,
        prompt,
        style::{self, paint},
    },
};

/// The provider for the server to use. Prints the choice in a line.
pub(crate) async fn of_server(ctx: &CliContext, connection: &mut Connection, named: Option<&str>) -> Result<String> {
    let from_shell = std::env::var("FOLKMOOT_PROVIDER").ok().filter(|name| !name.trim().is_empty());
    let named = named.map(str::to_owned).or(from_shell);
    let read = async |client: &Client| Ok(client.asked_model(named.as_deref()).await?);
    let asked = connection.ask(ctx, ActingAs::You, read).await?;
    choose(ctx, asked).await
}

/// The provider to use, after checking for local model servers. Prints the choice in a line.
pub(crate) async fn choose(ctx: &CliContext, asked: AskedModel) -> Result<String> {
    // A model server of another machine must not be remembered in this folder.
    let remembered = if asked.chosen || ctx.url.is_some() { None } else { ctx.data.local_model()? };
    if let Some(LocalModel { provider, base_url }) = remembered {
        let elsewhere = |found: &ListeningModel| found.provider == provider && found.base_url != base_url;
        if !asked.listening.iter().any(elsewhere) {
            say(ctx, format!("Asking {provider} at {base_url}: you chose it at a terminal."));
            return Ok(provider);
        }
    }
    if let Some(found) = asked.listening.first() {
        if !ctx.screen.answers {
            say(ctx, format!("{} {}", rehearsal(&asked), unused(ctx, found)));
            return Ok(asked.provider);
        }
        let question =
            format!("{} runs on this machine but is not configured. Use it, now and from now on?", describe(found));
        if prompt::yes(&one_line(&question)).await? {
            let model = LocalModel { provider: found.provider.clone(), base_url: found.base_url.clone() };
            let kept = match ctx.url {
                None => format!(
                    " {} remembers it: remove that file to be asked again.",
                    ctx.data.remember_local_model(&model)?.display()
                ),
                Some(_) => String::new(),
            };
            say(ctx, format!("Asking {}: you just chose it.{kept}", describe(found)));
            return Ok(found.provider.clone());
        }
    }
    say(
        ctx,
        match asked.rehearsal {
            true => rehearsal(&asked),
            false => {
                let model = asked.model.as_deref().filter(|model| !asked.provider.ends_with(*model));
                let model = model.map(|model| format!("/{model}")).unwrap_or_default();
                let place = asked.base_url.as_deref().map(|url| format!(" at {url}")).unwrap_or_default();
                format!("Asking {}{model}{place}: {}.", asked.provider, asked.why)
            }
        },
    );
    Ok(asked.provider)
}

fn say(ctx: &CliContext, line: String) {
    ctx.screen.note(paint(style::FAINT, one_line(&line)));
}

fn rehearsal(asked: &AskedModel) -> String {
    format!("This is a rehearsal, no model is asked, because {}.", asked.why)
}

fn describe(found: &ListeningModel) -> String {
    format!("{}/{} at {}", found.provider, found.model, found.base_url)
}

fn unused(ctx: &CliContext, found: &ListeningModel) -> String {
    let provider = &found.provider;
    format!(
        "{} listens on this machine and is asked only when you say so: add --provider {provider}, or `provider = \"{provider}\"` \
         to {}.",
        describe(found),
        ctx.data.path().join("folkmoot.toml").display(),
    )
}
