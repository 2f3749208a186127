//! Reads an answer as it arrives: what all vendors share.

use std::time::Duration;

use folkmoot_outbound::KeyWatch;
use reqwest::RequestBuilder;
use serde::de::DeserializeOwned;

use super::{
    Secret,
    call_timer::CallTimer,
    count::TokenCount,
    fault::{VendorFault, tame},
    frames::{Frames, Framing, StreamFrame},
    http::{Http, unreadable},
};
use crate::{FailureKind, Finish, Hear, ModelAnswer, ModelRequest, TokenUsage};

/// How one vendor sends an answer.
pub(super) trait VendorDialect: Send {
    const FRAMING: Framing;

    /// One message of a stream.
    fn event(&mut self, message: &str, told: &mut AnswerStream<'_>) -> Result<(), VendorFault>;

    /// The whole answer at once, from a server that does not stream.
    fn whole(&mut self, message: &str, told: &mut AnswerStream<'_>) -> Result<(), VendorFault> {
        self.event(message, told)
    }
}

/// The answer so far, and its listener.
pub(super) struct AnswerStream<'a> {
    hear: &'a mut dyn Hear,
    key: Option<&'a Secret>,
    /// Holds back output that may be the beginning of the key.
    watch: KeyWatch,
    bytes_max: usize,
    text: String,
    refusal: String,
    /// Why it ended. Once set, the text is complete, whatever happens to the connection.
    pub(super) finish: Option<Finish>,
    pub(super) input_tokens: TokenCount,
    pub(super) cached_tokens: TokenCount,
    pub(super) output_tokens: TokenCount,
    pub(super) version: Option<String>,
    /// Nothing follows.
    pub(super) over: bool,
}

pub(super) struct VendorRequest<'a> {
    pub(super) request: &'a ModelRequest,
    pub(super) model: &'a str,
    pub(super) path: &'a str,
    pub(super) body: String,
}

/// The maximum size of a message without its text.
const ENVELOPE_BYTES: usize = 256 * 1024;
/// JSON escapes may triple the size: two bytes become six.
const ESCAPED: usize = 3;
/// How long to wait for the end of the response once the answer is complete, so that the connection
/// can be reused.
const FAREWELL: Duration = Duration::from_millis(20);

impl Http {
    /// Makes one call and reads the answer. `dress` adds the vendor's headers.
    pub(super) async fn tell<D: VendorDialect>(
        &self,
        asked: VendorRequest<'_>,
        dialect: D,
        hear: &mut dyn Hear,
        dress: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<ModelAnswer, VendorFault> {
        let patience = CallTimer::of(&self.endpoint);
        let post = dress(self.post(asked.path, asked.body.clone()));
        let mut told = AnswerStream::new(hear, self.endpoint.key.as_ref(), self.endpoint.answer_bytes);
        self.hear_out(post, dialect, &mut told, &patience).await?;
        let latency_ms = patience.elapsed_ms();
        told.must_be_an_answer()?;
        told.end();
        Ok(ModelAnswer {
            usage: told.usage(asked.request),
            finish: told.finish.expect("an answer has an end"),
            version: told.version.as_deref().map(|version| tame(version, told.key)),
            text: told.text,
            provider: self.endpoint.name.clone(),
            model: asked.model.to_owned(),
            latency_ms,
            cost_usd_micros: None,
            sent: asked.body,
            failed: Vec::new(),
        })
    }

    async fn hear_out<D: VendorDialect>(
        &self,
        post: RequestBuilder,
        mut dialect: D,
        told: &mut AnswerStream<'_>,
        patience: &CallTimer,
    ) -> Result<(), VendorFault> {
        let mut response = self.send(post, patience).await?;
        let bytes_max = told.bytes_max.saturating_mul(ESCAPED).saturating_add(ENVELOPE_BYTES);
        let mut frames = Frames::new(D::FRAMING, bytes_max);
        loop {
            let chunk = match self.chunk(&mut response, patience).await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                // The answer is complete; only the end of the response is missing.
                Err(_) if told.finish.is_some() => return Ok(()),
                Err(fault) => return Err(fault),
            };
            frames.push(&chunk, &mut |frame| read(&mut dialect, told, frame))?;
            if told.over {
                let _ = tokio::time::timeout(FAREWELL, response.chunk()).await;
                return Ok(());
            }
        }
        match frames.end(&mut |frame| read(&mut dialect, told, frame)) {
            Err(fault) if fault.kind == FailureKind::Truncated && told.finish.is_some() => Ok(()),
            ended => ended,
        }
    }
}

fn read<D: VendorDialect>(
    dialect: &mut D,
    told: &mut AnswerStream<'_>,
    frame: StreamFrame<'_>,
) -> Result<(), VendorFault> {
    match frame {
        _ if told.over => Ok(()),
        StreamFrame::Event(message) => dialect.event(message, told),
        StreamFrame::Whole(message) => dialect.whole(message, told),
    }
}

/// Parses a vendor's message, which is always an object.
pub(super) fn parse<T: DeserializeOwned>(message: &str) -> Result<T, VendorFault> {
    // Serde would also accept a list for a struct.
    if !message.trim_start().starts_with('{') {
        return Err(VendorFault::malformed("the answer is not in the vendor's format: a message is no JSON object"));
    }
    serde_json::from_str(message).map_err(|error| unreadable(&error))
}

impl<'a> AnswerStream<'a> {
    fn new(hear: &'a mut dyn Hear, key: Option<&'a Secret>, bytes_max: usize) -> Self {
        Self {
            hear,
            key,
            watch: key.map(Secret::keys).unwrap_or_default().watch(),
            bytes_max,
            text: String::new(),
            refusal: String::new(),
            finish: None,
            input_tokens: TokenCount::Unsaid,
            cached_tokens: TokenCount::Unsaid,
            output_tokens: TokenCount::Unsaid,
            version: None,
            over: false,
        }
    }

    pub(super) fn say(&mut self, piece: &str) -> Result<(), VendorFault> {
        if piece.is_empty() {
            return Ok(());
        }
        if self.text.len() + piece.len() > self.bytes_max {
            let detail = format!("the answer is longer than {} bytes", self.bytes_max);
            return Err(VendorFault::new(FailureKind::TooLarge, detail));
        }
        self.text.push_str(piece);
        let heard = self.watch.hear(piece).map_err(|_| {
            VendorFault::new(FailureKind::Withheld, "the answer repeats the key, so nobody is shown it")
        })?;
        self.heard(&heard);
        Ok(())
    }

    /// Ends the text and releases what was held back.
    fn end(&mut self) {
        let held = self.watch.end();
        self.heard(&held);
    }

    fn heard(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.hear.piece(piece);
        }
    }

    /// Collects the model's or vendor's reason for not answering.
    pub(super) fn refuse(&mut self, piece: &str) {
        // The beginning is enough to explain it.
        if self.refusal.len() < 4096 {
            self.refusal.extend(piece.chars().take(4096));
        }
    }

    fn must_be_an_answer(&self) -> Result<(), VendorFault> {
        if !self.refusal.is_empty() {
            return Err(VendorFault::new(FailureKind::Withheld, format!("refuses to answer: {}", self.refusal)));
        }
        let Some(finish) = self.finish else {
            return Err(VendorFault::new(FailureKind::Truncated, "the answer ended before its end"));
        };
        if self.text.trim().is_empty() {
            return Err(VendorFault::new(
                FailureKind::Empty,
                match finish {
                    Finish::Stop => "answered without a word",
                    Finish::Length => {
                        "reached the longest answer without a word: a model that reasons needs more max_tokens"
                    }
                },
            ));
        }
        Ok(())
    }

    fn usage(&self, request: &ModelRequest) -> TokenUsage {
        let (input, output) = (self.input_tokens.tokens(), self.output_tokens.tokens());
        // Ignore a count of zero for an answer that has text.
        let is_counted = input.zip(output).is_some_and(|counts| counts != (0, 0));
        let counted = |count: Option<u64>| count.filter(|tokens| is_counted || *tokens > 0);
        let said = request.messages.iter().map(|message| message.text.len()).sum::<usize>();
        let asked = said + request.system.as_ref().map_or(0, String::len);
        let input_tokens = counted(input).unwrap_or_else(|| tokens(asked));
        TokenUsage {
            input_tokens,
            // Cached tokens are part of the input, so never more than that.
            cached_tokens: self.cached_tokens.tokens().unwrap_or(0).min(input_tokens),
            output_tokens: counted(output).unwrap_or_else(|| tokens(self.text.len())),
            estimated: !is_counted || self.cached_tokens == TokenCount::Odd,
        }
    }
}

/// About four bytes per token in English; too low for other languages.
fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}
