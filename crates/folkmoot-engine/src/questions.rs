//! Reading questions, and waiting for their answers.

use std::time::Duration;

use folkmoot_core::{Principal, Question, QuestionId, Refusal};
use folkmoot_store::{Error, Page, QuestionQuery, QuestionView, Store};

use crate::Engine;

impl Engine {
    /// One question, if `principal` may know of it.
    pub async fn question(&self, principal: &Principal, id: &QuestionId) -> Result<QuestionView, Error> {
        let unknown = || Refusal::UnknownQuestion { question: id.clone() };
        let view = self.0.store.question(id).await?.ok_or_else(unknown)?;
        let run = view.question.run_id.as_ref();
        if view.question.may_be_seen_by(principal) || self.is_own_run(principal, run).await? {
            return Ok(view);
        }
        Err(unknown().into())
    }

    /// A page of the questions that `principal` may know of.
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

    /// What a question asks, unless that was erased.
    pub async fn text_of(&self, question: &Question) -> Result<Option<String>, Error> {
        if let Some(text) = self.0.gate_cache.text(question.text) {
            return Ok(Some(text));
        }
        let found = self.contents(vec![question.text]).await?.into_iter().next().flatten();
        Ok(found.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    /// Waits until the question is closed, or until `timeout` has passed; returns it either way.
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
