//! A minimal HTTP/1.1 client: one connection, one request at a time, no pool and no redirects. A
//! full client would be the bottleneck.

use std::{io::Write as _, net::SocketAddr, ops::Range};

use anyhow::{Context, Result, bail};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

#[cfg(test)]
mod tests;

#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    /// How much of `incoming` belongs to the last response.
    used: usize,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Response<'a> {
    pub(crate) status: u16,
    pub(crate) body: &'a [u8],
}

impl Response<'_> {
    pub(crate) fn expect(self, status: u16) -> Result<Self> {
        if self.status != status {
            bail!("{} in place of {status}: {}", self.status, String::from_utf8_lossy(self.body));
        }
        Ok(self)
    }
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await.context("cannot connect")?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, outgoing: Vec::with_capacity(1024), incoming: Vec::with_capacity(8192), used: 0 })
    }

    pub(crate) async fn send(&mut self, method: &str, path: &str, token: &str, body: &[u8]) -> Result<()> {
        self.outgoing.clear();
        write!(self.outgoing, "{method} {path} HTTP/1.1\r\nhost: localhost\r\n")?;
        if !token.is_empty() {
            write!(self.outgoing, "authorization: Bearer {token}\r\n")?;
        }
        if method == "GET" {
            self.outgoing.extend_from_slice(b"\r\n");
        } else {
            write!(self.outgoing, "content-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len())?;
            self.outgoing.extend_from_slice(body);
        }
        self.stream.write_all(&self.outgoing).await.context("cannot send")
    }

    pub(crate) async fn receive(&mut self) -> Result<Response<'_>> {
        self.incoming.drain(..self.used);
        self.used = 0;
        loop {
            if let Some(parsed) = parse(&mut self.incoming)? {
                self.used = parsed.end;
                return Ok(Response { status: parsed.status, body: &self.incoming[parsed.body] });
            }
            if self.stream.read_buf(&mut self.incoming).await? == 0 {
                bail!("the server closed the connection");
            }
        }
    }

    pub(crate) async fn ask(&mut self, method: &str, path: &str, token: &str, body: &[u8]) -> Result<Response<'_>> {
        self.send(method, path, token, body).await?;
        self.receive().await
    }
}

struct Parsed {
    status: u16,
    body: Range<usize>,
    end: usize,
}

/// Finds a complete response at the start of `bytes`; `None` if it is incomplete. Joins the pieces
/// of a chunked body.
fn parse(bytes: &mut Vec<u8>) -> Result<Option<Parsed>> {
    let Some(head) = find(bytes, b"\r\n\r\n") else {
        return Ok(None);
    };
    let text = str::from_utf8(&bytes[..head]).context("a header that is not text")?;
    let mut lines = text.split("\r\n");
    let status: u16 = lines
        .next()
        .and_then(|line| line.strip_prefix("HTTP/1.1 "))
        .and_then(|rest| rest.get(..3))
        .and_then(|code| code.parse().ok())
        .context("not an HTTP/1.1 response")?;
    let mut length = 0;
    let mut chunked = false;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().context("a content-length that is no number")?;
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            chunked = value.trim().eq_ignore_ascii_case("chunked");
        }
    }

    let start = head + 4;
    if chunked {
        return parse_chunks(bytes, status, start);
    }
    let end = start + length;
    Ok((bytes.len() >= end).then_some(Parsed { status, body: start..end, end }))
}

fn parse_chunks(bytes: &mut Vec<u8>, status: u16, start: usize) -> Result<Option<Parsed>> {
    let mut chunks: Vec<Range<usize>> = Vec::new();
    let mut at = start;
    loop {
        let Some(line) = find(&bytes[at..], b"\r\n") else {
            return Ok(None);
        };
        let size = str::from_utf8(&bytes[at..at + line])?;
        let size = usize::from_str_radix(size.trim(), 16).context("a chunk without a size")?;
        let data = at + line + 2;
        let next = data + size + 2;
        if bytes.len() < next {
            return Ok(None);
        }
        if size == 0 {
            let rest = bytes.split_off(next);
            let body: Vec<u8> = chunks.into_iter().flat_map(|chunk| &bytes[chunk]).copied().collect();
            bytes.truncate(start);
            bytes.extend_from_slice(&body);
            let end = bytes.len();
            bytes.extend_from_slice(&rest);
            return Ok(Some(Parsed { status, body: start..end, end }));
        }
        chunks.push(data..data + size);
        at = next;
    }
}

pub(crate) fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
