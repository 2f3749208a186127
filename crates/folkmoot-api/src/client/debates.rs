//! Debates.

use std::pin::Pin;

use folkmoot_core::{RunId, gate::Choice};
use futures_util::{Stream, StreamExt};
use reqwest::{Method, header::ACCEPT};

use super::{Client, Error, feed::messages};
use crate::wire::{
    CancelDebate, CodeVersionList, CorrectLesson, Debate, DebateLesson, DebateLessonList, DebateList, DebateListParams,
    DebateProgress, DebateReplay, DebateResults, DebateStarted, DebateTrail, DebateTurnList, DebateTurnQuery,
    DebateVotes, Event, Gate, StartDebate, TrailQuery, Verdict, VersionListParams,
};

/// An item of a debate's stream.
#[derive(Debug)]
pub enum DebateFrame {
    /// An event of the debate.
    Happened(Box<Event>),
    /// The debate is over, or stopped until a person looks at it. This is the last item.
    Ended(Box<Debate>),
}

/// The events of a debate as they happen.
pub type DebateFrames = Pin<Box<dyn Stream<Item = Result<DebateFrame, Error>> + Send>>;

impl Client {
    /// The lessons that debates learnt, newest first.
    pub async fn lessons(&self) -> Result<DebateLessonList, Error> {
        self.get("/v1/lessons", &()).await
    }

    /// Changes the text of a lesson.
    pub async fn correct_lesson(&self, id: &str, correction: &CorrectLesson) -> Result<DebateLesson, Error> {
        self.call(Method::PATCH, &format!("/v1/lessons/{id}"), correction, None).await
    }

    /// Starts a debate.
    pub async fn start_debate(&self, debate: &StartDebate, key: Option<&str>) -> Result<DebateStarted, Error> {
        self.call(Method::POST, "/v1/debates", debate, key).await
    }

    /// One debate.
    pub async fn debate(&self, id: &RunId) -> Result<Debate, Error> {
        self.get(&format!("/v1/debates/{id}"), &()).await
    }

    /// A page of debates.
    pub async fn debates(&self, query: &DebateListParams) -> Result<DebateList, Error> {
        self.get("/v1/debates", query).await
    }

    /// The progress of a debate.
    pub async fn debate_status(&self, id: &RunId) -> Result<DebateProgress, Error> {
        self.get(&format!("/v1/debates/{id}/status"), &()).await
    }

    /// The results of a debate.
    pub async fn debate_results(&self, id: &RunId) -> Result<DebateResults, Error> {
        self.get(&format!("/v1/debates/{id}/results"), &()).await
    }

    /// A page of turns.
    pub async fn debate_turns(&self, id: &RunId, query: &DebateTurnQuery) -> Result<DebateTurnList, Error> {
        self.get(&format!("/v1/debates/{id}/turns"), query).await
    }

    pub async fn debate_votes(&self, id: &RunId) -> Result<DebateVotes, Error> {
        self.get(&format!("/v1/debates/{id}/votes"), &()).await
    }

    /// A page of the versions of a debate's code.
    pub async fn code_versions(&self, id: &RunId, query: &VersionListParams) -> Result<CodeVersionList, Error> {
        self.get(&format!("/v1/debates/{id}/code-versions"), query).await
    }

    /// A page of a debate's audit trail.
    pub async fn debate_trail(&self, id: &RunId, query: &TrailQuery) -> Result<DebateTrail, Error> {
        self.get(&format!("/v1/debates/{id}/audit"), query).await
    }

    /// Runs a debate's workflow again, from the record alone.
    pub async fn replay_debate(&self, id: &RunId) -> Result<DebateReplay, Error> {
        self.get(&format!("/v1/debates/{id}/replay"), &()).await
    }

    /// Decides on the gate at which a debate waits: approve or reject.
    pub async fn decide_debate(
        &self,
        id: &RunId,
        choice: Choice,
        verdict: &Verdict,
        key: Option<&str>,
    ) -> Result<Gate, Error> {
        self.call(Method::POST, &format!("/v1/debates/{id}/{choice}"), verdict, key).await
    }

    /// Ends a debate in any state.
    pub async fn cancel_debate(&self, id: &RunId, why: &CancelDebate) -> Result<Debate, Error> {
        self.json(self.request(Method::DELETE, &format!("/v1/debates/{id}")).query(why).timeout(super::ANSWER_TIMEOUT))
            .await
    }

    /// Every event of a debate after `after`; without `after`, from the beginning.
    pub async fn follow_debate(&self, id: &RunId, after: Option<u64>) -> Result<DebateFrames, Error> {
        let path = format!("/v1/debates/{id}/events");
        let mut request = self.request(Method::GET, &path).header(ACCEPT, "text/event-stream");
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let client = self.clone();
        let frames = messages(self.send(request).await?, self.clone()).filter_map(move |message| {
            let frame = match message {
                Err(error) => Some(Err(error)),
                // A heartbeat has no data.
                Ok(message) => message.data.map(|data| {
                    let frame = match message.event.as_deref() {
                        Some("debate.ended") => serde_json::from_str(&data).map(DebateFrame::Ended),
                        _ => serde_json::from_str(&data).map(DebateFrame::Happened),
                    };
                    frame.map_err(|error| client.foreign(error.to_string()))
                }),
            };
            std::future::ready(frame)
        });
        Ok(Box::pin(frames))
    }
}
