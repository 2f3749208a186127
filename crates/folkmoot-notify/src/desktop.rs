//! Desktop notifications on the server's machine: `notify-send` on Linux, `osascript` on macOS.
//!
//! Texts are passed as arguments after `--`; no shell interprets them.

use std::{collections::BTreeMap, env, fmt, pin::Pin, sync::Arc, time::Duration};

use crate::{
    Notification, SendFailure,
    message::NotificationLink,
    text::{self, escaped},
};

#[cfg(test)]
pub(crate) mod tests;

const TIMEOUT: Duration = Duration::from_secs(10);
const TITLE_CHARS_MAX: usize = 120;
const TEXT_CHARS_MAX: usize = 300;

/// The environment variables that these programs need to find the desktop.
const VARIABLES: [&str; 6] =
    ["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XAUTHORITY", "PATH"];

/// Starts programs outside the jail. This crate starts none itself.
pub trait Programs: fmt::Debug + Send + Sync {
    /// Whether the program is on the environment's `PATH`.
    fn is_installed(&self, program: &str, environment: &BTreeMap<String, String>) -> bool;

    /// Runs a program to its end. `Err` says why it failed.
    fn run<'a>(
        &'a self,
        command: &'a [String],
        environment: &'a BTreeMap<String, String>,
        timeout: Duration,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;
}

/// The desktop session of this process, if any.
#[derive(Clone, Debug)]
pub struct Desktop {
    programs: Arc<dyn Programs>,
    environment: BTreeMap<String, String>,
    is_mac: bool,
}

impl Desktop {
    /// From this process's environment.
    pub fn here(programs: Arc<dyn Programs>) -> Self {
        let environment =
            VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), env::var(name).ok()?))).collect();
        Self { programs, environment, is_mac: cfg!(target_os = "macos") }
    }

    /// Why notifications cannot be shown, and what to do.
    pub fn check(&self) -> Result<(), String> {
        if self.is_mac {
            return self.must_have("osascript", "it is a part of macOS");
        }
        self.must_have("notify-send", "install libnotify-bin (Debian, Ubuntu) or libnotify (Fedora, Arch)")?;
        let shows = |name: &str| self.environment.get(name).is_some_and(|value| !value.is_empty());
        if ["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"].into_iter().any(shows) {
            return Ok(());
        }
        let why = "there is no desktop here: none of DISPLAY, WAYLAND_DISPLAY and DBUS_SESSION_BUS_ADDRESS is set; start the server \
                   from a desktop session, or use another kind of channel";
        Err(why.to_owned())
    }

    fn must_have(&self, program: &str, how: &str) -> Result<(), String> {
        match self.programs.is_installed(program, &self.environment) {
            true => Ok(()),
            false => Err(format!("`{program}` is not installed, or not on PATH; {how}")),
        }
    }

    pub async fn send(&self, message: &Notification) -> Result<(), SendFailure> {
        self.check().map_err(SendFailure::never)?;
        self.programs.run(&self.command(message), &self.environment, TIMEOUT).await.map_err(SendFailure::later)
    }

    fn command(&self, message: &Notification) -> Vec<String> {
        let title = text::line(&message.title, TITLE_CHARS_MAX);
        let mut body = text::shortened(&message.text, TEXT_CHARS_MAX);
        if let Some(NotificationLink::Page(hint) | NotificationLink::Command(hint)) = &message.link {
            body = format!("{body}\n{hint}").trim().to_owned();
        }
        let words: Vec<&str> = if self.is_mac {
            let script =
                ["on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"];
            let said = script.iter().flat_map(|line| ["-e", line]);
            ["osascript"].into_iter().chain(said).chain(["--", &title, &body]).collect()
        } else {
            // Some desktops interpret the body as markup.
            body = escaped(&body);
            vec!["notify-send", "--app-name=Folkmoot", "--", &title, &body]
        };
        words.into_iter().map(str::to_owned).collect()
    }
}
