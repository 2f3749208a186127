//! A mail server that speaks as much of RFC 5321 as is needed, on a real socket.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

/// A mail that was taken.
#[derive(Clone, Debug)]
pub struct Taken {
    pub from: String,
    pub to: String,
    pub text: String,
    pub is_encrypted: bool,
}

#[derive(Clone)]
pub struct Smtp {
    pub address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    taken: Mutex<Vec<Taken>>,
    /// Everything that clients said, in order.
    heard: Mutex<Vec<String>>,
    /// What it answers to a command that begins so.
    says: Mutex<Vec<(String, String)>>,
}

/// Whether and when a conversation is encrypted.
#[derive(Clone)]
pub enum Secrecy {
    None,
    StartTls(TlsAcceptor),
    Tls(TlsAcceptor),
}

impl Smtp {
    pub async fn start(secrecy: Secrecy) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self { address: listener.local_addr().unwrap(), state: Arc::default() };
        let state = Arc::clone(&server.state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (state, secrecy) = (Arc::clone(&state), secrecy.clone());
                tokio::spawn(async move {
                    match secrecy {
                        Secrecy::None => drop(converse(stream, &state, false, false, true).await),
                        Secrecy::Tls(acceptor) => {
                            let Ok(stream) = acceptor.accept(stream).await else { return };
                            converse(stream, &state, false, true, true).await;
                        }
                        Secrecy::StartTls(acceptor) => {
                            let Some(stream) = converse(stream, &state, true, false, true).await else { return };
                            let Ok(stream) = acceptor.accept(stream).await else { return };
                            converse(stream, &state, false, true, false).await;
                        }
                    }
                });
            }
        });
        server
    }

    /// From now on it answers `answer` to what begins with `command`.
    pub fn says(&self, command: &str, answer: &str) {
        let mut says = self.state.says.lock().unwrap();
        says.retain(|(known, _)| known != command);
        says.push((command.to_owned(), answer.to_owned()));
    }

    pub fn taken(&self) -> Vec<Taken> {
        self.state.taken.lock().unwrap().clone()
    }

    pub fn heard(&self) -> Vec<String> {
        self.state.heard.lock().unwrap().clone()
    }
}

/// One conversation. Gives the stream back where it is to be encrypted now.
async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    state: &State,
    offers_tls: bool,
    is_encrypted: bool,
    greets: bool,
) -> Option<S> {
    let mut stream = BufReader::new(stream);
    if greets {
        stream.write_all(b"220 test ESMTP\r\n").await.ok()?;
    }
    let (mut from, mut to) = (String::new(), String::new());
    loop {
        let line = read_line(&mut stream).await?;
        state.heard.lock().unwrap().push(line.clone());
        let scripted = state.says.lock().unwrap().iter().find(|(begins, _)| line.starts_with(begins)).cloned();
        if let Some((_, answer)) = scripted {
            stream.write_all(format!("{answer}\r\n").as_bytes()).await.ok()?;
            continue;
        }
        let verb = line.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
        let answer = match verb.as_str() {
            "EHLO" if offers_tls => "250-test\r\n250 STARTTLS",
            "EHLO" => "250-test\r\n250-8BITMIME\r\n250 AUTH PLAIN LOGIN",
            "STARTTLS" if offers_tls => {
                stream.write_all(b"220 go on\r\n").await.ok()?;
                return Some(stream.into_inner());
            }
            "AUTH" => "235 welcome",
            "MAIL" => {
                from = within(&line);
                "250 ok"
            }
            "RCPT" => {
                to = within(&line);
                "250 ok"
            }
            "DATA" => {
                stream.write_all(b"354 go on\r\n").await.ok()?;
                let mut text = String::new();
                loop {
                    let line = read_line(&mut stream).await?;
                    if line == "." {
                        break;
                    }
                    text += line.strip_prefix('.').unwrap_or(&line);
                    text += "\n";
                }
                let taken = Taken { from: from.clone(), to: to.clone(), text, is_encrypted };
                state.taken.lock().unwrap().push(taken);
                "250 taken"
            }
            "QUIT" => {
                let _ = stream.write_all(b"221 bye\r\n").await;
                return None;
            }
            "RSET" | "NOOP" => "250 ok",
            _ => "502 what?",
        };
        stream.write_all(format!("{answer}\r\n").as_bytes()).await.ok()?;
    }
}

async fn read_line<S: AsyncRead + Unpin>(stream: &mut BufReader<S>) -> Option<String> {
    let mut line = String::new();
    match stream.read_line(&mut line).await {
        Ok(1..) => Some(line.trim_end_matches(['\r', '\n']).to_owned()),
        _ => None,
    }
}

fn within(line: &str) -> String {
    line.split(['<', '>']).nth(1).unwrap_or_default().to_owned()
}
