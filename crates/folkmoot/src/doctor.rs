//! `folkmoot doctor`: how the server and its data are, what agents have to work with, what is missing, and how to get it.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use folkmoot_server::{
    Config,
    doctor::{self as server, Place},
    workflows::{
        Equipment,
        doctor::{self, Area, Finding},
        tools::jail::Helper,
    },
};
use serde_json::{Value, json};

use crate::{
    context::Context,
    exit::Exit,
    screen::one_line,
    style::{self, paint},
};

/// Look at the server, its data, the models, the jail, the tools and the channels: what is wrong or missing, and what to do
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A configuration file; the one that `serve` was last started with unless it is given
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The PostgreSQL that holds the data, if it is not in the data folder
    #[arg(long, value_name = "URL", env = "FOLKMOOT_DATABASE", hide_env_values = true)]
    database: Option<String>,
    /// The server's key; the one that `serve` was last started with unless it is given
    #[arg(long, value_name = "FILE", env = "FOLKMOOT_KEY_FILE", hide_env_values = true)]
    key: Option<PathBuf>,
}

pub(crate) async fn run(args: Args, ctx: &Context) -> Result<Exit> {
    let served = ctx.data.served()?;
    let config = read(args.config.or(served.config), ctx)?;
    let channels = folkmoot_server::examine_channels(&config);
    let equipment = equipment(config)?;
    let choice = equipment.models.choose(None).await;
    let database = args.database.filter(|url| !url.is_empty());
    let key = args.key.or(served.key);
    let place = Place { data: &ctx.data, database: database.as_deref(), key: key.as_deref() };
    let mut findings = server::examine(place).await;
    findings.extend(doctor::examine(&equipment).await);
    findings.extend(channels);
    if ctx.screen.json {
        let asked = choice.map_or(Value::Null, |choice| json!({ "provider": choice.provider, "why": choice.why }));
        ctx.screen.json(&json!({ "findings": findings, "asked": asked }))?;
        return Ok(Exit::Done);
    }
    for area in Area::ALL {
        ctx.screen.say(paint(style::STRONG, heading(*area)))?;
        for finding in findings.iter().filter(|finding| finding.area == *area) {
            ctx.screen.say(line(finding))?;
        }
        if *area == Area::Models {
            let asked = match &choice {
                Ok(choice) => format!("  asked unless you say otherwise: {}, because {}", choice.provider, choice.why),
                Err(failure) => format!("  {}", failure.detail),
            };
            ctx.screen.say(paint(style::FAINT, asked))?;
        }
        ctx.screen.say("")?;
    }
    ctx.screen.note("What is missing stops nothing but what needs it.");
    Ok(Exit::Done)
}

/// The configuration of this folder.
pub(crate) fn read(file: Option<PathBuf>, ctx: &Context) -> Result<Config> {
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

fn line(finding: &Finding) -> String {
    // Something of ours is never missing: it is not there yet, or it is wrong.
    let wrong = if matches!(finding.area, Area::Server | Area::Data) { "wrong  " } else { "missing" };
    let mark = if finding.ok { paint(style::GOOD, "ok     ") } else { paint(style::WARN, wrong) };
    format!("  {mark}  {:<18} {}", one_line(&finding.name), one_line(&finding.detail))
}
