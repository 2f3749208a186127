//! `folkmoot serve`: the server, until it is told to end.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use anyhow::Result;
use folkmoot_server::{Config, Server, StartError};

use crate::{
    context::Context,
    exit::{Exit, Stopped},
    logging, signal,
    style::{self, paint},
};

/// Serve gates to agents and people
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7400", env = "FOLKMOOT_LISTEN")]
    listen: SocketAddr,
    /// A PostgreSQL to keep the data in, instead of a file in the data folder
    #[arg(long, value_name = "URL", env = "FOLKMOOT_DATABASE", hide_env_values = true)]
    database: Option<String>,
    /// A configuration file; folkmoot.toml in the data folder unless it is given
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Log as JSON
    #[arg(long)]
    log_json: bool,
}

pub(crate) async fn run(args: Args, ctx: &Context) -> Result<Exit> {
    logging::for_serve(args.log_json)?;
    let shutdown = signal::shutdown()?;
    let mut config = Config::new(ctx.data.clone());
    config.read_file(args.config)?;
    config.read_environment(|name| std::env::var(name).ok())?;
    config.listen = args.listen;
    config.database = args.database.filter(|url| !url.is_empty());
    let place = match &config.database {
        Some(_) => format!("PostgreSQL, and {}", ctx.data.path().display()),
        None => ctx.data.path().display().to_string(),
    };
    let server = start(config).await?;
    if ctx.screen.json {
        ctx.screen.json(&ctx.data.server())?;
    } else {
        ctx.screen.say(greeting(ctx, server.url(), &place))?;
    }
    server.serve(shutdown).await.map_err(Stopped)?;
    ctx.screen.note("Folkmoot has stopped. Gates that wait are kept.");
    Ok(Exit::Done)
}

/// A short verb may hold the folder for a moment; that is no reason to give up.
async fn start(config: Config) -> Result<Server, StartError> {
    for _ in 0..5 {
        match Server::start(config.clone()).await {
            Err(StartError::InUse { .. }) => tokio::time::sleep(Duration::from_millis(100)).await,
            other => return other,
        }
    }
    Server::start(config).await
}

fn greeting(ctx: &Context, url: &str, place: &str) -> String {
    let folkmoot = ctx.command();
    let command = |text: String| paint(style::COMMAND, text);
    [
        format!("Folkmoot listens on {}", paint(style::STRONG, url)),
        format!("Its data is in {place}"),
        String::new(),
        format!("  ask      {}", command(format!("{folkmoot} gate open \"Deploy 1.4.2\" --wait"))),
        format!("  decide   {}", command(format!("{folkmoot} approve"))),
        format!("  look     {}", command(format!("{folkmoot} status"))),
        String::new(),
        "Ctrl-C stops it; gates that wait are kept.".to_owned(),
    ]
    .join("\n")
}
