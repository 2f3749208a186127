//! Gates in the wire format: core's row and the stored contents.

use folkmoot_api::wire;
use folkmoot_core::{Digest, Gate};
use folkmoot_engine::{Engine, Error};
use folkmoot_store::GateView;

use crate::error::ApiError;

/// A gate that was just written, without its artifacts' contents. A failure to read the rest must
/// not report the write as failed.
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

/// A gate with its summary, without its artifacts' contents.
pub(crate) async fn with_edited(engine: &Engine, view: GateView) -> Result<wire::Gate, Error> {
    let edited = view.gate.decision().and_then(|decision| decision.edited);
    let mut shown = wire::Gate::new(view.gate, view.summary);
    if let (Some(digest), Some(decision)) = (edited, &mut shown.decision) {
        decision.edited = texts(engine, vec![digest]).await?.pop().flatten();
    }
    Ok(shown)
}

/// Whether more of this gate's texts must be read than a short answer has room for.
pub(crate) fn is_long(view: &GateView) -> bool {
    view.summary.is_none() || view.gate.decision().is_some_and(|decision| decision.edited.is_some())
}

/// A gate that was waited for, without its artifacts' content. Waiting keeps no long summary.
pub(crate) async fn waited_for(engine: &Engine, mut view: GateView) -> Result<wire::Gate, Error> {
    if view.summary.is_none() {
        view.summary = engine.summary(&view.gate).await?;
    }
    with_edited(engine, view).await
}

/// A gate with all contents.
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
