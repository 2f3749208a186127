//! Messages between the outside and the inside of the jail, over one socket that the command never
//! gets.
//!
//! ```text
//! outside ─▶ Spec (for `start`), Spec (for `init`), stdin or a pipe, the content of each file
//! inside  ─▶ Ready, or Failed
//! outside ─▶ one byte: go. `start` is still alive, so `init` will hear of its death.
//! inside  ─▶ Ended, the content of each kept and each changed file
//! ```

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    path::PathBuf,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Driver, Limit, Readable};

/// The longest message, in either direction.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Instructions for the inside.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Spec {
    pub driver: Driver,
    /// The user to become; `None` if the caller is unprivileged already.
    pub become_user: Option<User>,
    pub network: bool,
    pub command: Vec<String>,
    pub environment: BTreeMap<String, String>,
    pub cpu_seconds: u64,
    pub cpu_ms: u64,
    pub memory_bytes: u64,
    pub processes: u64,
    pub disk_bytes: u64,
    pub open_files: u64,
    /// What no control group counts and must be sampled.
    pub watch: WatchedLimits,
    pub readable: Vec<Readable>,
    /// A folder to mount as the writable one.
    pub mounted: Option<PathBuf>,
    pub read_only: bool,
    /// Whether to report changes in the folder.
    pub copied: bool,
    /// Whether the input is a pipe, which is sent instead of its content.
    pub piped: bool,
    pub stdin_bytes: u64,
    pub files: Vec<JailEntry>,
    pub keep: Vec<String>,
    pub keep_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct User {
    pub uid: u32,
    pub gid: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WatchedLimits {
    pub cpu: bool,
    pub memory: bool,
    pub processes: bool,
}

impl WatchedLimits {
    pub(super) fn anything(self) -> bool {
        self.cpu || self.memory || self.processes
    }
}

/// An entry of the writable folder. Contents of files follow the message, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum JailEntry {
    Folder { path: String },
    File { path: String, executable: bool, bytes: u64 },
    Link { path: String, target: String },
}

/// A message from inside the jail.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum JailMessage {
    Ready(Facts),
    Failed(JailFault),
    Ended(Box<JobExit>),
}

/// Features besides the namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Facts {
    /// How far Landlock is enforced: `full`, `partial`, `none`.
    pub landlock: String,
    pub seccomp: bool,
    pub proc: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct JailFault {
    pub kind: FaultKind,
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FaultKind {
    /// The kernel does not allow it.
    Refused,
    Missing,
    Invalid,
    Failed,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct JobExit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub cpu_us: u64,
    pub peak_bytes: u64,
    /// Detected by sampling.
    pub reached: Vec<Limit>,
    /// The limit for which the inside ended it.
    pub stopped: Option<Limit>,
    pub disk_full: bool,
    pub kept: Vec<(String, u64)>,
    pub changed: Vec<JailEntry>,
    pub removed: Vec<String>,
}

pub(super) fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&frame(message)?)
}

pub(super) fn frame(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(message)?;
    if body.len() > MESSAGE_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "too much to say at once"));
    }
    let mut frame = Vec::with_capacity(body.len() + 4);
    frame.extend_from_slice(&(body.len() as u32).to_be_bytes());
    frame.extend_from_slice(&body);
    Ok(frame)
}

pub(super) fn receive<M: DeserializeOwned>(from: &mut impl Read) -> io::Result<M> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let mut body = vec![0; length_of(length)?];
    from.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

pub(super) fn length_of(length: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_be_bytes(length) as usize;
    if length > MESSAGE_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message that is too long"));
    }
    Ok(length)
}
