//! The four set-ups that docs/security.md describes, and what each protects. `folkmoot doctor`
//! prints it.

use std::os::unix::fs::MetadataExt;

use serde::Serialize;

use crate::context::CliContext;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SetUp {
    /// The data folder is yours, and your token is in it unencrypted.
    SameUser,
    /// The data folder is yours, and your token is in it, encrypted with a passphrase.
    SameUserProtected,
    /// The data folder belongs to another user of this machine.
    OwnUser,
    /// The server is on another machine.
    Remote,
}

impl SetUp {
    pub(crate) fn of(ctx: &CliContext) -> Self {
        let its_own = |url: &String| ctx.data.server().is_some_and(|server| server.url == url.trim_end_matches('/'));
        if ctx.url.as_ref().is_some_and(|url| !its_own(url)) {
            return SetUp::Remote;
        }
        let owner = std::fs::metadata(ctx.data.path()).map(|folder| folder.uid());
        if owner.is_ok_and(|owner| owner != rustix::process::getuid().as_raw()) {
            return SetUp::OwnUser;
        }
        match ctx.data.tokens() {
            Ok(Some(tokens)) if tokens.protected.is_some() => SetUp::SameUserProtected,
            Ok(_) | Err(_) => SetUp::SameUser,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            SetUp::SameUser => "same user, without protection",
            SetUp::SameUserProtected => "same user, with protection",
            SetUp::OwnUser => "server under its own user",
            SetUp::Remote => "remote server",
        }
    }

    /// What the set-up protects against.
    pub(crate) fn protects(self) -> &'static str {
        match self {
            SetUp::SameUser => {
                "an agent with its own token cannot decide, nor can one that runs `folkmoot` without a terminal"
            }
            SetUp::SameUserProtected => "no program decides with what is stored here: that takes your passphrase",
            SetUp::OwnUser => "programs of your account reach neither the database nor the server's tokens",
            SetUp::Remote => "programs here reach neither the database nor the server's tokens",
        }
    }

    /// What it does not protect against.
    pub(crate) fn does_not_protect(self) -> &'static str {
        match self {
            SetUp::SameUser => {
                "a program of your account that reads tokens.json or imitates a terminal decides in your name, and one that \
                 changes the database changes what was decided; `folkmoot protect` puts your token under a passphrase"
            }
            SetUp::SameUserProtected => {
                "a program of your account that watches you type learns the passphrase, and one that changes the database or \
                 uses server.key can forge what was decided"
            }
            SetUp::OwnUser | SetUp::Remote => {
                "a deciding token that lies where your agent can read it, in a file or in its environment, decides in your name"
            }
        }
    }
}
