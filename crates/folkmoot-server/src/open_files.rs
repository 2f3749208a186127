//! The limit of open files, which limits connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::ServerLimits;

/// Open files for other purposes: the database, models, tools, logs.
const OTHERS_MIN: u64 = 64;

/// Raises this process's limit of open files as far as allowed. If that fails, the old limit stays.
pub fn raise() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// How many connections fit into this many open files.
pub(crate) fn connections_of(files: u64) -> usize {
    let others = (files / 8).max(OTHERS_MIN).min(files / 2);
    usize::try_from(files - others).unwrap_or(usize::MAX).max(1)
}

/// Reduces the limits to what is possible, and logs it.
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
