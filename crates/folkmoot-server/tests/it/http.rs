//! The smallest client there can be, so that a test can also send what no client would.

use std::time::Duration;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The stable code of a problem, after checking that it is one and says something.
    pub fn code(&self) -> String {
        assert!(self.head.contains("application/problem+json"), "no problem: {self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status, "{problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.len() > 10), "says nothing: {problem}");
        problem["code"].as_str().expect("a problem has a code").to_owned()
    }
}

/// Sends one request on a connection of its own.
pub async fn send(url: &str, method: &str, path: &str, token: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let host = url.trim_start_matches("http://");
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
    if !token.is_empty() {
        head += &format!("authorization: Bearer {token}\r\n");
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", body.len());
    raw(url, format!("{head}{body}").as_bytes()).await
}

/// Sends bytes as they are, and reads until the other side closes.
pub async fn raw(url: &str, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).await.expect("the server listens");
    // A server that refuses early may close before all is sent.
    let _ = stream.write_all(bytes).await;
    let mut text = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(70), stream.read_to_end(&mut text)).await;
    let _ = read.expect("the server answers in time");
    let text = String::from_utf8(text).expect("answers are UTF-8");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text.as_str(), ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = if head.contains("transfer-encoding: chunked") { unchunk(body) } else { body.to_owned() };
    Answer { status, head: head.to_lowercase(), body }
}

fn unchunk(mut text: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = text.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap_or(0);
        if length == 0 {
            break;
        }
        whole += &rest[..length];
        text = rest[length..].trim_start_matches("\r\n");
    }
    whole
}
