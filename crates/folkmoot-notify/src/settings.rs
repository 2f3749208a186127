//! The settings of notifications: `[notify]` and each `[channels.NAME]`.

use std::path::PathBuf;

use folkmoot_core::delivery::Pattern;
use serde::Deserialize;

use crate::{
    AddressGuard,
    mail::{self, MailTls},
};

/// `[notify]`: settings for all channels and webhooks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Notify {
    /// Networks, addresses and host names that are not public but may be sent to.
    pub allow: Vec<String>,
    /// The public address of this server, for links in messages.
    pub public_url: Option<String>,
    /// Certificates in PEM that are trusted in addition to the machine's.
    pub ca_file: Option<PathBuf>,
}

impl Notify {
    /// Returns what is invalid.
    pub fn check(&self) -> Result<(), String> {
        AddressGuard::new(&self.allow).map_err(|why| format!("`allow`: {why}"))?;
        match &self.public_url {
            Some(url) if !url.starts_with("https://") && !url.starts_with("http://") => {
                Err(format!("`public_url`: {url:?} is no address of a page: write https://folkmoot.example.org"))
            }
            _ => Ok(()),
        }
    }
}

folkmoot_core::vocabulary! {
    /// The medium of a channel.
    pub enum ChannelKind {
        /// A signed POST to the user's own program.
        Webhook = "webhook",
        /// A Slack channel.
        Slack = "slack",
        Mail = "mail",
        /// The desktop of the server's machine.
        Desktop = "desktop",
    }
}

/// `[channels.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelSettings {
    pub kind: ChannelKind,
    /// Events that it receives even if no gate names it: `gate.opened`, `gate.*`, `*`.
    #[serde(default)]
    pub events: Vec<Pattern>,
    /// The address of a webhook. Slack's is a secret and not allowed here.
    #[serde(default)]
    pub url: Option<String>,
    /// The environment variable with Slack's address.
    #[serde(default)]
    pub url_env: Option<String>,
    /// The file with Slack's address, readable only by its owner.
    #[serde(default)]
    pub url_file: Option<PathBuf>,
    /// The environment variable with the webhook's signing secret.
    #[serde(default)]
    pub secret_env: Option<String>,
    /// The file with the signing secret.
    #[serde(default)]
    pub secret_file: Option<PathBuf>,
    /// The mail server and its port.
    #[serde(default)]
    pub server: Option<String>,
    /// How the connection to it is encrypted.
    #[serde(default)]
    pub tls: Option<MailTls>,
    /// The user name at the mail server.
    #[serde(default)]
    pub username: Option<String>,
    /// The environment variable with the password.
    #[serde(default)]
    pub password_env: Option<String>,
    /// The file with the password.
    #[serde(default)]
    pub password_file: Option<PathBuf>,
    /// The sender.
    #[serde(default)]
    pub from: Option<String>,
    #[serde(default)]
    pub to: Vec<String>,
    /// Secrets are refused in the configuration. This field exists to say so, and does not keep the
    /// value.
    #[serde(default)]
    secret: Option<SecretInSettings>,
    #[serde(default)]
    password: Option<SecretInSettings>,
}

/// Deserialises from any value and keeps nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SecretInSettings;

impl<'de> Deserialize<'de> for SecretInSettings {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl ChannelSettings {
    /// A channel of this kind without other settings.
    pub fn new(kind: ChannelKind) -> Self {
        Self {
            kind,
            events: Vec::new(),
            url: None,
            url_env: None,
            url_file: None,
            secret_env: None,
            secret_file: None,
            server: None,
            tls: None,
            username: None,
            password_env: None,
            password_file: None,
            from: None,
            to: Vec::new(),
            secret: None,
            password: None,
        }
    }

    /// Returns what is invalid, without reading its secrets.
    pub fn check(&self, guard: &AddressGuard) -> Result<(), String> {
        let kind = self.kind;
        if let Some(key) = [("secret", self.secret), ("password", self.password)].iter().find(|(_, key)| key.is_some())
        {
            let key = key.0;
            return Err(format!(
                "`{key}` has no place in a file that others may read: use `{key}_env` or `{key}_file`"
            ));
        }
        if kind == ChannelKind::Slack && self.url.is_some() {
            return Err(
                "Slack's `url` is a secret: put it in a variable and name that in `url_env`, or in a file and name \
                        that in `url_file`"
                    .to_owned(),
            );
        }
        if let Some((key, owner)) = self.keys().find(|(_, owner)| *owner != kind) {
            return Err(format!("`{key}` is for the kind \"{owner}\", and this channel is of the kind \"{kind}\""));
        }
        self.events.iter().try_for_each(Pattern::check).map_err(|refused| refused.to_string())?;
        match kind {
            ChannelKind::Webhook => {
                let url = self.url.as_deref().ok_or("`url` is missing: where is it to be sent?")?;
                guard.check(url).map_err(|refused| format!("`url`: {refused}"))?;
                one_of("secret", self.secret_env.is_some(), self.secret_file.is_some())
            }
            ChannelKind::Slack => one_of("url", self.url_env.is_some(), self.url_file.is_some()),
            ChannelKind::Mail => {
                let server = self.server.as_deref().ok_or("`server` is missing: write \"smtp.example.org:587\"")?;
                mail::host_and_port(server, self.tls())?;
                mail::mailbox(self.from.as_deref().ok_or("`from` is missing: who writes?")?)
                    .map_err(|why| format!("`from`: {why}"))?;
                if self.to.is_empty() {
                    return Err("`to` is missing: who is to be told?".to_owned());
                }
                self.to.iter().try_for_each(|to| mail::mailbox(to).map(drop)).map_err(|why| format!("`to`: {why}"))?;
                match (&self.username, self.password_env.is_some() || self.password_file.is_some()) {
                    (None, true) => Err("there is a password but no `username`".to_owned()),
                    (Some(_), _) => one_of("password", self.password_env.is_some(), self.password_file.is_some()),
                    (None, false) => Ok(()),
                }
            }
            ChannelKind::Desktop => Ok(()),
        }
    }

    /// The encryption of a mail channel, with the default applied.
    pub fn tls(&self) -> MailTls {
        self.tls.unwrap_or(MailTls::StartTls)
    }

    /// The keys that are set, each with the kind it belongs to.
    fn keys(&self) -> impl Iterator<Item = (&'static str, ChannelKind)> {
        [
            ("url", self.url.is_some(), ChannelKind::Webhook),
            ("secret_env", self.secret_env.is_some(), ChannelKind::Webhook),
            ("secret_file", self.secret_file.is_some(), ChannelKind::Webhook),
            ("url_env", self.url_env.is_some(), ChannelKind::Slack),
            ("url_file", self.url_file.is_some(), ChannelKind::Slack),
            ("server", self.server.is_some(), ChannelKind::Mail),
            ("tls", self.tls.is_some(), ChannelKind::Mail),
            ("username", self.username.is_some(), ChannelKind::Mail),
            ("password_env", self.password_env.is_some(), ChannelKind::Mail),
            ("password_file", self.password_file.is_some(), ChannelKind::Mail),
            ("from", self.from.is_some(), ChannelKind::Mail),
            ("to", !self.to.is_empty(), ChannelKind::Mail),
        ]
        .into_iter()
        .filter_map(|(key, is_there, kind)| is_there.then_some((key, kind)))
    }

    /// Resolves relative paths against `folder`.
    pub fn relative_to(&mut self, folder: &std::path::Path) {
        for path in [&mut self.url_file, &mut self.secret_file, &mut self.password_file].into_iter().flatten() {
            *path = folder.join(&*path);
        }
    }
}

fn one_of(what: &str, env: bool, file: bool) -> Result<(), String> {
    match (env, file) {
        (false, false) => {
            Err(format!("`{what}_env` or `{what}_file` is missing: name the variable or the file that holds it"))
        }
        (true, true) => Err(format!("there is `{what}_env` and `{what}_file`: keep one of them")),
        _ => Ok(()),
    }
}
