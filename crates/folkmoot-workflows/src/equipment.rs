//! What agents have to work with: models to ask, prompts, the jail, tools.

use std::{path::PathBuf, sync::Arc, time::Duration};

use folkmoot_llm::{Failure, Model, Models, Prompts, settings};
use folkmoot_tools::command::{Command, CommandLimits};

/// What the configuration says about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Who can be asked, and what that costs.
    pub models: settings::Settings,
    /// A folder with prompts in place of those that are built in.
    pub prompts: Option<PathBuf>,
}

/// All of it.
#[derive(Debug)]
pub struct Equipment {
    /// Who can be asked.
    pub models: Models,
    /// What they are told.
    pub prompts: Prompts,
}

impl Equipment {
    /// As the configuration and the environment say. Nothing is started or asked yet.
    pub fn new(settings: Settings, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let prompts = match &settings.prompts {
            Some(folder) => Prompts::with_overrides(folder).map_err(|error| format!("prompts: {error}"))?,
            None => Prompts::embedded(),
        };
        Ok(Self { models: Models::new(settings.models, variable, command)?, prompts })
    }
}

/// A provider that is a program on this machine.
fn command(name: &str, provider: &settings::Provider) -> Result<Arc<dyn Model>, Failure> {
    let program = provider.command.first().cloned().unwrap_or_default();
    Ok(Arc::new(Command {
        provider: name.to_owned(),
        model: provider.model.clone().unwrap_or(program),
        command: provider.command.clone(),
        environment: provider.environment.clone(),
        limits: CommandLimits {
            total: Duration::from_millis(provider.timeout_ms),
            idle: Duration::from_millis(provider.silence_ms),
            answer_bytes: provider.answer_bytes,
        },
    }))
}
