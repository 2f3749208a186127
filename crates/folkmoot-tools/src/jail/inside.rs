//! The inside: what `folkmoot __jail` is. Two processes, each this program anew, so that nothing
//! has to be done between a fork and an exec, where little is safe.
//!
//! - `start` becomes an unprivileged user, enters new namespaces, builds the root, and watches over
//!   `init`.
//! - `init` is the first process of the new process namespace. It moves into the root, gives up
//!   every right, and starts the command. When the command has ended, it tells how and ends, and
//!   the kernel ends all that is left.

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

/// Who the job is, inside.
const INSIDE_ID: u32 = 1000;

/// The whole environment of `init`. An allocator such as mimalloc takes a gigabyte at once, and if
/// it is writable from the start it counts for the limit of memory, which `init` sets for itself:
/// nothing could be executed any more.
const ENVIRONMENT_OF_INIT: (&str, &str) = ("MIMALLOC_ARENA_EAGER_COMMIT", "0");

pub(super) fn main() -> ExitCode {
    let stage = std::env::args_os().next_back();
    // The socket is the standard input, so that it needs no number to be handed over.
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
            // Nobody listens any more where this fails, and then nobody needs to know.
            let _ = wire::send(&mut control, &JailMessage::Failed(fault));
            ExitCode::FAILURE
        }
    }
}

/// With which arguments this program is `init`: those with which it is `start`, but for the last.
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
