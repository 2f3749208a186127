//! What agents work with: models, prompts, the jail and tools.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use folkmoot_llm::{FailureKind, Model, ModelFailure, Models, Prompts, settings};
use folkmoot_tools::{
    Jail,
    command::{CommandLimits, CommandModel},
    jail::Helper,
    mcp::{self, McpServerConfig},
};
use serde::Deserialize;
use tokio::sync::OnceCell;

use crate::call::OUTAGE_WAIT_MAX;

#[cfg(test)]
mod tests;

/// The configuration of models, prompts, MCP servers and the jail.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EquipmentSettings {
    /// Providers and prices.
    pub models: settings::ModelSettings,
    /// A folder with prompts that replace built-in ones.
    pub prompts: Option<PathBuf>,
    /// MCP servers whose tools agents may call, by name.
    pub mcp: BTreeMap<String, McpServer>,
    pub jail: JailSettings,
    /// How long runs wait for unavailable providers.
    pub outages: Outages,
}

/// The section `[outages]` of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Outages {
    /// How long a run waits for an unavailable provider. Then it stops until somebody resumes it.
    pub stop_after_ms: u64,
}

impl Default for Outages {
    fn default() -> Self {
        Self { stop_after_ms: u64::try_from(OUTAGE_WAIT_MAX.as_millis()).unwrap_or(u64::MAX) }
    }
}

/// A section `[mcp.NAME]` of the configuration: an MCP server, which is a program or an address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpServer {
    /// The program and its arguments, for a server that is started.
    pub command: Vec<String>,
    /// Environment variables of the program, besides PATH, HOME and LANG.
    pub environment: BTreeMap<String, String>,
    /// The working directory of the program; the system's temporary folder by default.
    pub folder: Option<PathBuf>,
    /// The address, for a server that is reached over HTTP.
    pub url: Option<String>,
    /// The environment variable that holds its key.
    pub key_env: Option<String>,
    /// The file that holds its key.
    pub key_file: Option<PathBuf>,
    /// Whether debates that an agent started may call its tools too. If not, only debates of
    /// principals whose role may decide call them.
    pub agents: bool,
}

/// The section `[jail]` of the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JailSettings {
    /// Whether jobs of the profile `agent` may use the network.
    pub network: bool,
}

impl EquipmentSettings {
    /// Resolves relative paths against the folder of the file that names them, instead of the
    /// current directory.
    pub fn found_from(&mut self, folder: &Path) {
        let providers = self.models.providers.values_mut();
        let provided = providers.flat_map(|provider| [&mut provider.key_file, &mut provider.file]);
        let served = self.mcp.values_mut().flat_map(|server| [&mut server.key_file, &mut server.folder]);
        for path in provided.chain(served).chain([&mut self.prompts]).flatten() {
            *path = folder.join(&path);
        }
    }

    /// Says what is wrong with the settings, if anything.
    pub fn check(&self) -> Result<(), String> {
        self.models.check()?;
        self.mcp
            .iter()
            .try_for_each(|(name, server)| server.reach().map(drop).map_err(|why| format!("[mcp.{name}] {why}")))
    }
}

impl McpServer {
    fn reach(&self) -> Result<mcp::Reach, String> {
        let has_key = self.key_env.is_some() || self.key_file.is_some();
        match (&self.url, self.command.is_empty()) {
            (None, true) => Err("needs `command`, a program to start, or `url`, where it is".to_owned()),
            (Some(_), false) => Err("has both `command` and `url`; keep one".to_owned()),
            (None, false) if has_key => {
                Err("has a key for a program; give it what it needs with `environment`".to_owned())
            }
            (None, false) if self.folder.as_ref().is_some_and(|folder| !folder.is_dir()) => {
                Err("has a `folder` that is not there".to_owned())
            }
            (None, false) => Ok(mcp::Reach::Stdio {
                command: self.command.clone(),
                environment: self.environment.clone(),
                folder: self.folder.clone().unwrap_or_else(std::env::temp_dir),
            }),
            (Some(_), true) if !self.environment.is_empty() || self.folder.is_some() => {
                Err("has `environment` or `folder`, which mean nothing for a server over HTTP; remove them".to_owned())
            }
            (Some(_), true) if self.key_env.is_some() && self.key_file.is_some() => {
                Err("has both `key_env` and `key_file`; keep one".to_owned())
            }
            (Some(url), true) => {
                let key = self
                    .key_env
                    .clone()
                    .map(mcp::KeySource::Variable)
                    .or_else(|| self.key_file.clone().map(mcp::KeySource::File));
                Ok(mcp::Reach::Http { url: url.clone(), key })
            }
        }
    }
}

/// The equipment of a server: everything that agents work with.
#[derive(Debug)]
pub struct Equipment {
    pub models: Models,
    /// The folder with the user's own prompts, if any.
    pub prompts_folder: Option<PathBuf>,
    prompts: OnceLock<Result<Arc<Prompts>, String>>,
    /// MCP servers whose tools agents may call.
    pub mcp: Vec<McpServerConfig>,
    /// How long a run waits for an unavailable provider before it stops.
    pub outage_wait_max: Duration,
    helper: Helper,
    network: bool,
    jail: OnceCell<Jail>,
}

impl Equipment {
    /// Builds the equipment from the configuration and the environment. Nothing is started or asked
    /// yet. `helper` is the program that becomes the inside of the jail.
    pub fn new(
        settings: EquipmentSettings,
        variable: impl Fn(&str) -> Option<String>,
        helper: Helper,
    ) -> Result<Self, String> {
        settings.check()?;
        let mcp = settings.mcp.iter().map(|(name, server)| {
            let (name, reach, limits) = (name.clone(), server.reach()?, mcp::McpLimits::default());
            Ok(McpServerConfig { name, reach, limits, for_agents: server.agents })
        });
        Ok(Self {
            models: Models::new(settings.models, variable, command)?,
            prompts_folder: settings.prompts,
            prompts: OnceLock::new(),
            mcp: mcp.collect::<Result<_, String>>()?,
            outage_wait_max: Duration::from_millis(settings.outages.stop_after_ms),
            helper,
            network: settings.jail.network,
            jail: OnceCell::new(),
        })
    }

    /// The prompts, or what is wrong with the user's files. They are read and checked at first use,
    /// because that takes longer than most commands.
    pub fn prompts(&self) -> Result<Arc<Prompts>, String> {
        let read = || match &self.prompts_folder {
            Some(folder) => Prompts::with_overrides(folder)
                .map(Arc::new)
                .map_err(|error| format!("prompts in {}: {error}", folder.display())),
            None => Ok(Arc::new(Prompts::embedded())),
        };
        self.prompts.get_or_init(read).clone()
    }

    /// The jail. It is probed at first use.
    pub async fn jail(&self) -> &Jail {
        self.jail
            .get_or_init(|| async {
                let jail = Jail::probe(self.helper.clone()).await;
                if self.network { jail.allow_network() } else { jail }
            })
            .await
    }
}

/// A provider that is a program on this machine.
fn command(name: &str, provider: &settings::ProviderSettings) -> Result<Arc<dyn Model>, ModelFailure> {
    let program = provider.command.first().cloned().unwrap_or_default();
    let command = CommandModel {
        provider: name.to_owned(),
        model: provider.model.clone().unwrap_or(program),
        command: provider.command.clone(),
        environment: provider.environment.clone(),
        limits: CommandLimits {
            total: Duration::from_millis(provider.timeout_ms),
            idle: Duration::from_millis(provider.silence_ms),
            answer_bytes: provider.answer_bytes,
        },
    };
    command.check().map_err(|why| ModelFailure::new(name, FailureKind::Misconfigured, why))?;
    Ok(Arc::new(command))
}
