//! `folkmoot restore`: make a data folder, or fill a PostgreSQL, from a backup.

use std::path::PathBuf;

use anyhow::Result;
use folkmoot_server::backup::{self, TokensOnRestore};
use serde_json::json;

use crate::{
    context::CliContext,
    exit::Exit,
    logging,
    terminal::style::{self, paint},
    verbs::backup::{must_be_here, told},
};

/// Make a new data folder from a backup, or fill an empty PostgreSQL
#[derive(Debug, clap::Args)]
#[command(after_help = "Nothing is overwritten: a folder or database that already has a log is refused.\n\
                        Put server.key back into the folder before the first start, otherwise a new one is made. The first \
                        start makes tokens for the owner of the folder. All other tokens are valid again, also those that \
                        were revoked after the backup was made, unless you use --revoke-tokens.")]
pub(crate) struct Args {
    /// The file that `folkmoot backup` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// An empty PostgreSQL to fill, instead of the data folder
    #[arg(long, value_name = "URL", env = "FOLKMOOT_DATABASE", hide_env_values = true)]
    database: Option<String>,
    /// Revoke every token of the backup: tokens revoked since then stay revoked, and everybody else
    /// needs a new one
    #[arg(long)]
    revoke_tokens: bool,
}

pub(crate) async fn run(args: Args, ctx: &CliContext) -> Result<Exit> {
    logging::quiet(ctx)?;
    must_be_here(ctx, "restore")?;
    let database = args.database.filter(|url| !url.is_empty());
    let tokens = if args.revoke_tokens { TokensOnRestore::Revoke } else { TokensOnRestore::Keep };
    let restored = match &database {
        Some(url) => backup::restore_to_postgres(&args.file, url, tokens).await?,
        None => backup::restore(&args.file, &ctx.data, tokens).await?,
    };
    if ctx.screen.json {
        ctx.screen.json(&json!({ "file": args.file, "restored": restored }))?;
        return Ok(Exit::Done);
    }
    let place = match database {
        Some(_) => "PostgreSQL".to_owned(),
        None => ctx.data.path().display().to_string(),
    };
    ctx.screen.say(format!("{} {}", paint(style::GOOD, "Restored into"), paint(style::STRONG, place)))?;
    ctx.screen.say(told(&restored.backup))?;
    match (restored.valid_tokens.as_slice(), restored.revoked_tokens.len()) {
        ([], 0) => {}
        ([], revoked) => ctx.screen.note(format!("Revoked all {revoked} tokens of the backup.")),
        (valid, _) => {
            let shown: Vec<String> = valid
                .iter()
                .map(|token| format!("{} ({}, {})", token.id, token.principal.name, token.principal.role))
                .collect();
            ctx.screen.note(format!(
                "{} tokens of the backup are valid, also those that were revoked after it was made: {}. Revoke them with {}, or \
                 restore with --revoke-tokens.",
                valid.len(),
                shown.join(", "),
                paint(style::COMMAND, format!("{} token revoke ID", ctx.command())),
            ));
        }
    }
    if !ctx.data.path().join("server.key").exists() {
        ctx.screen.note(
            "No server.key is here. Put the old one back before the first start, or webhook secrets and the signing key change.",
        );
    }
    ctx.screen.note(format!("Start it with {}", paint(style::COMMAND, format!("{} serve", ctx.command()))));
    Ok(Exit::Done)
}
