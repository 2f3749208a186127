//! Examines an installation: what is there, what is missing, and how to get it.

use std::time::Duration;

use folkmoot_core::vocabulary;
use folkmoot_llm::budget::{Budget, dollars};
use folkmoot_tools::{
    Mcp, format, git, lsp,
    mcp::{McpLimits, McpServerConfig},
};
use futures_util::future::join_all;
use serde::Serialize;

use crate::Equipment;

vocabulary! {
    /// What a finding is about.
    pub enum Area {
        /// The server of this folder.
        Server = "server",
        /// What the server stores, and where.
        Data = "data",
        /// The models that can be asked.
        Models = "models",
        /// The jail in which untrusted code runs.
        Jail = "jail",
        /// The languages that such code can be written in.
        Languages = "languages",
        /// Other tools that agents can use.
        Tools = "tools",
        /// How people are notified.
        Notify = "notify",
    }
}

/// How long the examination waits for an MCP server.
const MCP_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// One thing that was examined, and its condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorFinding {
    pub area: Area,
    pub name: String,
    /// Whether it can be used.
    pub ok: bool,
    /// Its condition or, if it is missing, how to get it.
    pub detail: String,
}

impl DoctorFinding {
    /// `Err` means that something is missing or wrong, and says what to do about it.
    pub fn new(area: Area, name: impl Into<String>, found: Result<String, String>) -> Self {
        let ok = found.is_ok();
        Self { area, name: name.into(), ok, detail: found.unwrap_or_else(|missing| missing) }
    }
}

/// Examines everything but the providers. It asks servers and starts programs, and changes nothing.
pub async fn examine(equipment: &Equipment) -> Vec<DoctorFinding> {
    let mut findings = vec![prompts(equipment), budget(equipment)];
    findings.extend(jail(equipment).await);
    findings.extend(tools(equipment).await);
    findings
}

fn prompts(equipment: &Equipment) -> DoctorFinding {
    let found = match equipment.prompts() {
        Ok(_) if equipment.prompts_folder.is_some() => Ok("with files of yours".to_owned()),
        Ok(_) => Ok("those that are built in".to_owned()),
        Err(why) => Err(why.clone()),
    };
    DoctorFinding::new(Area::Models, "prompts", found)
}

fn budget(equipment: &Equipment) -> DoctorFinding {
    let Budget { tokens, usd_micros } = equipment.models.budget();
    let limits: Vec<String> =
        tokens.map(|tokens| format!("{tokens} tokens")).into_iter().chain(usd_micros.map(dollars)).collect();
    let told = if limits.is_empty() {
        "none: a run may spend without limit; set [budget] in folkmoot.toml".to_owned()
    } else {
        limits.join(", ")
    };
    DoctorFinding::new(Area::Models, "budget", Ok(told))
}

async fn jail(equipment: &Equipment) -> Vec<DoctorFinding> {
    let jail = equipment.jail().await.describe().await;
    let driver = match jail.refusal {
        Some(why) => Err(format!("nothing is executed: {why}")),
        None => Ok(format!("held by {}", jail.driver)),
    };
    let features = jail
        .features
        .into_iter()
        .map(|feature| (feature.name, if feature.ok { Ok(feature.detail) } else { Err(feature.detail) }));
    let mut findings = vec![DoctorFinding::new(Area::Jail, "driver", driver)];
    findings.extend(features.map(|(name, found)| DoctorFinding::new(Area::Jail, name, found)));
    findings.extend(
        jail.languages
            .into_iter()
            .map(|found| DoctorFinding::new(Area::Languages, found.language.word(), found.version)),
    );
    findings
}

async fn tools(equipment: &Equipment) -> Vec<DoctorFinding> {
    let git = git::find().await.map(|path| path.display().to_string()).map_err(|error| error.to_string());
    let mut findings = vec![DoctorFinding::new(Area::Tools, "git", git)];
    let jail = equipment.jail().await;
    for language in format::FormatLanguage::ALL {
        // This only looks for the formatter. If the jail executes nothing, the finding about the
        // jail says so.
        let found = format::find(jail, *language).await.map_err(|error| error.to_string());
        findings.push(DoctorFinding::new(Area::Tools, format!("format, {language}"), found));
    }
    let servers = lsp::Lsp::new(jail.clone());
    for language in lsp::LspLanguage::ALL {
        let server = servers.server(*language).await;
        let server = server.map(|command| command.join(" ")).map_err(|error| error.to_string());
        findings.push(DoctorFinding::new(Area::Tools, format!("lsp, {language}"), server));
    }
    // All at the same time, so that a server that hangs does not delay the others.
    findings.extend(join_all(equipment.mcp.iter().map(mcp)).await);
    findings
}

async fn mcp(server: &McpServerConfig) -> DoctorFinding {
    let limits = McpLimits { connect: MCP_CONNECT_TIMEOUT, ..server.limits };
    let found = match Mcp::connect(McpServerConfig { limits, ..server.clone() }).await {
        Ok(mcp) => {
            let (tools, warned) = (mcp.tools().len(), mcp.warnings().join("; "));
            mcp.close().await;
            let warned: String = warned.chars().take(300).collect();
            match (tools, warned.is_empty()) {
                (0, true) => Err("it offers no tools".to_owned()),
                (0, false) => Err(format!("none of its tools can be used: {warned}")),
                (tools, true) => Ok(format!("offers {tools} tools")),
                (tools, false) => Ok(format!("offers {tools} tools; {warned}")),
            }
        }
        Err(error) => Err(error.detail),
    };
    DoctorFinding::new(Area::Tools, format!("mcp, {}", server.name), found)
}
