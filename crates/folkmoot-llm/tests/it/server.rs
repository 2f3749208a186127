//! A server that plays a script of bytes, so that it can misbehave in ways that no HTTP library
//! allows.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// What the server does next.
#[derive(Clone, Debug)]
pub enum Step {
    Send(Vec<u8>),
    Wait(Duration),
    /// The same again and again, with a pause between.
    Forever(Vec<u8>, Duration),
    /// Says nothing more, and stays.
    Hang,
    /// Ends the connection rudely.
    Reset,
}

/// Plays its script to everybody who connects and asks.
pub struct Server {
    pub url: String,
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Server {
    pub async fn play(script: Vec<Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = asked.clone();
        let task = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let (script, heard) = (script.clone(), heard.clone());
                tokio::spawn(async move {
                    // Whoever has enough of the script leaves.
                    let _ = serve(connection, script, &heard).await;
                });
            }
        });
        Self { url, asked, task }
    }

    /// What it was asked until now, head and body.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut connection: TcpStream, script: Vec<Step>, heard: &Mutex<Vec<String>>) -> std::io::Result<()> {
    connection.set_nodelay(true)?;
    let question = question(&mut connection).await?;
    heard.lock().unwrap().push(question);
    for step in script {
        match step {
            Step::Send(bytes) => connection.write_all(&bytes).await?,
            Step::Wait(time) => tokio::time::sleep(time).await,
            Step::Forever(bytes, pause) => loop {
                connection.write_all(&bytes).await?;
                tokio::time::sleep(pause).await;
            },
            Step::Hang => tokio::time::sleep(Duration::from_secs(60)).await,
            Step::Reset => return connection.set_zero_linger(),
        }
    }
    connection.shutdown().await
}

async fn question(connection: &mut TcpStream) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let read = connection.read(&mut piece).await?;
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            if read == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            continue;
        };
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if body.len() >= length.unwrap_or(0) || read == 0 {
            return Ok(text);
        }
    }
}

/// A head after which the body lasts until the connection ends: then nothing but the body itself
/// tells where its end is.
pub fn head(content_type: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n").into_bytes()
}

/// A head after which the body comes in chunks.
pub fn chunked_head(content_type: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n").into_bytes()
}

/// One chunk. An empty one is the last.
pub fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}
