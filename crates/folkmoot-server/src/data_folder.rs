//! The data folder: the database, the lock, the tokens of its owner, the server's key, where the
//! server is, and with what it was started.
//!
//! Whoever holds the lock is the one server of this folder. Verbs of the command line find it by
//! `server.json`.

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

/// Where somebody says that they want to serve the folder.
const WANTED: &str = "wanted";
/// How long that counts.
const WANTED_FOR: Duration = Duration::from_secs(2);
/// How the name of a file ends that is not whole yet.
const HALF: &str = ".half";
/// What the folder was last served with.
const SERVED: &str = "served.json";
/// The model server of this machine that somebody at a terminal wants to be asked.
const LOCAL_MODEL: &str = "local_model.json";

/// A folder with Folkmoot's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFolder(PathBuf);

/// The lock on a data folder. The operating system releases it when the process ends.
#[derive(Debug)]
pub struct DataFolderLock {
    _file: File,
}

/// The tokens of whoever owns the folder: theirs, and their agent's.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalTokens {
    /// Decides.
    pub you: LocalToken,
    /// Opens and asks.
    pub agent: LocalToken,
    /// Yours to decide with, where you have protected it. Then `you` only reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected: Option<ProtectedToken>,
}

/// One of them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalToken {
    /// Whom it names.
    pub name: Name,
    /// What they may do.
    pub role: Role,
    /// The secret.
    pub token: String,
}

/// The files that the folder was last served with. Verbs that serve it for a moment reuse them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastServed {
    /// The configuration, where it is not `folkmoot.toml` in the folder.
    pub config: Option<PathBuf>,
    /// The key, where it is not `server.key` in the folder.
    pub key: Option<PathBuf>,
}

/// A model server that merely listens on this machine, and that a person at a terminal said is to
/// be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalModel {
    pub provider: String,
    /// Where it listened then. At another address it is another one.
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
    /// The folder at `path`, which need not be there yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The SQLite file.
    pub fn database(&self) -> PathBuf {
        self.0.join("folkmoot.db")
    }

    /// The running server, if its file is there. It may have died: ask it.
    pub fn server(&self) -> Option<ServerFile> {
        serde_json::from_slice(&fs::read(self.0.join("server.json")).ok()?).ok()
    }

    /// The owner's tokens, if there are any yet.
    pub fn tokens(&self) -> io::Result<Option<LocalTokens>> {
        self.read("tokens.json")
    }

    /// What it was last served with; the usual where nobody has served it yet.
    pub fn served(&self) -> io::Result<LastServed> {
        Ok(self.read(SERVED)?.unwrap_or_default())
    }

    /// The model server that somebody at a terminal chose, if somebody did.
    pub fn local_model(&self) -> io::Result<Option<LocalModel>> {
        self.read(LOCAL_MODEL)
    }

    /// Remembers that choice, and says where.
    pub fn remember_local_model(&self, model: &LocalModel) -> io::Result<PathBuf> {
        self.write(LOCAL_MODEL, &serde_json::to_vec_pretty(model)?)?;
        Ok(self.0.join(LOCAL_MODEL))
    }

    /// Keeps what it is served with, by paths that mean the same everywhere.
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

    /// The server's key, made if it is not there.
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

    /// The key that this folder's server signs with, if it has one yet.
    pub fn public_key(&self) -> Option<PublicKey> {
        let key = self.served().ok().and_then(|served| served.key).unwrap_or_else(|| self.0.join("server.key"));
        ServerKey::read(&key).ok().map(|key| key.public())
    }

    /// Makes this process the one server of the folder, or says which one is.
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

    /// Makes the folder, if it is not there, and closes it to everybody but its owner. It is never
    /// open to others, not even for a moment.
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

    /// Removes what a server left behind that was killed while it wrote a file.
    fn remove_halves(&self) {
        let is_half = |name: &str| {
            let begins = ["tokens.json.", "server.key.", "server.json.", "served.json."]
                .iter()
                .any(|begin| name.starts_with(begin));
            begins && name.ends_with(HALF)
        };
        // What cannot be listed or removed is in nobody's way.
        for found in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            if found.file_name().to_str().is_some_and(is_half) {
                let _ = fs::remove_file(found.path());
            }
        }
    }

    /// Asks a temporary server to let go of the folder. It is asked anew until the folder is free:
    /// what a server that died has asked for is soon forgotten.
    pub fn want(&self) -> io::Result<()> {
        self.write(WANTED, b"")
    }

    /// Whether somebody wants to serve this folder from now on.
    pub fn is_wanted(&self) -> bool {
        let asked = fs::metadata(self.0.join(WANTED)).and_then(|file| file.modified());
        asked.is_ok_and(|asked| asked.elapsed().is_ok_and(|since| since < WANTED_FOR))
    }

    /// Asks no longer.
    pub fn want_no_more(&self) {
        // If it stays, it is soon too old to count.
        let _ = fs::remove_file(self.0.join(WANTED));
    }

    pub(crate) fn write_server(&self, server: &ServerFile) -> io::Result<()> {
        // The room that the last server's file took is used at once.
        let _ = fs::remove_file(self.0.join("server.json.half"));
        self.write("server.json", &serde_json::to_vec_pretty(server)?)
    }

    /// The server that was is dead. Its file is kept under another name, so that there is room for
    /// the next one's on a full disk.
    pub(crate) fn retire_server(&self) {
        let (file, half) = (self.0.join("server.json"), self.0.join("server.json.half"));
        if fs::rename(&file, half).is_err() {
            self.remove_server();
        }
    }

    pub(crate) fn remove_server(&self) {
        // If it stays, whoever reads it finds that nobody answers.
        let _ = fs::remove_file(self.0.join("server.json"));
    }

    /// Keeps the tokens.
    pub fn write_tokens(&self, tokens: &LocalTokens) -> io::Result<()> {
        self.write("tokens.json", &serde_json::to_vec_pretty(tokens)?)
    }

    /// Writes a file that only its owner can read, whole or not at all. Until it is whole it has a
    /// new name: whatever else lies in the folder is neither followed nor written to.
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
