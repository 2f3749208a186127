//! A model that gives scripted replies, for tests.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::time::sleep;

use crate::{FailureKind, Finish, Hear, Model, ModelAnswer, ModelFailure, ModelRequest, TokenUsage};

#[derive(Clone, Debug)]
pub(crate) enum ScriptedReply {
    Says(&'static str),
    IsCutOff(&'static str),
    Fails(FailureKind),
    FailsFor(FailureKind, u64),
    Breaks(&'static str, FailureKind),
    /// Produces output and never ends.
    Hangs(&'static str),
}

#[derive(Debug, Default)]
pub(crate) struct ScriptedModel {
    lines: Mutex<VecDeque<ScriptedReply>>,
    pub(crate) asked: Mutex<Vec<ModelRequest>>,
    now: AtomicUsize,
    pub(crate) most_at_once: AtomicUsize,
}

impl ScriptedModel {
    pub(crate) fn new(lines: impl IntoIterator<Item = ScriptedReply>) -> Arc<Self> {
        Arc::new(Self { lines: Mutex::new(lines.into_iter().collect()), ..Self::default() })
    }

    pub(crate) fn calls(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

pub(crate) fn answer(text: &str) -> ModelAnswer {
    ModelAnswer {
        text: text.to_owned(),
        finish: Finish::Stop,
        usage: TokenUsage { input_tokens: 10, cached_tokens: 0, output_tokens: 5, estimated: false },
        provider: "scripted".to_owned(),
        model: "m".to_owned(),
        version: Some("m-2".to_owned()),
        latency_ms: 1,
        cost_usd_micros: None,
        sent: "{}".to_owned(),
        failed: Vec::new(),
    }
}

impl Model for ScriptedModel {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelFailure>> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(request.clone());
            let line = self.lines.lock().unwrap().pop_front().expect("the script has a line for every call");
            let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_at_once.fetch_max(now, Ordering::SeqCst);
            sleep(Duration::from_millis(10)).await;
            let result = match line {
                ScriptedReply::Says(text) => {
                    hear.piece(text);
                    Ok(answer(text))
                }
                ScriptedReply::IsCutOff(text) => {
                    hear.piece(text);
                    Ok(ModelAnswer { finish: Finish::Length, ..answer(text) })
                }
                ScriptedReply::Fails(kind) => Err(ModelFailure::new("scripted", kind, "as told")),
                ScriptedReply::FailsFor(kind, ms) => {
                    Err(ModelFailure::new("scripted", kind, "as told").after(Some(Duration::from_millis(ms))))
                }
                ScriptedReply::Breaks(text, kind) => {
                    hear.piece(text);
                    Err(ModelFailure::new("scripted", kind, "as told"))
                }
                ScriptedReply::Hangs(text) => {
                    hear.piece(text);
                    std::future::pending().await
                }
            };
            self.now.fetch_sub(1, Ordering::SeqCst);
            result
        })
    }
}

/// Collects the output, and counts how often it began again.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CollectedText(pub(crate) String, pub(crate) usize);

impl Hear for CollectedText {
    fn piece(&mut self, text: &str) {
        self.0.push_str(text);
    }

    fn again(&mut self) {
        self.0.clear();
        self.1 += 1;
    }
}
