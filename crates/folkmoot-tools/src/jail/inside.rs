//! The inside of the jail: what `folkmoot __jail` does. It uses two processes, each this program
//! started anew, so that no code runs between fork and exec.
//!
//! - `start` becomes an unprivileged user, enters new namespaces, builds the root, and watches
//!   `init`.
//! - `init` is the first process of the new process namespace. It enters the root, drops every
//!   right, and starts the command. When the command has ended, it reports and ends, and the kernel
//!   kills everything that is left.

mod bubblewrap;
mod confine;
mod init;
mod loopback;
mod root;
mod seccomp;
mod start;
mod watch;

use std::{
    ffi::{OsStr, OsString},
    fmt::Display,
    io,
    os::fd::AsFd,
    os::unix::net::UnixStream,
    process::ExitCode,
};

use super::wire::{self, FaultKind, JailFault, JailMessage};

/// The job's user id inside.
const INSIDE_ID: u32 = 1000;

/// The whole environment of `init`. An allocator such as mimalloc reserves a gigabyte at once; if
/// that is writable, it counts towards the memory limit that `init` sets for itself, and nothing
/// could be executed.
const ENVIRONMENT_OF_INIT: (&str, &str) = ("MIMALLOC_ARENA_EAGER_COMMIT", "0");

pub(super) fn main() -> ExitCode {
    let stage = std::env::args_os().next_back();
    // The socket is the standard input, so that no number has to be passed.
    let control = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from);
    let Ok(mut control) = control else { return ExitCode::FAILURE };
    let done = match stage.as_deref().and_then(OsStr::to_str) {
        Some("start") => start::start(&mut control),
        Some("init") => init::init(&mut control),
        _ => {
            eprintln!("this is how Folkmoot starts a jail; it is not for people to call");
            return ExitCode::FAILURE;
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // If this fails, nobody is listening.
            let _ = wire::send(&mut control, &JailMessage::Failed(fault));
            ExitCode::FAILURE
        }
    }
}

/// The arguments that make this program `init`: those of `start`, except for the last.
fn arguments_of_init() -> Vec<OsString> {
    let mut arguments = std::env::args_os().skip(1).collect::<Vec<_>>();
    arguments.pop();
    arguments.push(OsString::from("init"));
    arguments
}

/// Adds to an error what was being done.
trait FaultContext<T> {
    fn doing(self, what: impl Display) -> Result<T, JailFault>;
}

impl<T, E: Into<io::Error>> FaultContext<T> for Result<T, E> {
    fn doing(self, what: impl Display) -> Result<T, JailFault> {
        self.map_err(|error| {
            let error = error.into();
            let refused = matches!(
                error.raw_os_error(),
                Some(
                    nix::libc::EPERM
                        | nix::libc::EACCES
                        | nix::libc::ENOSYS
                        | nix::libc::ENOSPC
                        | nix::libc::EUSERS
                        | nix::libc::EINVAL
                )
            );
            let kind = if refused { FaultKind::Refused } else { FaultKind::Failed };
            JailFault { kind, detail: format!("{what}: {error}") }
        })
    }
}
