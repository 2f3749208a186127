//! `folkmoot serve`: runs the server until a signal ends it.

use std::{
    net::SocketAddr,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};
use folkmoot_server::{Config, Server, StartError, open_files};
use tokio_util::sync::CancellationToken;

use crate::{
    connection,
    context::CliContext,
    exit::{Exit, StoreStopped},
    logging, service, signal,
    telemetry::Telemetry,
    terminal::style::{self, paint},
    verbs::doctor,
};

/// How long a verb that serves the folder may take to release it: it finishes its requests first.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);
/// How long shutdown may take: five seconds for requests in flight, the rest for deliveries and
/// closing.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(25);

/// Serve gates and questions to agents and people
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The address to listen on; port 0 means a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7400", env = "FOLKMOOT_LISTEN")]
    listen: SocketAddr,
    /// A PostgreSQL to keep the data in, instead of a file in the data folder
    #[arg(long, value_name = "URL", env = "FOLKMOOT_DATABASE", hide_env_values = true)]
    database: Option<String>,
    /// A configuration file (default: folkmoot.toml in the data folder)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The server's key, which servers on one PostgreSQL share (default: server.key in the data
    /// folder)
    #[arg(long, value_name = "FILE", env = "FOLKMOOT_KEY_FILE", hide_env_values = true)]
    key: Option<PathBuf>,
    /// Log as JSON, one line per request
    #[arg(long)]
    log_json: bool,
    /// Send traces to this OpenTelemetry collector over HTTP (default: OTEL_EXPORTER_OTLP_ENDPOINT)
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
}

pub(crate) async fn run(args: Args, ctx: &CliContext) -> Result<Exit> {
    let telemetry = Telemetry::start(args.otlp.as_deref())?;
    logging::for_serve(args.log_json, telemetry.as_ref())?;
    let shutdown = signal::shutdown()?;
    end_in_time(shutdown.clone());
    open_files::raise();
    let mut config = Config::new(ctx.data.clone());
    config.read_file(args.config.clone())?;
    config.read_environment(|name| std::env::var(name).ok())?;
    // Warn now about problems that agents would hit later.
    let equipment = doctor::equipment(doctor::read(args.config, ctx)?)?;
    if equipment.prompts_folder.is_some() {
        equipment.prompts().map_err(|why| anyhow!(why))?;
    }
    config.variable = |name| std::env::var(name).ok();
    config.listen = args.listen;
    config.key = args.key;
    config.adopt = telemetry.as_ref().map(|_| Telemetry::adopt());
    config.database = args.database.filter(|url| !url.is_empty());
    let place = match &config.database {
        Some(_) => format!("PostgreSQL, and {}", ctx.data.path().display()),
        None => ctx.data.path().display().to_string(),
    };
    let is_first = matches!(ctx.data.tokens(), Ok(None));
    let server = start(config).await?;
    if is_first && !args.log_json {
        connection::offer_protection(ctx);
    }
    if ctx.screen.json {
        ctx.screen.json(&ctx.data.server())?;
    } else {
        ctx.screen.say(greeting(ctx, server.url(), &place))?;
    }
    service::ready(server.url(), server.pulse(), &shutdown);
    let served = server.serve(shutdown).await;
    if let Some(telemetry) = telemetry {
        telemetry.finish().await;
    }
    served.map_err(StoreStopped)?;
    let goodbye = "Folkmoot has stopped. Gates and questions that wait are kept.";
    if args.log_json {
        // With --log-json, stderr contains only JSON.
        tracing::info!("{goodbye}");
    } else {
        // After the ^C that a terminal shows.
        let line = if ctx.screen.terminal { "\n" } else { "" };
        ctx.screen.note(format!("{line}{goodbye}"));
    }
    Ok(Exit::Done)
}

/// Ends the process if shutdown hangs. What was acknowledged is durable, and the next server
/// continues what was in flight, as after a crash.
fn end_in_time(shutdown: CancellationToken) {
    tokio::spawn(async move {
        shutdown.cancelled().await;
        // A separate thread, because tasks may block all of the runtime's.
        std::thread::spawn(|| {
            std::thread::sleep(SHUTDOWN_TIMEOUT);
            eprintln!("Folkmoot did not end within {} s and is ended now.", SHUTDOWN_TIMEOUT.as_secs());
            std::process::exit(1);
        });
    });
}

/// Another verb may be serving the folder. Asks it to release the folder; it then continues as a
/// client.
async fn start(config: Config) -> Result<Server, StartError> {
    let (begun, data) = (Instant::now(), config.data.clone());
    let started = loop {
        let patience = match Server::start(config.clone()).await {
            Err(StartError::InUse { server: Some(server), .. }) if server.temporary => LOCK_TIMEOUT,
            Err(StartError::InUse { .. }) => PAUSE * 5,
            other => break other,
        };
        if begun.elapsed() > patience {
            break Server::start(config).await;
        }
        // If this fails, the start fails below with the reason.
        let _ = data.want();
        tokio::time::sleep(PAUSE).await;
    };
    data.want_no_more();
    started
}

fn greeting(ctx: &CliContext, url: &str, place: &str) -> String {
    let folkmoot = ctx.command();
    let command = |text: String| paint(style::COMMAND, text);
    [
        format!("Folkmoot listens on {}", paint(style::STRONG, url)),
        format!("Its data is in {place}"),
        String::new(),
        format!("  ask      {}", command(format!("{folkmoot} gate open \"Deploy 1.4.2\" --wait"))),
        format!("  decide   {}", command(format!("{folkmoot} approve"))),
        format!("  halt     {}", command(format!("{folkmoot} halt all --reason \"…\""))),
        format!("  look     {}", command(format!("{folkmoot} status"))),
        String::new(),
        "Ctrl-C stops it; gates and questions that wait are kept.".to_owned(),
    ]
    .join("\n")
}
