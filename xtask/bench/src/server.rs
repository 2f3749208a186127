//! The server that is measured.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::{children, load::Target};

const AGENT_TOKEN: &str = "bench-agent-token-0123456789";
const REVIEWER_TOKEN: &str = "bench-reviewer-token-0123456789";
const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// A running `folkmoot serve`; killed when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    process: Child,
    address: SocketAddr,
    /// From the start of the process to its first 200 on `/readyz`.
    pub(crate) ready_after: Duration,
}

const UNLIMITED: &str = "[limits]
connections_per_principal = 0
pending_gates_per_agent = 0
pending_bytes_per_agent = 0
open_questions_per_agent = 0
";

#[derive(Deserialize)]
struct Announced {
    url: String,
}

impl Server {
    /// `data` must exist; `database` is a PostgreSQL connection string, or nothing for SQLite in
    /// `data`.
    pub(crate) fn start(data: &Path, database: Option<&str>) -> Result<Self> {
        let binary = program()?;
        let announced = data.join("server.json");
        match fs::remove_file(&announced) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        // One principal does everything, so its limits are raised.
        fs::write(data.join("folkmoot.toml"), UNLIMITED)?;
        let log_path = data.with_extension("log");
        let log = fs::File::create(&log_path)?;
        let mut command = Command::new(&binary);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .env("FOLKMOOT_RATE_LIMIT", "1000000")
            .env(
                "FOLKMOOT_BOOTSTRAP_TOKENS",
                format!("agent:bench-agent={AGENT_TOKEN},reviewer:bench-reviewer={REVIEWER_TOKEN}"),
            )
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        if let Some(database) = database {
            command.args(["--database", database]);
        }

        let since = Instant::now();
        let process = children::spawn(&mut command).with_context(|| format!("cannot start {}", binary.display()))?;
        let mut server = Self { process, address: SocketAddr::from(([127, 0, 0, 1], 0)), ready_after: Duration::ZERO };
        while since.elapsed() < START_LIMIT {
            if let Some(address) = address_in(&announced)
                && is_ready(address)
            {
                server.ready_after = since.elapsed();
                server.address = address;
                return Ok(server);
            }
            if let Some(status) = server.process.try_wait()? {
                let log = fs::read_to_string(&log_path).unwrap_or_default();
                bail!("the server ended with {status}: {}", last_lines(&log));
            }
            thread::sleep(Duration::from_micros(200));
        }
        bail!("the server is not ready after {START_LIMIT:?}")
    }

    pub(crate) fn target(&self) -> Target {
        Target { address: self.address, agent_token: AGENT_TOKEN.to_owned(), reviewer_token: REVIEWER_TOKEN.to_owned() }
    }

    pub(crate) fn resident_bytes(&self) -> Result<u64> {
        resident_bytes(self.process.id())
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// How many files, sockets and pipes it holds.
    pub(crate) fn open_files(&self) -> Result<i64> {
        let count = fs::read_dir(format!("/proc/{}/fd", self.process.id()))?.count();
        Ok(i64::try_from(count)?)
    }

    /// Stops it, and fails if it has to be killed: a killed server leaves another state than a
    /// user's.
    pub(crate) fn stop(mut self) -> Result<()> {
        children::send("TERM", self.process.id());
        let since = Instant::now();
        while since.elapsed() < STOP_LIMIT {
            if let Some(status) = self.process.try_wait()? {
                if !status.success() {
                    bail!("the server ended with {status} when it was asked to end");
                }
                return Ok(());
            }
            thread::sleep(Duration::from_millis(5));
        }
        bail!("the server did not end in {STOP_LIMIT:?}")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // For one that has ended already both do nothing.
        let _ = self.process.kill();
        let _ = self.process.wait();
        children::ended(&self.process);
    }
}

/// Resident memory of a process, as the kernel counts it.
pub(crate) fn resident_bytes(process: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let kilobytes: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.trim().strip_suffix("kB"))
        .and_then(|number| number.trim().parse().ok())
        .context("no VmRSS in /proc")?;
    Ok(kilobytes * 1024)
}

fn address_in(announced: &Path) -> Option<SocketAddr> {
    // A partial file is not JSON; the next attempt reads the rest.
    let announced: Announced = serde_json::from_slice(&fs::read(announced).ok()?).ok()?;
    let address = announced.url.strip_prefix("http://")?;
    address.trim_end_matches('/').parse().ok()
}

fn is_ready(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        let mut status = [0; 12];
        stream.read_exact(&mut status)?;
        Ok(&status == b"HTTP/1.1 200")
    };
    ask().unwrap_or(false)
}

fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}

/// `folkmoot`, as it is released.
pub(crate) fn program() -> Result<PathBuf> {
    std::env::var_os("FOLKMOOT_BENCH_SERVER")
        .map(PathBuf::from)
        .context("FOLKMOOT_BENCH_SERVER names the server's binary; `cargo xtask bench` sets it")
}
