//! A model that says what a test tells it to.

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

use crate::{Answer, Failure, FailureKind, Finish, Hear, Model, Request, Usage};

/// What it does at one call.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    Says(&'static str),
    /// Says something and is cut off.
    IsCutOff(&'static str),
    Fails(FailureKind),
    FailsFor(FailureKind, u64),
    /// Says something and fails then.
    Breaks(&'static str, FailureKind),
    /// Says something and never ends.
    Hangs(&'static str),
}

#[derive(Debug, Default)]
pub(crate) struct Scripted {
    lines: Mutex<VecDeque<Line>>,
    pub(crate) asked: Mutex<Vec<Request>>,
    now: AtomicUsize,
    pub(crate) most_at_once: AtomicUsize,
}

impl Scripted {
    pub(crate) fn new(lines: impl IntoIterator<Item = Line>) -> Arc<Self> {
        Arc::new(Self { lines: Mutex::new(lines.into_iter().collect()), ..Self::default() })
    }

    pub(crate) fn calls(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

pub(crate) fn answer(text: &str) -> Answer {
    Answer {
        text: text.to_owned(),
        finish: Finish::Stop,
        usage: Usage { input_tokens: 10, cached_tokens: 0, output_tokens: 5, estimated: false },
        provider: "scripted".to_owned(),
        model: "m".to_owned(),
        version: Some("m-2".to_owned()),
        latency_ms: 1,
        cost_usd_micros: None,
        sent: "{}".to_owned(),
        failed: Vec::new(),
    }
}

impl Model for Scripted {
    fn ask<'a>(&'a self, request: &'a Request, hear: &'a mut dyn Hear) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(request.clone());
            let line = self.lines.lock().unwrap().pop_front().expect("the script has a line for every call");
            let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_at_once.fetch_max(now, Ordering::SeqCst);
            sleep(Duration::from_millis(10)).await;
            let result = match line {
                Line::Says(text) => {
                    hear.piece(text);
                    Ok(answer(text))
                }
                Line::IsCutOff(text) => {
                    hear.piece(text);
                    Ok(Answer { finish: Finish::Length, ..answer(text) })
                }
                Line::Fails(kind) => Err(Failure::new("scripted", kind, "as told")),
                Line::FailsFor(kind, ms) => {
                    Err(Failure::new("scripted", kind, "as told").after(Some(Duration::from_millis(ms))))
                }
                Line::Breaks(text, kind) => {
                    hear.piece(text);
                    Err(Failure::new("scripted", kind, "as told"))
                }
                Line::Hangs(text) => {
                    hear.piece(text);
                    std::future::pending().await
                }
            };
            self.now.fetch_sub(1, Ordering::SeqCst);
            result
        })
    }
}

/// What somebody has heard at the end: all pieces since the answer began, and how often it began
/// again.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard(pub(crate) String, pub(crate) usize);

impl Hear for Heard {
    fn piece(&mut self, text: &str) {
        self.0.push_str(text);
    }

    fn again(&mut self) {
        self.0.clear();
        self.1 += 1;
    }
}
