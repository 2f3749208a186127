//! What the configuration says about models: who can be asked, what that costs, and how much may be
//! spent.

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
    /// Who is asked where nobody says.
    pub provider: Option<String>,
    /// Who can be asked.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// What models cost, by their names.
    pub models: BTreeMap<String, Price>,
    /// What one run may spend.
    pub budget: BudgetSettings,
}

folkmoot_core::vocabulary! {
    /// The API that a provider speaks.
    pub enum ProviderKind {
        /// Any endpoint that speaks OpenAI's wire format.
        OpenAi = "openai",
        /// Anthropic's own.
        Anthropic = "anthropic",
        /// Google's own.
        Gemini = "gemini",
        /// Ollama's own.
        Ollama = "ollama",
        /// A program on this machine.
        Command = "command",
        /// Recorded answers.
        Replay = "replay",
        /// The built-in player.
        Rehearsal = "rehearsal",
    }
}

/// `[providers.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderSettings {
    /// How it is spoken to.
    pub kind: ProviderKind,
    /// Where it is.
    #[serde(default)]
    pub base_url: Option<String>,
    /// The variable of the environment that holds its key.
    #[serde(default)]
    pub key_env: Option<String>,
    /// The file that holds its key, which only its owner may read.
    #[serde(default)]
    pub key_file: Option<PathBuf>,
    /// Never a key itself: this is here to say so, and keeps nothing of it.
    #[serde(default)]
    pub(crate) key: Option<KeyInSettings>,
    /// The model to ask where nobody says.
    #[serde(default)]
    pub model: Option<String>,
    /// Who is asked when it fails: `provider` or `provider/model`, in order.
    #[serde(default)]
    pub fallback: Vec<String>,
    /// The program and its arguments, of a `command`.
    #[serde(default)]
    pub command: Vec<String>,
    /// The variables of the environment that a `command` gets, beside the usual few.
    #[serde(default)]
    pub environment: Vec<String>,
    /// The recordings, of a `replay`.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// The longest answer that it is asked for, in tokens.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// Calls at the same time.
    #[serde(default = "concurrency")]
    pub concurrency: usize,
    /// How often a call is tried at most.
    #[serde(default = "attempts")]
    pub attempts: u32,
    /// How long one answer may take.
    #[serde(default = "timeout_ms")]
    pub timeout_ms: u64,
    /// How long it may be silent.
    #[serde(default = "silence_ms")]
    pub silence_ms: u64,
    /// The longest answer.
    #[serde(default = "answer_bytes")]
    pub answer_bytes: usize,
}

/// Stands for a key in the configuration, which is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyInSettings;

impl<'de> Deserialize<'de> for KeyInSettings {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// The longest that anything may take: a day.
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
    /// Tokens, read and written.
    pub tokens: Option<u64>,
    /// US dollars.
    pub usd: Option<f64>,
}

impl BudgetSettings {
    /// The same, as it is counted.
    pub fn budget(&self) -> Result<Budget, String> {
        let usd_micros = self.usd.map(|usd| micros("usd", usd)).transpose()?;
        Ok(Budget { tokens: self.tokens, usd_micros })
    }
}

impl ProviderSettings {
    /// A provider of which nothing is said but its kind.
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

    /// How much is put up with. Everything together may take as long as two attempts and the waits
    /// between.
    pub(crate) fn patience(&self) -> RetryPolicy {
        let usual = RetryPolicy::default();
        let total = Duration::from_millis(self.timeout_ms.saturating_mul(2)).max(usual.total);
        RetryPolicy { attempts: self.attempts, concurrency: self.concurrency, total, ..usual }
    }
}

impl ModelSettings {
    /// What is wrong with it, if anything: where, and what to write instead.
    pub fn check(&self) -> Result<(), String> {
        for (name, provider) in &self.providers {
            check_name(name)?;
            provider.check().map_err(|why| format!("[providers.{name}] {why}"))?;
        }
        self.budget.budget().map(drop).map_err(|why| format!("[budget] {why}"))
    }
}

/// What people call variables: capitals, digits and `_`.
fn is_variable(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.chars().all(plain) && name.starts_with(|c: char| !c.is_ascii_digit())
}

/// A name is written on command lines and before a `/`.
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
        // Not repeated: it may be the key itself, which is an easy mistake.
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
