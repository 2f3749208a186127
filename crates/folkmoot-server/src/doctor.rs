//! Examines a folder's server and data. It changes nothing, takes no lock, and works beside a
//! running server.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use folkmoot_api::Client;
use folkmoot_core::KeyId;
use folkmoot_store::{
    Clock, SystemClock,
    health::{self, DatabaseHealth, Health},
};
use folkmoot_workflows::doctor::{Area, DoctorFinding};

use crate::{DataFolder, ServerKey, open_files};

/// Less free space is a problem.
const FREE_BYTES_MIN: u64 = 512 << 20;
/// A larger write-ahead log cannot be reset, because a reader holds it for too long.
const LOG_BYTES_MAX: u64 = 256 << 20;
/// How far two clocks may differ.
const CLOCKS_APART_MAX: Duration = Duration::from_secs(5);
/// The time of writing; a clock before this was never set.
const WRITTEN_MICROS: i64 = 1_790_000_000_000_000;
/// How long the server may take to answer.
const LIVENESS_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug)]
pub struct DoctorTarget<'a> {
    pub data: &'a DataFolder,
    /// The PostgreSQL that is used instead of the folder's file.
    pub database: Option<&'a str>,
    /// The server's key, if it is not in the folder.
    pub key: Option<&'a Path>,
}

pub async fn examine(place: DoctorTarget<'_>) -> Vec<DoctorFinding> {
    let server = |name: &str, found| DoctorFinding::new(Area::Server, name, found);
    let data = |name: &str, found| DoctorFinding::new(Area::Data, name, found);
    let mut findings = vec![
        server("running", running(place.data).await),
        server("open files", Ok(open_files())),
        server("server.key", key(place).and_then(|key| describe(place, key))),
        data("folder", folder(place.data)),
        data("disk", disk(place.data)),
    ];
    let health = match (place.database, place.data.database()) {
        (Some(url), _) => Some(health::look_at_postgres(url).await.map_err(|error| error.to_string())),
        (None, file) if file.exists() => {
            let looked = tokio::task::spawn_blocking(move || health::look_at_sqlite(&file)).await;
            Some(looked.map_err(|error| error.to_string()).and_then(|found| found.map_err(|error| error.to_string())))
        }
        (None, _) => None,
    };
    findings.push(server("clock", clock(health.as_ref().and_then(|health| health.as_ref().ok()))));
    match health {
        Some(Ok(health)) => {
            findings.extend(webhooks(place, &health.webhooks).map(|found| server("webhooks", found)));
            findings.extend(database(&health).into_iter().map(|(name, found)| data(name, found)));
        }
        Some(Err(error)) => findings.push(data("database", Err(error))),
        None => findings.push(data("database", no_database(place.data))),
    }
    findings
}

async fn running(data: &DataFolder) -> Result<String, String> {
    let Some(server) = data.server() else {
        return Ok(
            "no, and none is needed: a verb serves for itself; `folkmoot serve` starts one that stays".to_owned()
        );
    };
    let said = format!("process {} at {}", server.pid, server.url);
    let asked = async { Client::new(&server.url, "").ok()?.ready().await.ok() };
    match tokio::time::timeout(LIVENESS_TIMEOUT, asked).await {
        Ok(Some(())) => Ok(said),
        _ => Err(format!("server.json names {said}, which is not ready: it may have been killed; start it again")),
    }
}

/// The limit of open files for a server started from here.
fn open_files() -> String {
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    match most.map(open_files::connections_of) {
        Some(connections) => {
            format!("a server started from here has room for {connections} connections (`ulimit -Hn`)")
        }
        None => "no limit".to_owned(),
    }
}

fn key_file(place: DoctorTarget<'_>) -> PathBuf {
    place.key.map_or_else(|| place.data.path().join("server.key"), Path::to_owned)
}

/// The key's id; `None` if the first start will create it.
fn key(place: DoctorTarget<'_>) -> Result<Option<KeyId>, String> {
    let path = key_file(place);
    match ServerKey::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && place.key.is_none() => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display())),
        Ok(key) => Ok(Some(key.public().id())),
    }
}

fn describe(place: DoctorTarget<'_>, key: Option<KeyId>) -> Result<String, String> {
    let Some(key) = key else { return Ok("not there yet; the first start makes it".to_owned()) };
    let path = key_file(place);
    closed_to_others(&path)?;
    Ok(format!("{key}; it is in no backup, so keep a copy of {}", path.display()))
}

/// Whether this server can sign for the webhooks; `None` without webhooks.
fn webhooks(place: DoctorTarget<'_>, webhooks: &[(String, Option<KeyId>)]) -> Option<Result<String, String>> {
    // Problems of the key are reported elsewhere.
    let ours = key(place).ok()?;
    let other = webhooks
        .iter()
        .find_map(|(name, its)| Some((name, its.as_ref()?)).filter(|(_, its)| Some(*its) != ours.as_ref()));
    if let Some((name, its)) = other {
        return Some(Err(format!(
            "the secret of {name} is derived from {its}, which is not this server's key: its messages wait for a server that has it; put \
             that server.key here, or `folkmoot webhook rotate {name}`"
        )));
    }
    let names: Vec<&str> = webhooks.iter().map(|(name, _)| name.as_str()).collect();
    (!names.is_empty()).then(|| Ok(format!("{}: their secrets are of this server's key", names.join(", "))))
}

fn folder(data: &DataFolder) -> Result<String, String> {
    let path = data.path();
    if !path.exists() {
        return Ok(format!("{} is not there yet; the first start makes it", path.display()));
    }
    for path in [path.to_owned(), path.join("tokens.json")].iter().filter(|path| path.exists()) {
        closed_to_others(path)?;
    }
    Ok(format!("{}, for its owner only", path.display()))
}

fn closed_to_others(path: &Path) -> Result<(), String> {
    let found = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let right = if found.is_dir() { "700" } else { "600" };
    Err(format!("{0} can be read by others (mode {mode:o}): run `chmod {right} {0}`", path.display()))
}

fn disk(data: &DataFolder) -> Result<String, String> {
    let there: Option<PathBuf> = data.path().ancestors().find(|path| path.exists()).map(Path::to_owned);
    let there = there.ok_or_else(|| "no part of the folder's path is there".to_owned())?;
    let found = rustix::fs::statvfs(&there).map_err(|error| format!("{}: {error}", there.display()))?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    if free < FREE_BYTES_MIN {
        return Err(format!("only {} are free: nothing can be written when it is full; make room", bytes(free)));
    }
    Ok(format!("{} free", bytes(free)))
}

fn clock(health: Option<&Health>) -> Result<String, String> {
    let now = SystemClock.now();
    if now.as_micros() < WRITTEN_MICROS {
        return Err(format!("it says {now}, before this program was written: set it, or deadlines mean nothing"));
    }
    let behind = health.and_then(|health| health.last_event).map_or(Duration::ZERO, |last| last.since(now));
    if behind > CLOCKS_APART_MAX {
        return Err(format!("it says {now}, {behind:?} before the last event: set it, or deadlines come too late"));
    }
    Ok(format!("{now}"))
}

fn no_database(data: &DataFolder) -> Result<String, String> {
    if data.tokens().is_ok_and(|tokens| tokens.is_some()) {
        return Ok("not in this folder; to look at a PostgreSQL, say --database or set FOLKMOOT_DATABASE".to_owned());
    }
    Ok("not there yet; the first start makes it".to_owned())
}

fn database(health: &Health) -> Vec<(&'static str, Result<String, String>)> {
    let Health { schema, newest, head, .. } = health;
    let schema = match (schema, schema == newest) {
        (0, _) => "no tables yet; the first start makes them".to_owned(),
        (schema, true) => format!("schema {schema}"),
        (schema, false) => format!("schema {schema}, which the next start brings to {newest}; back it up before"),
    };
    let log = ("log", Ok(format!("ends at {}", head.position)));
    match &health.of {
        DatabaseHealth::Sqlite { whole, bytes: size, log_bytes } => {
            let whole = match whole {
                Some(Ok(())) => Ok("every page is where it belongs (quick_check)".to_owned()),
                Some(Err(damage)) => Err(format!("{damage}; stop the server and restore the last backup")),
                None => Ok("too large to look at all of it here; `folkmoot backup` does".to_owned()),
            };
            let ahead = match *log_bytes > LOG_BYTES_MAX {
                false => Ok(format!("{} not yet in the database", bytes(*log_bytes))),
                true => Err(format!("{}: somebody reads the database for too long; end that", bytes(*log_bytes))),
            };
            let database = Ok(format!("SQLite, {}, {schema}", bytes(*size)));
            vec![("database", database), ("integrity", whole), ("write-ahead log", ahead), log]
        }
        DatabaseHealth::Postgres { version, settings, ahead_micros } => {
            let unsafe_ones: Vec<String> =
                settings.iter().filter(|one| !one.safe).map(|one| format!("{} is {}", one.name, one.value)).collect();
            let all: Vec<String> = settings.iter().map(|one| format!("{} = {}", one.name, one.value)).collect();
            let durable = match unsafe_ones.is_empty() {
                true => Ok(all.join(", ")),
                false => Err(format!("{}: what was acknowledged can be lost; turn it on", unsafe_ones.join(", "))),
            };
            let apart = Duration::from_micros(ahead_micros.unsigned_abs());
            let which = if *ahead_micros < 0 { "behind" } else { "ahead" };
            let told = format!("the database's is {apart:?} {which}, and it is the one that counts");
            let clocks = if apart > CLOCKS_APART_MAX { Err(format!("{told}; set them both")) } else { Ok(told) };
            let database = Ok(format!("PostgreSQL {version}, {schema}"));
            vec![("database", database), ("durability", durable), ("clocks", clocks), log]
        }
    }
}

/// A size for people.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if count < 1000 {
        return format!("{count} bytes");
    }
    let (mut amount, mut unit) = (count as f64 / 1000.0, 0);
    while amount >= 999.5 && unit + 1 < UNITS.len() {
        amount /= 1000.0;
        unit += 1;
    }
    let digits = if amount < 9.95 { 1 } else { 0 };
    format!("{amount:.digits$} {}", UNITS[unit])
}
