//! `server.json` in the data folder: how the verbs of the command line find the server.

use folkmoot_core::Timestamp;
use serde::{Deserialize, Serialize};

/// Written when the server is ready, removed when it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFile {
    /// Where it listens.
    pub url: String,
    /// Its process.
    pub pid: u32,
    pub started_at: Timestamp,
    /// It is a verb of the command line, and ends with that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub temporary: bool,
}
