//! Continues texts that were cut off at the maximum length by asking the model for the rest. A text
//! that is still incomplete after a few times is marked as cut off. Structured answers are not
//! continued, because a vendor that enforces a schema begins anew each time;
//! [`structured`](crate::structured) asks for them again instead.

use crate::{
    FailureKind, Finish, Hear, Message, Model, ModelAnswer, ModelFailure, ModelRequest, PromptContext, Prompts,
    Speaker, TokenUsage, rehearsal,
};

#[cfg(test)]
mod tests;

/// The maximum number of continuations.
pub const CONTINUATIONS_MAX: u32 = 3;

/// The longest repetition that is removed at the start of a continuation. Shorter ones than the
/// minimum may be coincidence.
const OVERLAP_BYTES_MAX: usize = 400;
const OVERLAP_BYTES_MIN: usize = 16;

/// Whether the answer can be continued. The rehearsal would begin anew.
pub fn can_go_on(request: &ModelRequest, answer: &ModelAnswer) -> bool {
    answer.finish == Finish::Length && request.schema.is_none() && answer.provider != rehearsal::NAME
}

/// The same conversation, asking for the rest. `time` counts from 1; each is a separate call.
pub fn rest(
    prompts: &Prompts,
    request: &ModelRequest,
    so_far: &ModelAnswer,
    time: u32,
) -> Result<ModelRequest, ModelFailure> {
    let text = prompts
        .render("parts/rest.md", &PromptContext::new())
        .map_err(|error| ModelFailure::new("request", FailureKind::Misconfigured, error.to_string()))?;
    let mut rest = request.clone();
    rest.idempotency_key = request.idempotency_key.as_ref().map(|key| format!("{key}-rest-{time}"));
    rest.messages.push(Message { speaker: Speaker::Assistant, text: so_far.text.clone() });
    rest.messages.push(Message { speaker: Speaker::User, text });
    Ok(rest)
}

/// Joins two answers into one, with the cost of both.
pub fn join(so_far: ModelAnswer, mut rest: ModelAnswer) -> ModelAnswer {
    let (one, two) = (so_far.usage, rest.usage);
    let usage = TokenUsage {
        input_tokens: one.input_tokens.saturating_add(two.input_tokens),
        cached_tokens: one.cached_tokens.saturating_add(two.cached_tokens),
        output_tokens: one.output_tokens.saturating_add(two.output_tokens),
        estimated: one.estimated || two.estimated,
    };
    let new = &rest.text[overlap(&so_far.text, &rest.text)..];
    let text = format!("{}{new}", so_far.text);
    let mut failed = so_far.failed;
    failed.append(&mut rest.failed);
    ModelAnswer {
        text,
        usage,
        latency_ms: so_far.latency_ms.saturating_add(rest.latency_ms),
        cost_usd_micros: so_far.cost_usd_micros.zip(rest.cost_usd_micros).map(|(one, two)| one.saturating_add(two)),
        failed,
        ..rest
    }
}

/// How many bytes at the start of `rest` repeat the end of `so_far`.
fn overlap(so_far: &str, rest: &str) -> usize {
    let most = OVERLAP_BYTES_MAX.min(so_far.len()).min(rest.len());
    let repeats = |bytes: &usize| rest.is_char_boundary(*bytes) && so_far.ends_with(&rest[..*bytes]);
    (OVERLAP_BYTES_MIN..=most).rev().find(repeats).unwrap_or(0)
}

/// Asks, and continues a text that was cut off. If a continuation fails, the text so far is
/// returned as cut off.
pub async fn ask(
    model: &dyn Model,
    prompts: &Prompts,
    request: &ModelRequest,
    hear: &mut dyn Hear,
) -> Result<ModelAnswer, ModelFailure> {
    let mut answer = model.ask(request, hear).await?;
    for time in 1..=CONTINUATIONS_MAX {
        if !can_go_on(request, &answer) {
            break;
        }
        match model.ask(&rest(prompts, request, &answer, time)?, hear).await {
            Ok(rest) => answer = join(answer, rest),
            Err(failure) => {
                tracing::warn!(%failure, "an answer was cut off, and its rest did not come");
                break;
            }
        }
    }
    Ok(answer)
}
