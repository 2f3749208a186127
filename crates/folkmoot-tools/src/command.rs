//! A command-line program as a model provider: `claude -p`, `llm`, a script. The prompt is its
//! standard input and its output is the answer.
//!
//! No shell interprets the command. It runs in an empty folder, sees PATH, HOME, LANG and the
//! configured variables, and its process group is killed when the call is dropped.

use std::{
    collections::BTreeMap,
    env,
    process::ExitStatus,
    time::{Duration, Instant},
};

use folkmoot_llm::{
    FailureKind, Finish, Hear, Model, ModelAnswer, ModelFailure, ModelRequest, Speaker, TokenUsage,
    outbound::{KeyWatch, Keys},
};
use futures_util::future::BoxFuture;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{ChildStdin, ChildStdout},
    time::{sleep_until, timeout},
};

use crate::{
    child::{self, Child, ProcessSpec},
    foreign,
};

/// A model that is a program on this machine.
#[derive(Clone, Debug)]
pub struct CommandModel {
    /// The provider's name in the configuration.
    pub provider: String,
    /// The model's name for records; the program usually chooses its own model.
    pub model: String,
    pub command: Vec<String>,
    /// Names of variables that it gets in addition to PATH, HOME and LANG. Unset ones are left out.
    pub environment: Vec<String>,
    pub limits: CommandLimits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandLimits {
    pub total: Duration,
    /// The longest silence. Many programs print nothing until they print everything.
    pub idle: Duration,
    pub answer_bytes: usize,
}

impl Default for CommandLimits {
    fn default() -> Self {
        Self { total: Duration::from_secs(600), idle: Duration::from_secs(300), answer_bytes: 1 << 20 }
    }
}

impl CommandModel {
    /// Checks, without starting it, whether it can be started.
    ///
    /// # Errors
    /// If its program does not exist or is not executable, or a variable is not set.
    pub fn check(&self) -> Result<(), String> {
        let program = self.command.first().map(String::as_str).unwrap_or_default();
        let found = child::find(program, &BTreeMap::new());
        let found = found.ok_or_else(|| format!("`{program}` is not installed, or not on PATH"))?;
        nix::unistd::access(&found, nix::unistd::AccessFlags::X_OK)
            .map_err(|_| format!("{} is no program: it cannot be executed", found.display()))?;
        match self.environment.iter().find(|name| env::var_os(name).is_none()) {
            Some(unset) => Err(format!("it is to get {unset}, which is not set")),
            None => Ok(()),
        }
    }
}

/// How long to keep reading after the program has ended if a process outside its group holds its
/// output open.
const AFTERMATH: Duration = Duration::from_millis(100);

/// How much of its stderr is shown.
const COMPLAINT_BYTES_MAX: usize = 1000;

impl Model for CommandModel {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelFailure>> {
        Box::pin(self.run(request, hear))
    }
}

impl CommandModel {
    async fn run(&self, request: &ModelRequest, hear: &mut dyn Hear) -> Result<ModelAnswer, ModelFailure> {
        let begun = Instant::now();
        let prompt = prompt(request);
        let folder = tempfile::tempdir().map_err(|error| {
            self.failure(FailureKind::Misconfigured, format!("there is no folder to work in: {error}"))
        })?;
        let environment: BTreeMap<_, _> =
            self.environment.iter().filter_map(|name| Some((name.clone(), env::var(name).ok()?))).collect();
        let start = ProcessSpec { command: &self.command, environment: &environment, folder: folder.path() };
        let child = child::start(&start).map_err(|why| self.failure(FailureKind::Misconfigured, why))?;
        // Its variables may be secrets: they must appear neither in the answer nor in errors,
        // because records keep both.
        let keys = Keys::new(&environment);
        let text = self.converse(child, &keys, prompt.as_bytes(), hear).await?;
        if text.trim().is_empty() {
            return Err(self.failure(FailureKind::Empty, "the command ended well, but printed nothing"));
        }
        Ok(ModelAnswer {
            text: text.trim_end().to_owned(),
            finish: Finish::Stop,
            usage: TokenUsage::estimate(request, text.len()),
            provider: self.provider.clone(),
            model: self.model.clone(),
            version: None,
            latency_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            cost_usd_micros: None,
            sent: prompt,
            failed: Vec::new(),
        })
    }

    /// Writes the prompt and reads the answer concurrently, until the program has ended.
    async fn converse(
        &self,
        mut child: Child,
        keys: &Keys,
        prompt: &[u8],
        hear: &mut dyn Hear,
    ) -> Result<String, ModelFailure> {
        let (Some(stdin), Some(mut stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(self.failure(FailureKind::Misconfigured, "the command has no standard input or output"));
        };
        let mut written = std::pin::pin!(write(stdin, prompt));
        let mut is_written = false;
        let mut said = OutputBuffer::new(self.limits.answer_bytes, keys);
        let mut is_silent = false;
        let last = tokio::time::Instant::now() + self.limits.total;
        let mut patience = tokio::time::Instant::now() + self.limits.idle;
        let mut piece = vec![0; 16 * 1024];
        let status = loop {
            tokio::select! {
                () = &mut written, if !is_written => is_written = true,
                read = stdout.read(&mut piece), if !is_silent => match read {
                    Ok(read @ 1..) => {
                        said.hear(&piece[..read], hear).map_err(|(kind, why)| self.failure(kind, why))?;
                        patience = tokio::time::Instant::now() + self.limits.idle;
                    }
                    Ok(0) | Err(_) => is_silent = true,
                },
                status = child.wait() => break status,
                () = sleep_until(last) => return Err(self.late("end", self.limits.total)),
                () = sleep_until(patience) => return Err(self.late("say anything", self.limits.idle)),
            }
        };
        let status =
            status.map_err(|error| self.failure(FailureKind::Unavailable, format!("its end is not known: {error}")))?;
        if !is_silent {
            self.aftermath(&mut stdout, &mut said, hear).await?;
        }
        if !status.success() {
            let complaint = keys.erase_end(&child.complaint().await);
            return Err(self.failure(FailureKind::Unavailable, ended_badly(status, &complaint)));
        }
        said.end(hear).map_err(|(kind, why)| self.failure(kind, why))
    }

    /// Reads what is left in the pipe. A process outside the group may hold it open for ever.
    async fn aftermath(
        &self,
        stdout: &mut ChildStdout,
        said: &mut OutputBuffer,
        hear: &mut dyn Hear,
    ) -> Result<(), ModelFailure> {
        let mut piece = vec![0; 16 * 1024];
        let until = Instant::now() + self.limits.idle.min(Duration::from_secs(2));
        while Instant::now() < until
            && let Ok(Ok(read @ 1..)) = timeout(AFTERMATH, stdout.read(&mut piece)).await
        {
            said.hear(&piece[..read], hear).map_err(|(kind, why)| self.failure(kind, why))?;
        }
        Ok(())
    }

    fn late(&self, what: &str, limit: Duration) -> ModelFailure {
        self.failure(FailureKind::TimedOut, format!("the command did not {what} within {limit:?}, and was ended"))
    }

    fn failure(&self, kind: FailureKind, detail: impl Into<String>) -> ModelFailure {
        ModelFailure::new(&self.provider, kind, detail)
    }
}

/// A program may answer without reading all of its input, so errors are ignored.
async fn write(mut stdin: ChildStdin, prompt: &[u8]) {
    let _ = stdin.write_all(prompt).await;
    let _ = stdin.shutdown().await;
}

/// The output so far, and the bytes of an incomplete character.
#[derive(Debug)]
struct OutputBuffer {
    text: String,
    part: Vec<u8>,
    bytes_max: usize,
    /// Holds back output that may be the beginning of a key.
    watch: KeyWatch,
}

impl OutputBuffer {
    fn new(bytes_max: usize, keys: &Keys) -> Self {
        Self { text: String::new(), part: Vec::new(), bytes_max, watch: keys.watch() }
    }

    fn hear(&mut self, piece: &[u8], hear: &mut dyn Hear) -> Result<(), (FailureKind, String)> {
        self.part.extend_from_slice(piece);
        if self.text.len() + self.part.len() > self.bytes_max {
            return Err((FailureKind::TooLarge, format!("the answer is longer than {} bytes", self.bytes_max)));
        }
        let whole = match std::str::from_utf8(&self.part) {
            Ok(text) => text,
            Err(error) if error.error_len().is_some() => {
                return Err((FailureKind::Malformed, "what the command printed is not UTF-8".to_owned()));
            }
            Err(error) => std::str::from_utf8(&self.part[..error.valid_up_to()]).unwrap_or_default(),
        };
        if whole.contains('\0') {
            return Err((FailureKind::Malformed, "what the command printed is no text: it contains U+0000".to_owned()));
        }
        let shown = self.watch.hear(whole).map_err(|told| {
            (FailureKind::Withheld, format!("the answer repeats {}, so nobody is shown it", told.name))
        })?;
        if !shown.is_empty() {
            hear.piece(&shown);
        }
        self.text.push_str(whole);
        let heard = whole.len();
        self.part.drain(..heard);
        Ok(())
    }

    fn end(mut self, hear: &mut dyn Hear) -> Result<String, (FailureKind, String)> {
        if !self.part.is_empty() {
            return Err((FailureKind::Malformed, "what the command printed ends within a character".to_owned()));
        }
        let held = self.watch.end();
        if !held.is_empty() {
            hear.piece(&held);
        }
        Ok(self.text)
    }
}

fn ended_badly(status: ExitStatus, complaint: &str) -> String {
    // Cut after erasing keys: half a key would not be found.
    let complaint = foreign::line(complaint, COMPLAINT_BYTES_MAX);
    let why = if complaint.is_empty() { "it did not say why" } else { &complaint };
    format!("the command failed ({status}): {why}")
}

/// The request as one text. A single message needs no names. Several each begin with a mark that
/// none of them contains, so that no message can imitate another.
fn prompt(request: &ModelRequest) -> String {
    let mut parts: Vec<String> = request.system.iter().cloned().collect();
    match request.messages.as_slice() {
        [only] => parts.push(only.text.clone()),
        messages => {
            let texts: Vec<&str> = messages.iter().map(|message| message.text.as_str()).collect();
            let mark = foreign::mark(&texts);
            parts.push(format!(
                "What follows is a conversation between a user and you, the assistant. Lines with the mark {mark} begin a \
                 message; no other line does. Answer the last message."
            ));
            for message in messages {
                let speaker = match message.speaker {
                    Speaker::User => "user",
                    Speaker::Assistant => "assistant",
                };
                parts.push(format!("--- {mark} {speaker} ---\n{}", message.text));
            }
        }
    }
    if let Some(shape) = &request.schema {
        parts.push(format!(
            "Answer with one JSON value that fits this JSON Schema, and nothing else: no introduction, no code block, no \
             comment.\n{}",
            shape.schema
        ));
    }
    parts.join("\n\n")
}

#[cfg(test)]
mod tests;
