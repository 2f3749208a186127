//! `folkmoot doctor`: checks the server, its data and what agents use, and says how to fix
//! problems.

use std::{path::PathBuf, time::Duration};

use anyhow::{Result, anyhow};
use folkmoot_api::{
    Client,
    wire::{Provider, ProviderList},
};
use folkmoot_server::{
    Config,
    doctor::{self as server, DoctorTarget},
    models,
    workflows::{
        Equipment,
        doctor::{self, Area, DoctorFinding},
        tools::jail::Helper,
    },
};
use serde_json::json;

use crate::{
    context::CliContext,
    exit::Exit,
    logging,
    set_up::SetUp,
    terminal::{
        printable::one_line,
        style::{self, paint},
    },
};

/// How long the server may take to check its providers.
const PROVIDERS_TIMEOUT: Duration = Duration::from_secs(15);

/// Check the server, its data, models, jail, tools and channels, and say what to do
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A configuration file (default: that of the last `serve`)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The PostgreSQL that holds the data, if it is not in the data folder
    #[arg(long, value_name = "URL", env = "FOLKMOOT_DATABASE", hide_env_values = true)]
    database: Option<String>,
    /// The server's key (default: that of the last `serve`)
    #[arg(long, value_name = "FILE", env = "FOLKMOOT_KEY_FILE", hide_env_values = true)]
    key: Option<PathBuf>,
}

pub(crate) async fn run(args: Args, ctx: &CliContext) -> Result<Exit> {
    logging::quiet(ctx)?;
    let served = ctx.data.served()?;
    let config = read(args.config.or(served.config), ctx)?;
    let channels = folkmoot_server::examine_channels(&config);
    let equipment = equipment(config)?;
    let (providers, of_server) = match of_server(ctx).await {
        Some(providers) => (providers, true),
        None => (models::list(&equipment).await, false),
    };
    let database = args.database.filter(|url| !url.is_empty());
    let key = args.key.or(served.key);
    let place = DoctorTarget { data: &ctx.data, database: database.as_deref(), key: key.as_deref() };
    let mut findings = server::examine(place).await;
    findings.extend(providers.providers.iter().map(|listed| provider(listed, &equipment)));
    findings.extend(doctor::examine(&equipment).await);
    findings.extend(channels);
    let set_up = SetUp::of(ctx);
    if ctx.screen.json {
        ctx.screen.json(&json!({
            "findings": findings, "asked": providers.asked, "models_of_server": of_server, "set_up": set_up,
        }))?;
        return Ok(Exit::Done);
    }
    ctx.screen.say(paint(style::STRONG, "Who can decide"))?;
    for (word, what) in
        [("set-up", set_up.name()), ("protected", set_up.protects()), ("not", set_up.does_not_protect())]
    {
        ctx.screen.say(format!("  {word:<9} {what}"))?;
    }
    ctx.screen.say("")?;
    for area in Area::ALL {
        let of = if of_server && *area == Area::Models { ", as the running server has them" } else { "" };
        ctx.screen.say(paint(style::STRONG, format!("{}{of}", heading(*area))))?;
        for finding in findings.iter().filter(|finding| finding.area == *area) {
            ctx.screen.say(line(finding))?;
        }
        if *area == Area::Models {
            let asked = match &providers.asked {
                Some(asked) => format!("asked unless you say otherwise: {}, because {}", asked.provider, asked.why),
                None => providers.problem.clone().unwrap_or_default(),
            };
            ctx.screen.say(paint(style::FAINT, format!("  {}", one_line(&asked))))?;
        }
        ctx.screen.say("")?;
    }
    ctx.screen.note("What is missing stops nothing but what needs it.");
    Ok(Exit::Done)
}

/// The providers of the running server, if it was started by `serve`. Its environment decides, not
/// this shell's.
async fn of_server(ctx: &CliContext) -> Option<ProviderList> {
    let server = ctx.data.server().filter(|server| !server.temporary)?;
    let tokens = ctx.data.tokens().ok()??;
    let client = Client::new(&server.url, &tokens.you.token).ok()?;
    tokio::time::timeout(PROVIDERS_TIMEOUT, client.providers()).await.ok()?.ok()
}

fn provider(listed: &Provider, equipment: &Equipment) -> DoctorFinding {
    let origin = match listed.origin.as_str() {
        "configured" => "from folkmoot.toml",
        "environment" => "its key is in the environment",
        "local" => "it listens on this machine, and is asked only when you say so",
        _ => "built in; no model, but it needs nothing",
    };
    let model = listed.model.as_ref().map(|model| format!(", {model}")).unwrap_or_default();
    let place = listed.base_url.as_ref().map(|url| format!(" at {url}")).unwrap_or_default();
    // A key that only this shell has is the most misleading case.
    let here = listed.origin == "environment" && equipment.models.names().contains(listed.name.as_str());
    let found = match &listed.problem {
        Some(problem) if here && problem.contains("was started without") => {
            Err(format!("{problem}; this shell has it, and `ask-model` uses it"))
        }
        Some(problem) => Err(problem.clone()),
        None => Ok(format!("{}{model}{place} ({origin})", listed.kind)),
    };
    DoctorFinding::new(Area::Models, &listed.name, found)
}

/// The configuration of this folder.
pub(crate) fn read(file: Option<PathBuf>, ctx: &CliContext) -> Result<Config> {
    let mut config = Config::new(ctx.data.clone());
    config.read_file(file)?;
    Ok(config)
}

/// What a configuration gives agents to work with.
pub(crate) fn equipment(config: Config) -> Result<Equipment> {
    Equipment::new(config.equipment, |name| std::env::var(name).ok(), Helper::this_program())
        .map_err(|why| anyhow!("in the configuration: {why}"))
}

fn heading(area: Area) -> &'static str {
    match area {
        Area::Server => "The server",
        Area::Data => "Its data",
        Area::Models => "Models",
        Area::Jail => "The jail",
        Area::Languages => "Languages that run in it",
        Area::Tools => "Tools",
        Area::Notify => "Who is told",
    }
}

fn line(finding: &DoctorFinding) -> String {
    // Our own parts are not "missing": they are absent for now, or wrong.
    let wrong = if matches!(finding.area, Area::Server | Area::Data) { "wrong  " } else { "missing" };
    let mark = if finding.ok { paint(style::GOOD, "ok     ") } else { paint(style::WARN, wrong) };
    format!("  {mark}  {:<18} {}", one_line(&finding.name), one_line(&finding.detail))
}
