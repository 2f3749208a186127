//! The model's server. It ends when our pipe closes, so it never outlives this process.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use super::scripts;
use crate::cargo::terminated_with_us;

/// It loads a hundred megabytes and warms up, perhaps on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(super) struct Server {
    process: Child,
    address: String,
}

impl Server {
    /// Returns when it answers. Port 0 is any that is free.
    pub(super) fn start(python: &Path, model: &Path, port: u16, log: &Path) -> Result<Self> {
        let process = terminated_with_us(python)
            .arg(scripts().join("serve.py"))
            .arg(model)
            .arg(port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(log).with_context(|| format!("cannot create {}", log.display()))?)
            .spawn()
            .context("cannot start the model's server")?;
        let mut server = Self { process, address: String::new() };
        if let Some(told) = server.process.stdout.take() {
            BufReader::new(told).read_line(&mut server.address)?;
        }
        server.address.truncate(server.address.trim_end().len());
        if server.address.is_empty() {
            let log = fs::read_to_string(log).unwrap_or_default();
            bail!("the model's server does not start:\n{}", log.trim());
        }
        server.wait_for_health()?;
        Ok(server)
    }

    /// `http://127.0.0.1:PORT`.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    pub(super) fn wait(&mut self) -> Result<()> {
        while self.is_running() {
            thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }

    fn wait_for_health(&mut self) -> Result<()> {
        let since = Instant::now();
        while since.elapsed() < START_LIMIT {
            if self.is_healthy() {
                return Ok(());
            }
            if !self.is_running() {
                bail!("the model's server ended before it answered");
            }
            thread::sleep(Duration::from_millis(50));
        }
        bail!("the model's server is not ready after {START_LIMIT:?}");
    }

    /// It answers 503 while it loads.
    fn is_healthy(&self) -> bool {
        let ask = || -> std::io::Result<[u8; 12]> {
            let host = self.address.trim_start_matches("http://");
            let mut stream = TcpStream::connect(host)?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            write!(stream, "GET /health HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")?;
            let mut status = [0; 12];
            stream.read_exact(&mut status)?;
            Ok(status)
        };
        ask().is_ok_and(|status| &status == b"HTTP/1.1 200")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has nothing to save.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
