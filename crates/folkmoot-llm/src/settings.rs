//! The configuration of models: providers, prices and budgets.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::Deserialize;

use crate::{
    budget::Budget,
    guard::RetryPolicy,
    price::{Price, micros},
    provider::{ANSWER_BYTES, SILENCE, TIMEOUT},
};

#[cfg(test)]
mod tests;

/// `provider`, `[providers.…]`, `[models.…]` and `[budget]` of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// The default provider.
    pub provider: Option<String>,
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Prices by model name.
    pub models: BTreeMap<String, Price>,
    /// The budget of one run.
    pub budget: BudgetSettings,
}

folkmoot_core::vocabulary! {
    pub enum ProviderKind {
        /// Any OpenAI-compatible server.
        OpenAi = "openai",
        Anthropic = "anthropic",
        Gemini = "gemini",
        Ollama = "ollama",
        Command = "command",
        Replay = "replay",
        Rehearsal = "rehearsal",
    }
}

/// `[providers.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderSettings {
    pub kind: ProviderKind,
    #[serde(default)]
    pub base_url: Option<String>,
    /// The environment variable with its key.
    #[serde(default)]
    pub key_env: Option<String>,
    /// The file with its key, readable only by its owner.
    #[serde(default)]
    pub key_file: Option<PathBuf>,
    /// A key is refused in the configuration. This field exists to say so, and does not keep the
    /// value.
    #[serde(default)]
    pub(crate) key: Option<KeyInSettings>,
    /// The default model.
    #[serde(default)]
    pub model: Option<String>,
    /// Where to turn if it fails: `provider` or `provider/model`, in order.
    #[serde(default)]
    pub fallback: Vec<String>,
    /// For `command`: the program and its arguments.
    #[serde(default)]
    pub command: Vec<String>,
    /// For `command`: names of additional environment variables.
    #[serde(default)]
    pub environment: Vec<String>,
    /// For `replay`: the recordings.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// The default maximum length of an answer, in tokens.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// Concurrent calls.
    #[serde(default = "concurrency")]
    pub concurrency: usize,
    /// Attempts per call.
    #[serde(default = "attempts")]
    pub attempts: u32,
    /// The time limit of an answer.
    #[serde(default = "timeout_ms")]
    pub timeout_ms: u64,
    /// The longest silence.
    #[serde(default = "silence_ms")]
    pub silence_ms: u64,
    /// The longest answer.
    #[serde(default = "answer_bytes")]
    pub answer_bytes: usize,
}

/// Deserialises from any value and keeps nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyInSettings;

impl<'de> Deserialize<'de> for KeyInSettings {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// The maximum of any time limit: a day.
const TIME_MS_MAX: u64 = 24 * 60 * 60 * 1000;

fn concurrency() -> usize {
    RetryPolicy::default().concurrency
}

fn attempts() -> u32 {
    RetryPolicy::default().attempts
}

fn timeout_ms() -> u64 {
    millis(TIMEOUT)
}

fn silence_ms() -> u64 {
    millis(SILENCE)
}

fn answer_bytes() -> usize {
    ANSWER_BYTES
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// `[budget]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetSettings {
    pub tokens: Option<u64>,
    pub usd: Option<f64>,
}

impl BudgetSettings {
    /// Converts it to whole units.
    pub fn budget(&self) -> Result<Budget, String> {
        let usd_micros = self.usd.map(|usd| micros("usd", usd)).transpose()?;
        Ok(Budget { tokens: self.tokens, usd_micros })
    }
}

impl ProviderSettings {
    /// A provider with only a kind.
    pub fn of(kind: ProviderKind) -> Self {
        Self {
            kind,
            base_url: None,
            key_env: None,
            key_file: None,
            key: None,
            model: None,
            fallback: Vec::new(),
            command: Vec::new(),
            environment: Vec::new(),
            file: None,
            max_tokens: None,
            concurrency: concurrency(),
            attempts: attempts(),
            timeout_ms: timeout_ms(),
            silence_ms: silence_ms(),
            answer_bytes: answer_bytes(),
        }
    }

    /// The retry policy. The total limit allows two full attempts and the delays between.
    pub(crate) fn patience(&self) -> RetryPolicy {
        let usual = RetryPolicy::default();
        let total = Duration::from_millis(self.timeout_ms.saturating_mul(2)).max(usual.total);
        RetryPolicy { attempts: self.attempts, concurrency: self.concurrency, total, ..usual }
    }
}

impl ModelSettings {
    /// Returns what is invalid: where, and what to write instead.
    pub fn check(&self) -> Result<(), String> {
        for (name, provider) in &self.providers {
            check_name(name)?;
            provider.check().map_err(|why| format!("[providers.{name}] {why}"))?;
        }
        self.budget.budget().map(drop).map_err(|why| format!("[budget] {why}"))
    }
}

/// Whether this looks like an environment variable: capitals, digits and `_`.
fn is_variable(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.chars().all(plain) && name.starts_with(|c: char| !c.is_ascii_digit())
}

/// Names appear on command lines and before a `/`.
fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(format!("[providers.{name:?}]: a name has at most 64 letters, digits, `-`, `_` and `.`"));
    }
    Ok(())
}

impl ProviderSettings {
    fn check(&self) -> Result<(), String> {
        if self.key.is_some() {
            return Err("has a `key`; a key does not belong in this file: name the variable that holds it with `key_env`, or a \
                        file of mode 0600 with `key_file`"
                .to_owned());
        }
        // Do not repeat the text: it may be the key itself, an easy mistake.
        if let Some(variable) = &self.key_env
            && !is_variable(variable)
        {
            return Err("has a `key_env` that is no name of a variable; write the name of the variable that holds the key, not \
                        the key"
                .to_owned());
        }
        if self.key_env.is_some() && self.key_file.is_some() {
            return Err("has both `key_env` and `key_file`; keep one".to_owned());
        }
        let spoken_over_http = matches!(
            self.kind,
            ProviderKind::OpenAi | ProviderKind::Anthropic | ProviderKind::Gemini | ProviderKind::Ollama
        );
        let fields = [
            ("base_url", self.base_url.is_some(), spoken_over_http),
            ("key_env", self.key_env.is_some(), spoken_over_http),
            ("key_file", self.key_file.is_some(), spoken_over_http),
            ("command", !self.command.is_empty(), self.kind == ProviderKind::Command),
            ("environment", !self.environment.is_empty(), self.kind == ProviderKind::Command),
            ("file", self.file.is_some(), self.kind == ProviderKind::Replay),
        ];
        if let Some((field, ..)) = fields.iter().find(|(_, is_there, may_be)| *is_there && !may_be) {
            return Err(format!("has `{field}`, which means nothing for the kind `{}`; remove it", self.kind));
        }
        if self.kind == ProviderKind::Command && self.command.is_empty() {
            return Err("needs `command`, the program and its arguments: command = [\"claude\", \"-p\"]".to_owned());
        }
        if self.kind == ProviderKind::Replay && self.file.is_none() {
            return Err("needs `file`, the recordings that it answers from".to_owned());
        }
        if let Some(url) =
            self.base_url.as_deref().filter(|url| !url.starts_with("http://") && !url.starts_with("https://"))
        {
            return Err(format!("has base_url = {url:?}, which begins with neither http:// nor https://"));
        }
        let times = [("timeout_ms", self.timeout_ms), ("silence_ms", self.silence_ms)];
        if let Some((field, ms)) = times.iter().find(|(_, ms)| *ms > TIME_MS_MAX) {
            return Err(format!("has {field} = {ms}; at most {TIME_MS_MAX}, a day"));
        }
        let zero = [
            ("concurrency", self.concurrency == 0),
            ("attempts", self.attempts == 0),
            ("timeout_ms", self.timeout_ms == 0),
            ("silence_ms", self.silence_ms == 0),
            ("answer_bytes", self.answer_bytes == 0),
            ("max_tokens", self.max_tokens == Some(0)),
        ];
        match zero.iter().find(|(_, is_zero)| *is_zero) {
            Some((field, _)) => Err(format!("has {field} = 0, with which no answer ever comes")),
            None => Ok(()),
        }
    }
}
