//! Message framing: a header with the length, and JSON of that length.

use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::LspError;
use crate::foreign;

/// All headers of one message.
const HEADER_BYTES_MAX: usize = 4096;

/// The next message; `None` if the stream ended between two.
pub(super) async fn read(from: &mut (impl AsyncBufRead + Unpin), bytes_max: usize) -> Result<Option<Value>, LspError> {
    let mut length = None;
    let mut header_bytes = 0;
    loop {
        let mut line = Vec::new();
        let room = (HEADER_BYTES_MAX - header_bytes) as u64;
        let read = (&mut *from).take(room).read_until(b'\n', &mut line).await.map_err(|error| broken(&error))?;
        header_bytes += read;
        if read == 0 && header_bytes == 0 {
            return Ok(None);
        }
        let Some(line) = line.strip_suffix(b"\n") else {
            let what = if header_bytes >= HEADER_BYTES_MAX {
                "a header without an end"
            } else {
                "its output ends within a header"
            };
            return Err(LspError::Malformed(format!("{what}: {}", quoted(&line))));
        };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            break;
        }
        if header_bytes >= HEADER_BYTES_MAX {
            return Err(LspError::Malformed("a header without an end".to_owned()));
        }
        let Some((name, value)) = std::str::from_utf8(line).ok().and_then(|line| line.split_once(':')) else {
            return Err(LspError::Malformed(format!("a line that is no header: {}", quoted(line))));
        };
        if name.eq_ignore_ascii_case("content-length") {
            let value = value.trim().parse::<usize>();
            length =
                Some(value.map_err(|_| LspError::Malformed(format!("a length that is no number: {}", quoted(line))))?);
        }
    }
    let length = length.ok_or_else(|| LspError::Malformed("a message without a length".to_owned()))?;
    if length > bytes_max {
        return Err(LspError::TooLarge(format!("a message of {length} bytes; {bytes_max} are allowed")));
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).await.map_err(|error| broken(&error))?;
    let message = serde_json::from_slice(&body);
    message
        .map(Some)
        .map_err(|error| LspError::Malformed(format!("a message that is no JSON ({error}): {}", quoted(&body))))
}

pub(super) async fn write(to: &mut (impl AsyncWrite + Unpin), message: &Value) -> Result<(), LspError> {
    let body = message.to_string();
    let framed = format!("Content-Length: {}\r\n\r\n{body}", body.len());
    to.write_all(framed.as_bytes()).await.map_err(|error| broken(&error))?;
    to.flush().await.map_err(|error| broken(&error))
}

/// The other end closed the pipe.
fn broken(_: &std::io::Error) -> LspError {
    super::session::ended()
}

fn quoted(bytes: &[u8]) -> String {
    let beginning = &bytes[..bytes.len().min(120)];
    format!("{:?}", foreign::line(&String::from_utf8_lossy(beginning), 120))
}
