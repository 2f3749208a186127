//! Reading questions, and waiting for their answers.

use std::time::Duration;

use folkmoot_core::{Name, Principal, Question, QuestionId, Refusal, question::QuestionStatus};
use folkmoot_store::{Cursor, Error, Page, QuestionQuery, QuestionView, Store};

use crate::{Engine, interleave::interleave};

impl Engine {
    /// One question, if `principal` may see it.
    pub async fn question(&self, principal: &Principal, id: &QuestionId) -> Result<QuestionView, Error> {
        let unknown = || Refusal::UnknownQuestion { question: id.clone() };
        let view = self.0.store.question(id).await?.ok_or_else(unknown)?;
        let run = view.question.run_id.as_ref();
        if view.question.may_be_seen_by(principal) || self.is_own_run(principal, run).await? {
            return Ok(view);
        }
        Err(unknown().into())
    }

    /// A page of the questions that `principal` may see.
    pub async fn questions(
        &self,
        principal: &Principal,
        mut query: QuestionQuery,
    ) -> Result<Page<QuestionView>, Error> {
        if !principal.role.sees_everything() && !self.is_own_run(principal, query.run.as_ref()).await? {
            query.concerns = Some(principal.name.clone());
        }
        self.0.store.questions(query).await
    }

    /// Pending questions, alternating between askers, like
    /// [`interleaved_gates`](Self::interleaved_gates).
    pub async fn interleaved_questions(
        &self,
        principal: &Principal,
        limit: u32,
        brief: bool,
    ) -> Result<Vec<QuestionView>, Error> {
        let of = |asker: Name, limit: u32, after: Option<Cursor>| {
            let (status, asked_by) = (Some(QuestionStatus::Pending), Some(asker));
            self.questions(
                principal,
                QuestionQuery { status, asked_by, brief, after, limit, ..QuestionQuery::default() },
            )
        };
        let urgency = |QuestionView { question, .. }: &QuestionView| {
            (std::cmp::Reverse(question.priority), question.due.as_micros(), question.asked_at, question.id.clone())
        };
        interleave(self.0.store.askers(limit).await?, limit, of, urgency).await
    }

    /// The text of a question, unless it was erased.
    pub async fn text_of(&self, question: &Question) -> Result<Option<String>, Error> {
        if let Some(text) = self.0.gate_cache.text(question.text) {
            return Ok(Some(text));
        }
        let found = self.contents(vec![question.text]).await?.into_iter().next().flatten();
        Ok(found.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    /// Waits until the question is closed or `timeout` has passed, and returns it.
    pub async fn wait_for_answer(
        &self,
        principal: &Principal,
        id: &QuestionId,
        timeout: Duration,
    ) -> Result<QuestionView, Error> {
        let mut over = self.0.host.sleep(timeout);
        // Registered before reading: what is committed after the read is delivered.
        let mut events = self.0.waiters.listen(id.as_str());
        loop {
            let view = self.question(principal, id).await?;
            if view.question.closure().is_some() {
                return Ok(view);
            }
            loop {
                let event = tokio::select! {
                    biased;
                    event = events.next() => event,
                    () = &mut over => return Ok(view),
                };
                if event.is_none_or(|event| event.fact.stream_seq > view.question.seq) {
                    break;
                }
            }
        }
    }
}
