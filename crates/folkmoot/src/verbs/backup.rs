//! `folkmoot backup`: copy the whole database into one file while the server runs.

use std::path::PathBuf;

use anyhow::{Result, bail};
use folkmoot_server::{
    backup::{self, Backup},
    doctor::bytes,
};
use serde_json::json;

use crate::{
    context::CliContext,
    exit::Exit,
    logging,
    terminal::{
        style::{self, paint},
        table::facts,
    },
};

/// Copy the whole database into one file; the server can keep running
#[derive(Debug, clap::Args)]
#[command(after_help = "The file is verified before this reports success. An existing file is never overwritten.\n\
                        Keep it private: it contains tokens only as hashes, but webhook addresses in the clear, with any \
                        secret in them. It does not contain server.key, tokens.json and folkmoot.toml. Keep a copy of \
                        server.key, or webhook secrets and the signing key change after a restore.")]
pub(crate) struct Args {
    /// The new file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The PostgreSQL that holds the data, if it is not in the data folder
    #[arg(long, value_name = "URL", env = "FOLKMOOT_DATABASE", hide_env_values = true)]
    database: Option<String>,
}

pub(crate) async fn run(args: Args, ctx: &CliContext) -> Result<Exit> {
    logging::quiet(ctx)?;
    must_be_here(ctx, "backup")?;
    let database = args.database.filter(|url| !url.is_empty());
    let held = backup::back_up(&ctx.data, database.as_deref(), &args.file).await?;
    if ctx.screen.json {
        ctx.screen.json(&json!({ "file": args.file, "backup": held }))?;
        return Ok(Exit::Done);
    }
    let name = args.file.display().to_string();
    ctx.screen.say(format!("{} {}", paint(style::GOOD, "Backed up to"), paint(style::STRONG, name)))?;
    ctx.screen.say(told(&held))?;
    ctx.screen.note("Not in it: server.key, tokens.json, folkmoot.toml. Keep a copy of server.key somewhere else.");
    Ok(Exit::Done)
}

/// Backups are made where the data is, not through a server.
pub(crate) fn must_be_here(ctx: &CliContext, verb: &str) -> Result<()> {
    if ctx.url.is_some() {
        bail!(
            "`{verb}` works on a data folder or a database, not through a server: leave out --url (FOLKMOOT_URL), and \
             say with --data or --database where the data is"
        );
    }
    Ok(())
}

/// The contents of a backup, as text.
pub(crate) fn told(held: &Backup) -> String {
    let counted = |(table, word): (&str, &str)| match held.rows.get(table) {
        Some(1) => format!("1 {word}"),
        count => format!("{} {word}s", count.copied().unwrap_or_default()),
    };
    let all = [("gates", "gate"), ("questions", "question"), ("runs", "run"), ("tokens", "token"), ("events", "event")];
    facts([
        ("position", Some(held.position.to_string())),
        ("head", Some(held.head_hash.clone())),
        ("holds", Some(all.map(counted).join(", "))),
        ("schema", Some(held.schema.to_string())),
        ("size", Some(bytes(held.bytes))),
        ("verified", Some("the file is whole, the log unbroken, and every row agrees with it".to_owned())),
    ])
}
