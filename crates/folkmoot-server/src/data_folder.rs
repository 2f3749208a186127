//! The data folder: the database, the lock, the owner's tokens, the server's key, the server's
//! address, and the files it was started with.
//!
//! The process that holds the lock is the only server of this folder. Command-line verbs find it
//! through `server.json`.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use folkmoot_api::wire::ServerFile;
use folkmoot_core::{Name, Role};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{ProtectedToken, PublicKey, ServerKey, StartError};

/// Exists while a server asks for the folder.
const WANTED: &str = "wanted";
/// How long that request is valid.
const WANTED_FOR: Duration = Duration::from_secs(2);
/// The suffix of an incomplete file.
const HALF: &str = ".half";
/// The files that the folder was last served with.
const SERVED: &str = "served.json";
/// The local model server that a person at a terminal chose.
const LOCAL_MODEL: &str = "local_model.json";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFolder(PathBuf);

/// The lock on a data folder. The operating system releases it when the process ends.
#[derive(Debug)]
pub struct DataFolderLock {
    _file: File,
}

/// The tokens of the folder's owner and their agent.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalTokens {
    pub you: LocalToken,
    pub agent: LocalToken,
    /// Your deciding token, if you have protected it. Then `you` can only read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected: Option<ProtectedToken>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalToken {
    pub name: Name,
    pub role: Role,
    pub token: String,
}

/// The files that the folder was last served with. Verbs that serve it briefly reuse them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastServed {
    /// The configuration, if it is not `folkmoot.toml` in the folder.
    pub config: Option<PathBuf>,
    /// The key, if it is not `server.key` in the folder.
    pub key: Option<PathBuf>,
}

/// A local model server that a person at a terminal chose to use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalModel {
    pub provider: String,
    /// Its address then. A server at another address is a different one.
    pub base_url: String,
}

impl std::fmt::Debug for LocalTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LocalTokens({}, {})", self.you.name, self.agent.name)
    }
}

impl std::fmt::Debug for LocalToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LocalToken({}, …)", self.name)
    }
}

impl DataFolder {
    /// The folder at `path`, which need not exist yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn database(&self) -> PathBuf {
        self.0.join("folkmoot.db")
    }

    /// The running server, if its file exists. It may have died since.
    pub fn server(&self) -> Option<ServerFile> {
        serde_json::from_slice(&fs::read(self.0.join("server.json")).ok()?).ok()
    }

    /// The owner's tokens, if they exist.
    pub fn tokens(&self) -> io::Result<Option<LocalTokens>> {
        self.read("tokens.json")
    }

    /// The files it was last served with; the defaults if it never was.
    pub fn served(&self) -> io::Result<LastServed> {
        Ok(self.read(SERVED)?.unwrap_or_default())
    }

    /// The chosen model server, if any.
    pub fn local_model(&self) -> io::Result<Option<LocalModel>> {
        self.read(LOCAL_MODEL)
    }

    /// Stores that choice, and returns the path.
    pub fn remember_local_model(&self, model: &LocalModel) -> io::Result<PathBuf> {
        self.write(LOCAL_MODEL, &serde_json::to_vec_pretty(model)?)?;
        Ok(self.0.join(LOCAL_MODEL))
    }

    /// Stores the files it is served with, as absolute paths.
    pub(crate) fn write_served(&self, served: &LastServed) -> io::Result<()> {
        let absolute = |path: &Option<PathBuf>| path.as_deref().map(std::path::absolute).transpose();
        let served = LastServed { config: absolute(&served.config)?, key: absolute(&served.key)? };
        self.write(SERVED, &serde_json::to_vec_pretty(&served)?)
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> io::Result<Option<T>> {
        let path = self.0.join(name);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| {
                io::Error::other(format!("{} is not what was written there: {error}", path.display()))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io::Error::new(error.kind(), format!("{} cannot be read: {error}", path.display()))),
        }
    }

    /// The server's key, created if it does not exist.
    pub(crate) fn server_key(&self) -> io::Result<ServerKey> {
        match ServerKey::read(&self.0.join("server.key")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut secret = [0; 32];
                getrandom::fill(&mut secret).map_err(io::Error::other)?;
                let key = ServerKey::new(secret);
                self.write("server.key", key.to_text().as_bytes())?;
                Ok(key)
            }
            read => read,
        }
    }

    /// The public key of this folder's server, if it has one yet.
    pub fn public_key(&self) -> Option<PublicKey> {
        let key = self.served().ok().and_then(|served| served.key).unwrap_or_else(|| self.0.join("server.key"));
        ServerKey::read(&key).ok().map(|key| key.public())
    }

    /// Makes this process the only server of the folder, or returns which one is.
    pub fn lock(&self) -> Result<DataFolderLock, StartError> {
        let path = self.0.join("lock");
        let unusable = |error| StartError::Folder { path: self.0.clone(), error };
        self.create().map_err(unusable)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600).custom_flags(no_follow());
        let file = options.open(&path).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {
                self.remove_halves();
                Ok(DataFolderLock { _file: file })
            }
            Err(TryLockError::WouldBlock) => {
                Err(StartError::InUse { path: self.0.clone(), server: self.server().map(Box::new) })
            }
            Err(TryLockError::Error(error)) => Err(unusable(error)),
        }
    }

    /// Creates the folder with access only for its owner. Others never have access, not even
    /// briefly.
    fn create(&self) -> io::Result<()> {
        if let Some(parent) = self.0.parent() {
            fs::create_dir_all(parent)?;
        }
        match DirBuilder::new().mode(0o700).create(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && self.0.is_dir() => {}
            created => created?,
        }
        fs::set_permissions(&self.0, fs::Permissions::from_mode(0o700))
    }

    /// Removes incomplete files of a killed server.
    fn remove_halves(&self) {
        let is_half = |name: &str| {
            let begins = ["tokens.json.", "server.key.", "server.json.", "served.json."]
                .iter()
                .any(|begin| name.starts_with(begin));
            begins && name.ends_with(HALF)
        };
        // Leftovers that cannot be removed do no harm.
        for found in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            if found.file_name().to_str().is_some_and(is_half) {
                let _ = fs::remove_file(found.path());
            }
        }
    }

    /// Asks a temporary server to release the folder. Repeated until the folder is free; a request
    /// of a dead server soon expires.
    pub fn want(&self) -> io::Result<()> {
        self.write(WANTED, b"")
    }

    /// Whether a server wants this folder.
    pub fn is_wanted(&self) -> bool {
        let asked = fs::metadata(self.0.join(WANTED)).and_then(|file| file.modified());
        asked.is_ok_and(|asked| asked.elapsed().is_ok_and(|since| since < WANTED_FOR))
    }

    /// Withdraws the request.
    pub fn want_no_more(&self) {
        // If it stays, it soon expires.
        let _ = fs::remove_file(self.0.join(WANTED));
    }

    pub(crate) fn write_server(&self, server: &ServerFile) -> io::Result<()> {
        // Reuses the space of the last server's file.
        let _ = fs::remove_file(self.0.join("server.json.half"));
        self.write("server.json", &serde_json::to_vec_pretty(server)?)
    }

    /// The previous server is dead. Its file is renamed rather than removed, to keep its space on a
    /// full disk.
    pub(crate) fn retire_server(&self) {
        let (file, half) = (self.0.join("server.json"), self.0.join("server.json.half"));
        if fs::rename(&file, half).is_err() {
            self.remove_server();
        }
    }

    pub(crate) fn remove_server(&self) {
        // If it stays, readers find that nobody answers.
        let _ = fs::remove_file(self.0.join("server.json"));
    }

    pub fn write_tokens(&self, tokens: &LocalTokens) -> io::Result<()> {
        self.write("tokens.json", &serde_json::to_vec_pretty(tokens)?)
    }

    /// Atomically writes a file that only its owner can read. It is written under a new name, so
    /// that nothing else in the folder is followed or overwritten.
    fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let mut half = tempfile::Builder::new().prefix(&format!("{name}.")).suffix(HALF).tempfile_in(&self.0)?;
        half.write_all(content)?;
        half.as_file().sync_all()?;
        half.persist(self.0.join(name)).map(drop).map_err(|failed| failed.error)
    }
}

fn no_follow() -> i32 {
    rustix::fs::OFlags::NOFOLLOW.bits().cast_signed()
}
