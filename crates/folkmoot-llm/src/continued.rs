//! Texts that were cut off at the longest answer that was asked for: the model is asked for the
//! rest. What is still cut off after a few times says so, and counts as cut off. Answers that must
//! have a shape are not continued: a vendor that holds a model to a schema begins anew each time;
//! [`structured`](crate::structured) asks for them again instead.

use crate::{
    FailureKind, Finish, Hear, Message, Model, ModelAnswer, ModelFailure, ModelRequest, PromptContext, Prompts,
    Speaker, TokenUsage, rehearsal,
};

#[cfg(test)]
mod tests;

/// How often the rest is asked for at most.
pub const CONTINUATIONS_MAX: u32 = 3;

/// The longest stretch that a model repeats before it goes on, and the shortest that is no
/// coincidence.
const OVERLAP_BYTES_MAX: usize = 400;
const OVERLAP_BYTES_MIN: usize = 16;

/// Whether the rest of an answer can be asked for. The rehearsal would begin anew.
pub fn can_go_on(request: &ModelRequest, answer: &ModelAnswer) -> bool {
    answer.finish == Finish::Length && request.schema.is_none() && answer.provider != rehearsal::NAME
}

/// The same conversation, asking for the rest of an answer. `time` counts from 1; each is a call of
/// its own.
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

/// Both as one answer, which took what both took.
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

/// How much of the beginning of `rest` repeats the end of `so_far`.
fn overlap(so_far: &str, rest: &str) -> usize {
    let most = OVERLAP_BYTES_MAX.min(so_far.len()).min(rest.len());
    let repeats = |bytes: &usize| rest.is_char_boundary(*bytes) && so_far.ends_with(&rest[..*bytes]);
    (OVERLAP_BYTES_MIN..=most).rev().find(repeats).unwrap_or(0)
}

/// Asks, and asks for the rest of a text that was cut off. What was heard before a rest that fails
/// is kept, and is cut off.
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
