//! What is there, what is missing, and how to get it.

use folkmoot_core::vocabulary;
use folkmoot_llm::models::Origin;
use folkmoot_tools::{Mcp, format, git, lsp};
use serde::Serialize;

use crate::Equipment;

vocabulary! {
    /// What a finding is about.
    pub enum Area {
        /// Who can be asked.
        Models = "models",
        /// What holds code that nobody trusts.
        Jail = "jail",
        /// In what such code can be written.
        Languages = "languages",
        /// What else agents can use.
        Tools = "tools",
    }
}

/// One thing, and how it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is about.
    pub area: Area,
    /// What it is called.
    pub name: String,
    /// Whether it can be used.
    pub ok: bool,
    /// How it is; where it is missing, how to get it.
    pub detail: String,
}

impl Finding {
    fn new(area: Area, name: impl Into<String>, found: Result<String, String>) -> Self {
        let ok = found.is_ok();
        Self { area, name: name.into(), ok, detail: found.unwrap_or_else(|missing| missing) }
    }
}

/// Looks at all of it. Servers are asked, programs are started, and nothing is changed.
pub async fn examine(equipment: &Equipment) -> Vec<Finding> {
    let mut findings = models(equipment).await;
    findings.extend(jail(equipment).await);
    findings.extend(tools(equipment).await);
    findings
}

async fn models(equipment: &Equipment) -> Vec<Finding> {
    let listed = equipment.models.list().await;
    let findings = listed.into_iter().map(|provider| {
        let origin = match provider.origin {
            Origin::Configured => "from folkmoot.toml",
            Origin::Environment => "its key is in the environment",
            Origin::Local => "on this machine",
            Origin::BuiltIn => "built in; no model, but it needs nothing",
        };
        let model = provider.model.map(|model| format!(", {model}")).unwrap_or_default();
        let place = provider.base_url.map(|url| format!(" at {url}")).unwrap_or_default();
        let found = match provider.missing {
            Some(missing) => Err(missing),
            None => Ok(format!("{}{model}{place} ({origin})", provider.kind)),
        };
        Finding::new(Area::Models, provider.name, found)
    });
    findings.collect()
}

async fn jail(equipment: &Equipment) -> Vec<Finding> {
    let jail = equipment.jail().await.describe().await;
    let driver = match jail.refusal {
        Some(why) => Err(format!("nothing is executed: {why}")),
        None => Ok(format!("held by {}", jail.driver)),
    };
    let features = jail
        .features
        .into_iter()
        .map(|feature| (feature.name, if feature.ok { Ok(feature.detail) } else { Err(feature.detail) }));
    let mut findings = vec![Finding::new(Area::Jail, "driver", driver)];
    findings.extend(features.map(|(name, found)| Finding::new(Area::Jail, name, found)));
    findings.extend(
        jail.languages.into_iter().map(|found| Finding::new(Area::Languages, found.language.word(), found.version)),
    );
    findings
}

async fn tools(equipment: &Equipment) -> Vec<Finding> {
    let git = git::find().await.map(|path| path.display().to_string()).map_err(|error| error.to_string());
    let mut findings = vec![Finding::new(Area::Tools, "git", git)];
    let jail = equipment.jail().await;
    for language in format::Language::ALL {
        // Where nothing is executed, a formatter is not either; that is told once, with the jail.
        let found = format::find(jail, *language).await.map_err(|error| error.to_string());
        findings.push(Finding::new(Area::Tools, format!("format, {language}"), found));
    }
    let servers = lsp::Lsp::new(jail.clone());
    for language in lsp::Language::ALL {
        let server = servers.server(*language).await;
        let server = server.map(|command| command.join(" ")).map_err(|error| error.to_string());
        findings.push(Finding::new(Area::Tools, format!("lsp, {language}"), server));
    }
    for server in &equipment.mcp {
        let found = match Mcp::connect(server.clone()).await {
            Ok(mcp) => {
                let offered = format!("offers {} tools", mcp.tools().len());
                let warned = mcp.warnings().iter().map(|warning| format!("; {warning}")).collect::<String>();
                mcp.close().await;
                Ok(offered + &warned)
            }
            Err(error) => Err(error.detail),
        };
        findings.push(Finding::new(Area::Tools, format!("mcp, {}", server.name), found));
    }
    findings
}
