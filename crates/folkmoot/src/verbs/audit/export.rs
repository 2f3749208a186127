//! `folkmoot audit export`: the log as JSON lines, with everything needed to verify it.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use anyhow::{Context as _, Result};
use folkmoot_api::{Client, core::TokenId};

use crate::{cli::ActingAs, connection::Connection, context::CliContext, exit::Exit, terminal::printable::escaped};

const PAGE: u32 = 1000;

/// Write the log as JSON lines, with its hashes
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Begin after this position
    #[arg(long, value_name = "N", default_value_t = 0)]
    after: u64,
    /// Only events caused with this token; such an export has gaps and cannot be verified
    #[arg(long, value_name = "ID", conflicts_with = "checkpoint")]
    token_id: Option<TokenId>,
    /// Add a signed checkpoint as the last line
    #[arg(long)]
    checkpoint: bool,
    /// A file to write (default: standard output)
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let mut out: Box<dyn Write> = match &args.out {
        Some(path) => {
            let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
            Box::new(BufWriter::new(file))
        }
        None => Box::new(BufWriter::new(io::stdout())),
    };
    let to_terminal = args.out.is_none() && ctx.screen.terminal;
    let (mut after, mut count) = (args.after, 0);
    loop {
        let read = async |client: &Client| match &args.token_id {
            Some(token) => Ok(client.audit_of_token(token, after, PAGE).await?),
            None => Ok(client.audit(after, PAGE).await?),
        };
        let page = connection.ask(ctx, ActingAs::You, read).await?;
        write(&mut out, &page.entries, to_terminal)?;
        count += page.entries.len();
        after = page.entries.last().map_or(after, |entry| entry.position);
        match page.next {
            Some(next) => after = next,
            None => break,
        }
    }
    if args.checkpoint {
        let last = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.checkpoint().await?)).await?;
        // The log grows during the export. It must include the event that the checkpoint names.
        let named = last["position"].as_u64().unwrap_or_default();
        while after < named {
            let page = connection
                .ask(ctx, ActingAs::You, async |client: &Client| Ok(client.audit(after, PAGE).await?))
                .await?;
            let missing: Vec<_> = page.entries.into_iter().filter(|entry| entry.position <= named).collect();
            let Some(entry) = missing.last() else { break };
            after = entry.position;
            count += missing.len();
            write(&mut out, &missing, to_terminal)?;
        }
        write(&mut out, &[last], to_terminal)?;
    }
    out.flush()?;
    if let Some(path) = &args.out {
        ctx.screen.note(format!("{count} events in {}", path.display()));
    }
    Ok(Exit::Done)
}

fn write(out: &mut impl Write, lines: &[impl serde::Serialize], to_terminal: bool) -> io::Result<()> {
    for line in lines {
        let text = serde_json::to_string(line)?;
        writeln!(out, "{}", if to_terminal { escaped(&text) } else { text })?;
    }
    Ok(())
}
