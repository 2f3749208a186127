//! A server as a child process.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use rmcp::{RoleClient, transport::async_rw::AsyncRwTransport};
use tokio::process::{ChildStdin, ChildStdout};

use super::{
    McpErrorKind,
    bounded::{BoundedReader, Meter},
};
use crate::child::{self, Child, ProcessSpec};

pub(super) type Transport = AsyncRwTransport<RoleClient, BoundedReader<ChildStdout>, ChildStdin>;

/// Starts it. Its process group ends with its [`Child`].
pub(super) fn start(
    command: &[String],
    environment: &BTreeMap<String, String>,
    folder: &Path,
    meter: &Arc<Meter>,
) -> Result<(Child, Transport), (McpErrorKind, String)> {
    // Otherwise the error would blame the program.
    if !folder.is_dir() {
        let why = format!("its folder {} does not exist: make it, or change `folder`", folder.display());
        return Err((McpErrorKind::Misconfigured, why));
    }
    let mut child =
        child::start(&ProcessSpec { command, environment, folder }).map_err(|why| (McpErrorKind::Unreachable, why))?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err((McpErrorKind::Unreachable, "it has no standard input or output".to_owned()));
    };
    // Our own reader closes earlier, and says why.
    let transport = AsyncRwTransport::new_client(BoundedReader::new(stdout, Arc::clone(meter)), stdin)
        .with_max_line_length(usize::MAX);
    Ok((child, transport))
}
