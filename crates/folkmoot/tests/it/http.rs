//! Requests as bytes, so that a test can also send what no client would.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

/// Sends one request on a connection of its own, and returns all that comes back until the other
/// side closes.
pub(crate) fn send(url: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let host = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a timeout");
    let mut request = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "connection") {
        request += "connection: close\r\n";
    }
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{request}\r\n{body}").as_bytes()).expect("it reads");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// The beginning of an answer that has no end, until it contains `word`.
pub(crate) fn stream(url: &str, path: &str, headers: &[(&str, &str)], word: &str) -> String {
    let host = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a timeout");
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n{lines}\r\n").as_bytes()).expect("it reads");
    let (mut all, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut part).expect("it goes on");
        all.extend_from_slice(&part[..read]);
        let text = String::from_utf8_lossy(&all);
        if text.contains(word) {
            return text.into_owned();
        }
        assert!(read > 0, "it ended before {word:?} came: {text}");
    }
}
