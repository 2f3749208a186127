//! How many connections the operating system lets a server have: each is an open file.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::ServerLimits;

/// Open files that are no connections: the database, models, tools, logs. At least so many are left
/// for them.
const OTHERS_MIN: u64 = 64;

/// Lets this process open as many files as it may ask for. Where that fails, less stays allowed.
pub fn raise() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// How many connections can be open at the same time where so many files can be.
pub(crate) fn connections_of(files: u64) -> usize {
    let others = (files / 8).max(OTHERS_MIN).min(files / 2);
    usize::try_from(files - others).unwrap_or(usize::MAX).max(1)
}

/// The limits as they can be kept, and a line in the log if that is less than what was configured.
pub(crate) fn within(limits: ServerLimits) -> ServerLimits {
    match getrlimit(Resource::Nofile).current.map(connections_of) {
        Some(most) if most < limits.connections => {
            tracing::warn!(
                "at most {most} connections at the same time instead of {}, because of the limit on open files (`ulimit -n`)",
                limits.connections
            );
            ServerLimits { connections: most, ..limits }
        }
        _ => limits,
    }
}
