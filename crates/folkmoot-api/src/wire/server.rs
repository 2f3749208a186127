//! `server.json` in the data folder, by which the command line finds the server.

use folkmoot_core::Timestamp;
use serde::{Deserialize, Serialize};

/// The content of `server.json`. It is written when the server is ready and removed when it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFile {
    /// The address at which the server listens.
    pub url: String,
    pub pid: u32,
    pub started_at: Timestamp,
    /// Whether a command of the command line serves the folder itself, until it ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub temporary: bool,
}
