//! Gates as the wire shows them: core's row, and the content that is kept elsewhere.

use folkmoot_api::wire;
use folkmoot_core::{Digest, Gate};
use folkmoot_engine::{Engine, Error};
use folkmoot_store::GateView;

use crate::error::ApiError;

/// A gate that was just written, without its artifacts' content. It is written whatever happens
/// here: nobody may be told the opposite because the rest of the answer cannot be read.
pub(crate) async fn written(engine: &Engine, gate: Gate) -> Result<wire::Gate, ApiError> {
    let shown = async {
        let summary = engine.summary(&gate).await?;
        with_edited(engine, GateView { gate, summary }).await
    };
    shown.await.map_err(|error: Error| {
        tracing::warn!("a gate was written but cannot be shown: {error}");
        Error::OutcomeUnknown.into()
    })
}

/// A gate that was read with its summary, without its artifacts' content.
pub(crate) async fn with_edited(engine: &Engine, view: GateView) -> Result<wire::Gate, Error> {
    let edited = view.gate.decision().and_then(|decision| decision.edited);
    let mut shown = wire::Gate::new(view.gate, view.summary);
    if let (Some(digest), Some(decision)) = (edited, &mut shown.decision) {
        decision.edited = texts(engine, vec![digest]).await?.pop().flatten();
    }
    Ok(shown)
}

/// A gate with everything that can be looked at.
pub(crate) async fn whole(engine: &Engine, view: GateView) -> Result<wire::Gate, Error> {
    let mut shown = with_edited(engine, view).await?;
    let digests = shown.artifacts.iter().map(|artifact| artifact.digest).collect();
    for (artifact, content) in shown.artifacts.iter_mut().zip(texts(engine, digests).await?) {
        artifact.content = content;
    }
    Ok(shown)
}

async fn texts(engine: &Engine, digests: Vec<Digest>) -> Result<Vec<Option<String>>, Error> {
    let contents = engine.contents(digests).await?;
    Ok(contents.into_iter().map(|bytes| bytes.and_then(|bytes| String::from_utf8(bytes).ok())).collect())
}
