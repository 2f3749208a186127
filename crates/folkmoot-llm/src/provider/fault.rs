//! Vendor errors, before they are attributed to a provider and keys are erased.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::Value;

use super::Secret;
use crate::{FailureKind, ModelFailure};

/// A vendor's error. Only [`VendorFault::of`] makes a [`ModelFailure`] of it, without the key.
#[derive(Debug)]
pub(super) struct VendorFault {
    pub(super) kind: FailureKind,
    detail: String,
    retry_after: Option<Duration>,
}

/// The longest detail.
const DETAIL_CHARS_MAX: usize = 300;

impl VendorFault {
    pub(super) fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), retry_after: None }
    }

    /// It is not in the vendor's format.
    pub(super) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(FailureKind::Malformed, detail)
    }

    pub(super) fn after(self, retry_after: Option<Duration>) -> Self {
        Self { retry_after: retry_after.or(self.retry_after), ..self }
    }

    /// Puts advice before the vendor's own words, which may be long.
    pub(super) fn and(self, advice: &str) -> Self {
        Self { detail: format!("{advice}. {}", self.detail), ..self }
    }

    /// Converts it to a failure of `provider`, and erases its key.
    pub(super) fn of(self, provider: &str, key: Option<&Secret>) -> ModelFailure {
        ModelFailure::new(provider, self.kind, tame(&self.detail, key)).after(self.retry_after)
    }

    /// Parses `{"error": …}`. All vendors send it, with different fields.
    pub(super) fn told(error: &Value) -> Self {
        let code = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let kind = code
            .and_then(|code| StatusCode::from_u16(code).ok())
            .filter(|status| status.is_client_error() || status.is_server_error())
            .map(kind_of_status);
        let named = words(error).find_map(kind_of_word);
        Self::new(named.or(kind).unwrap_or(FailureKind::Unavailable), sentence(error)).after(delay(error))
    }

    /// Parses a response with an error status.
    pub(super) fn refused(status: StatusCode, body: &str) -> Self {
        let parsed = serde_json::from_str::<Value>(body).ok();
        // Gemini wraps errors in a list when streaming.
        let parsed = parsed.map(|value| match value {
            Value::Array(items) => items.into_iter().next().unwrap_or_default(),
            other => other,
        });
        let error = parsed.as_ref().map(|value| value.get("error").unwrap_or(value));
        let kind = kind_of_status(status);
        // The status decides, except for two cases: an empty account, and Gemini's 400 for a bad
        // key.
        let named = error.and_then(|error| words(error).find_map(kind_of_word));
        let kind = match named {
            Some(named @ (FailureKind::Refused | FailureKind::Unauthorised | FailureKind::NoCredit))
                if status.is_client_error() =>
            {
                named
            }
            _ => kind,
        };
        let said = error.map_or_else(|| body.trim().to_owned(), sentence);
        // Anthropic reports this only as 400 `invalid_request_error` with this sentence.
        let is_unpaid = status.is_client_error() && said.contains("credit balance is too low");
        let kind = if is_unpaid { FailureKind::NoCredit } else { kind };
        let detail = if said.is_empty() { format!("status {status}") } else { format!("status {status}: {said}") };
        Self::new(kind, detail).after(error.and_then(delay))
    }
}

/// One line of visible characters without the key. The key is erased first: a cut through it would
/// leave half.
pub(super) fn tame(text: &str, key: Option<&Secret>) -> String {
    let line: String =
        text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !is_unseen(*c)).collect();
    let erased = key.map_or(line.clone(), |key| key.keys().erase(&line));
    match erased.char_indices().nth(DETAIL_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &erased[..at]),
        None => erased,
    }
}

/// Invisible characters that change how the rest of a line is shown.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn kind_of_status(status: StatusCode) -> FailureKind {
    match status.as_u16() {
        401 | 403 => FailureKind::Unauthorised,
        402 => FailureKind::NoCredit,
        408 => FailureKind::TimedOut,
        429 => FailureKind::RateLimited,
        // Retrying cannot help.
        501 | 505 => FailureKind::Refused,
        500.. => FailureKind::Unavailable,
        _ => FailureKind::Refused,
    }
}

/// The fields in which vendors put an error's name.
fn words(error: &Value) -> impl Iterator<Item = &str> {
    let reasons = error.get("details").and_then(Value::as_array).into_iter().flatten();
    let reasons = reasons.filter_map(|detail| detail.get("reason").and_then(Value::as_str));
    reasons.chain(["code", "type", "status"].into_iter().filter_map(|field| error.get(field).and_then(Value::as_str)))
}

fn kind_of_word(word: &str) -> Option<FailureKind> {
    use FailureKind::*;
    Some(match word {
        // OpenAI and compatible servers.
        "insufficient_quota" | "billing_hard_limit_reached" | "billing_error" => NoCredit,
        "rate_limit_exceeded" | "rate_limit_error" | "requests" | "tokens" => RateLimited,
        "invalid_api_key" | "authentication_error" | "permission_error" => Unauthorised,
        "invalid_request_error" | "model_not_found" | "context_length_exceeded" | "not_found_error" => Refused,
        "request_too_large" | "exceed_context_size_error" | "not_supported_error" => Refused,
        "content_filter" | "content_policy_violation" => Withheld,
        "server_error" | "api_error" | "overloaded_error" | "unavailable_error" => Unavailable,
        "timeout_error" => TimedOut,
        // Gemini.
        "API_KEY_INVALID" | "UNAUTHENTICATED" | "PERMISSION_DENIED" => Unauthorised,
        "RESOURCE_EXHAUSTED" => RateLimited,
        "INVALID_ARGUMENT" | "NOT_FOUND" | "FAILED_PRECONDITION" => Refused,
        "UNAVAILABLE" | "INTERNAL" => Unavailable,
        "DEADLINE_EXCEEDED" => TimedOut,
        _ => return None,
    })
}

/// The error's text for people.
fn sentence(error: &Value) -> String {
    let said =
        error.as_str().or_else(|| ["message", "detail", "error"].into_iter().find_map(|f| error.get(f)?.as_str()));
    said.map_or_else(|| error.to_string(), str::to_owned)
}

/// Gemini puts the retry delay into the body: `{"retryDelay": "31s"}`.
fn delay(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let told = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(told.strip_suffix('s')?.parse().ok()?).ok()
}
