//! One conversation with a server.

use std::{collections::BTreeSet, path::Path, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::ChildStdout,
    time::{Instant, timeout, timeout_at},
};

use super::{
    Diagnosis, Diagnostic, DiagnosticSeverity, Lsp, LspError, LspPlacement, LspRequest, frame,
    server::{Input, LspProcess},
};
use crate::foreign;

/// How long a server gets to end by itself.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);
/// How many messages it may send in one conversation.
const MESSAGES_MAX: usize = 20_000;
/// "Ask again": the server interrupted itself.
const ASK_AGAIN: [i64; 2] = [-32801, -32802];

/// Starts a server, asks about the file, and ends it.
pub(super) async fn ask(lsp: &Lsp, question: &LspRequest<'_>, root: &Path, file: &Path) -> Result<Diagnosis, LspError> {
    let until = Instant::now() + lsp.total;
    let starting = LspProcess::start(lsp, question.server, question.language, root);
    let mut server = timeout_at(until, starting).await.map_err(|_| late(lsp))??;
    let Some((stdin, stdout)) = server.pipes() else {
        return Err(LspError::Missing("the language server has no standard input or output".to_owned()));
    };
    let jailed = server.is_jailed();
    let there = server.root(root);
    let mut session = LspSession {
        lsp,
        stdin,
        stdout: BufReader::new(stdout),
        text: question.text,
        uri: uri(&there.join(file.strip_prefix(root).unwrap_or(file))),
        root: uri(there),
        // Omitted in the jail, where the id is meaningless and some servers end if no such process
        // exists.
        parent: (!jailed).then(std::process::id),
        until,
        messages: 0,
        at_work: BTreeSet::new(),
        sent: None,
        pulled: None,
        encoding: Encoding::Utf16,
    };
    let found = session.converse(question).await;
    if found.is_ok() {
        let _ = timeout(EXIT_TIMEOUT, session.farewell()).await;
    }
    drop(session);
    let patience = match &found {
        Ok(_) | Err(LspError::Ended { .. }) => EXIT_TIMEOUT,
        Err(_) => Duration::ZERO,
    };
    let complaint = server.end(patience).await;
    match found {
        Err(LspError::Ended { .. }) => Err(LspError::Ended { complaint, jailed }),
        Err(LspError::TimedOut { after, .. }) => Err(LspError::TimedOut { after, jailed }),
        found => found,
    }
}

fn late(lsp: &Lsp) -> LspError {
    LspError::TimedOut { after: lsp.total, jailed: matches!(lsp.place, LspPlacement::Jail(_)) }
}

pub(super) fn ended() -> LspError {
    LspError::Ended { complaint: String::new(), jailed: false }
}

struct LspSession<'a> {
    lsp: &'a Lsp,
    stdin: Input,
    stdout: BufReader<ChildStdout>,
    text: &'a str,
    uri: String,
    root: String,
    parent: Option<u32>,
    until: Instant,
    messages: usize,
    /// Progress that has begun and not ended.
    at_work: BTreeSet<String>,
    /// The last diagnostics that it published.
    sent: Option<Vec<RawDiagnostic>>,
    /// The diagnostics that it returned on request.
    pulled: Option<Vec<RawDiagnostic>>,
    encoding: Encoding,
}

/// The units of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16,
    Utf32,
}

/// A diagnostic as the server sent it.
#[derive(Debug, Deserialize)]
struct RawDiagnostic {
    range: Range,
    severity: Option<i64>,
    #[serde(default)]
    message: DiagnosticText,
    source: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Range {
    start: Position,
}

#[derive(Debug, Deserialize)]
struct Position {
    line: u32,
    character: u32,
}

/// A string, or since 3.18 a marked string.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum DiagnosticText {
    Plain(String),
    Marked { value: String },
}

impl Default for DiagnosticText {
    fn default() -> Self {
        Self::Plain(String::new())
    }
}

/// The ids of our requests.
const INITIALIZE: i64 = 1;
const PULL: i64 = 2;
const SHUTDOWN: i64 = 3;

impl LspSession<'_> {
    async fn converse(&mut self, question: &LspRequest<'_>) -> Result<Diagnosis, LspError> {
        self.send(json!({ "id": INITIALIZE, "method": "initialize", "params": self.introduction() })).await?;
        let capabilities = self.reply(INITIALIZE).await?["capabilities"].take();
        self.encoding = match capabilities["positionEncoding"].as_str() {
            Some("utf-8") => Encoding::Utf8,
            Some("utf-32") => Encoding::Utf32,
            _ => Encoding::Utf16,
        };
        self.send(json!({ "method": "initialized", "params": {} })).await?;
        let document =
            json!({ "uri": self.uri, "languageId": question.language.word(), "version": 1, "text": question.text });
        self.send(json!({ "method": "textDocument/didOpen", "params": { "textDocument": document } })).await?;
        let pulls = !matches!(capabilities["diagnosticProvider"], Value::Null | Value::Bool(false));
        if pulls {
            self.pull().await?;
        }
        let is_complete = self.listen(pulls).await?;
        Ok(self.diagnosis(is_complete))
    }

    fn introduction(&self) -> Value {
        json!({
            "processId": self.parent,
            "clientInfo": { "name": "folkmoot", "version": env!("CARGO_PKG_VERSION") },
            "rootUri": self.root,
            "workspaceFolders": [{ "uri": self.root, "name": "project" }],
            "capabilities": {
                "general": { "positionEncodings": ["utf-8", "utf-16"] },
                "textDocument": {
                    "publishDiagnostics": { "versionSupport": true },
                    "diagnostic": { "dynamicRegistration": false },
                    "synchronization": {},
                },
                "window": { "workDoneProgress": true },
                "workspace": { "configuration": true, "workspaceFolders": true },
            },
        })
    }

    async fn pull(&mut self) -> Result<(), LspError> {
        let params = json!({ "textDocument": { "uri": self.uri } });
        self.send(json!({ "id": PULL, "method": "textDocument/diagnostic", "params": params })).await
    }

    /// Reads until the server has published diagnostics, is idle, and has been silent for a while:
    /// returns true. At the time limit: false if there are diagnostics, otherwise an error.
    async fn listen(&mut self, pulls: bool) -> Result<bool, LspError> {
        let mut quiet_from = Instant::now();
        loop {
            let has_said = if pulls { self.pulled.is_some() } else { self.sent.is_some() };
            let wake = match has_said && self.at_work.is_empty() {
                true => (quiet_from + self.lsp.quiet).min(self.until),
                false => self.until,
            };
            // Waits only for the first byte: a partial message is not silence.
            if timeout_at(wake, self.stdout.fill_buf()).await.is_err() && wake < self.until {
                return Ok(true);
            }
            let message = match timeout_at(self.until, self.next()).await {
                Ok(message) => message?,
                Err(_) if has_said => return Ok(false),
                Err(_) => return Err(late(self.lsp)),
            };
            // Logs do not mean that more diagnostics follow.
            if self.take(message).await? {
                quiet_from = Instant::now();
            }
        }
    }

    /// Handles a message, and answers requests. Returns whether it concerned our file or progress.
    async fn take(&mut self, message: Value) -> Result<bool, LspError> {
        let params = &message["params"];
        match message["method"].as_str() {
            Some(method) if !message["id"].is_null() => {
                self.answer(method, &message["id"], params).await?;
                Ok(false)
            }
            Some("textDocument/publishDiagnostics") if is_same(params["uri"].as_str(), &self.uri) => {
                self.sent = Some(self.found(&params["diagnostics"])?);
                Ok(true)
            }
            Some("$/progress") => {
                let token = params["token"].to_string();
                match params["value"]["kind"].as_str() {
                    Some("begin") if self.at_work.len() < 1000 => drop(self.at_work.insert(token)),
                    Some("end") => drop(self.at_work.remove(&token)),
                    _ => {}
                }
                Ok(true)
            }
            Some(_) => Ok(false),
            None if message["id"] == PULL => self.take_pulled(message).await,
            None => Ok(false),
        }
    }

    async fn take_pulled(&mut self, mut message: Value) -> Result<bool, LspError> {
        if let Some(error) = refusal(&message) {
            let code = message["error"]["code"].as_i64().unwrap_or_default();
            if !ASK_AGAIN.contains(&code) {
                return Err(error);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            self.pull().await?;
            return Ok(true);
        }
        self.pulled = Some(self.found(&message["result"]["items"].take())?);
        Ok(true)
    }

    fn found(&self, items: &Value) -> Result<Vec<RawDiagnostic>, LspError> {
        let items = items.as_array().map(Vec::as_slice).unwrap_or_default();
        let found =
            items.iter().take(self.lsp.diagnostics_max + 1).map(RawDiagnostic::deserialize).collect::<Result<_, _>>();
        found.map_err(|error| LspError::Malformed(format!("a diagnostic that cannot be read: {error}")))
    }

    /// Answers the server's requests. We have no settings, and accept every registration.
    async fn answer(&mut self, method: &str, id: &Value, params: &Value) -> Result<(), LspError> {
        let result = match method {
            "workspace/configuration" => {
                let items = params["items"].as_array().map_or(0, Vec::len).min(1000);
                Value::Array(vec![Value::Null; items])
            }
            "workspace/workspaceFolders" => json!([{ "uri": self.root, "name": "project" }]),
            "client/registerCapability"
            | "client/unregisterCapability"
            | "window/workDoneProgress/create"
            | "window/showMessageRequest"
            | "workspace/diagnostic/refresh"
            | "workspace/semanticTokens/refresh"
            | "workspace/inlayHint/refresh"
            | "workspace/codeLens/refresh" => Value::Null,
            "workspace/applyEdit" => json!({ "applied": false }),
            _ => {
                let error = json!({ "code": -32601, "message": "this client only reads diagnostics" });
                return self.send(json!({ "id": id, "error": error })).await;
            }
        };
        self.send(json!({ "id": id, "result": result })).await
    }

    /// The response to a request; other messages are handled meanwhile.
    async fn reply(&mut self, id: i64) -> Result<Value, LspError> {
        loop {
            let message = timeout_at(self.until, self.next()).await;
            let mut message = message.map_err(|_| late(self.lsp))??;
            if message["method"].is_null() && message["id"] == id {
                return refusal(&message).map_or_else(|| Ok(message["result"].take()), Err);
            }
            self.take(message).await?;
        }
    }

    async fn farewell(&mut self) -> Result<(), LspError> {
        self.send(json!({ "id": SHUTDOWN, "method": "shutdown" })).await?;
        self.reply(SHUTDOWN).await?;
        self.send(json!({ "method": "exit" })).await
    }

    /// Not cancel-safe: half a message would be lost.
    async fn next(&mut self) -> Result<Value, LspError> {
        self.messages += 1;
        if self.messages > MESSAGES_MAX {
            return Err(LspError::TooLarge(format!("more than {MESSAGES_MAX} messages")));
        }
        let message = frame::read(&mut self.stdout, self.lsp.message_bytes).await?;
        message.ok_or_else(ended)
    }

    async fn send(&mut self, mut message: Value) -> Result<(), LspError> {
        message["jsonrpc"] = json!("2.0");
        let sent = timeout_at(self.until, frame::write(&mut self.stdin, &message)).await;
        sent.map_err(|_| late(self.lsp))?
    }

    fn diagnosis(&self, is_complete: bool) -> Diagnosis {
        let found = self.sent.iter().flatten().chain(self.pulled.iter().flatten());
        // A problem can be both published and returned; the set keeps it once, sorted by position.
        let diagnostics: BTreeSet<Diagnostic> = found.map(|found| self.diagnostic(found)).collect();
        let is_cut = diagnostics.len() > self.lsp.diagnostics_max;
        Diagnosis {
            diagnostics: diagnostics.into_iter().take(self.lsp.diagnostics_max).collect(),
            is_complete: is_complete && !is_cut,
        }
    }

    fn diagnostic(&self, found: &RawDiagnostic) -> Diagnostic {
        let Position { line, character } = found.range.start;
        let text = self.text.lines().nth(line as usize).unwrap_or_default();
        let message = match &found.message {
            DiagnosticText::Plain(message) | DiagnosticText::Marked { value: message } => message,
        };
        Diagnostic {
            line: line.saturating_add(1),
            column: column(text, character, self.encoding),
            severity: match found.severity {
                Some(2) => DiagnosticSeverity::Warning,
                Some(3) => DiagnosticSeverity::Information,
                Some(4) => DiagnosticSeverity::Hint,
                // Without a severity the client decides: an error, so that none is overlooked.
                _ => DiagnosticSeverity::Error,
            },
            message: foreign::text(message.trim(), 2000),
            source: foreign::text(found.source.as_deref().unwrap_or_default(), 80),
        }
    }
}

/// The column, from 1, of a position in an encoding's units.
fn column(line: &str, units: u32, encoding: Encoding) -> u32 {
    let mut counted = 0;
    let before = line.chars().take_while(|c| {
        let is_before = counted < units as usize;
        counted += match encoding {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
            Encoding::Utf32 => 1,
        };
        is_before
    });
    u32::try_from(before.count()).unwrap_or(u32::MAX).saturating_add(1)
}

fn refusal(message: &Value) -> Option<LspError> {
    let error = message.get("error").filter(|error| !error.is_null())?;
    Some(LspError::Refused(foreign::line(error["message"].as_str().unwrap_or("without saying why"), 500)))
}

/// A path as a URI.
fn uri(path: &Path) -> String {
    use std::{fmt::Write, os::unix::ffi::OsStrExt};
    path.as_os_str().as_bytes().iter().fold("file://".to_owned(), |mut uri, &byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(byte as char),
            _ => write!(uri, "%{byte:02X}").expect("a string takes everything"),
        }
        uri
    })
}

/// Servers escape paths differently and may use other cases.
fn is_same(given: Option<&str>, ours: &str) -> bool {
    given.is_some_and(|given| unescaped(given) == unescaped(ours))
}

fn unescaped(uri: &str) -> Vec<u8> {
    let mut rest = uri.as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = (byte == b'%').then(|| after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok())).flatten();
        match escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(escaped) => (bytes.push(escaped), rest = &after[2..]).1,
            None => (bytes.push(byte), rest = after).1,
        }
    }
    bytes
}

#[cfg(test)]
mod tests;
