//! Questions.

use std::time::Duration;

use folkmoot_core::QuestionId;
use reqwest::Method;

use super::{Client, Error, patiently};
use crate::wire::{Answer, Ask, Question, QuestionList, QuestionListParams, WithReason};

impl Client {
    /// Asks a question.
    pub async fn ask(&self, question: &Ask, idempotency_key: Option<&str>) -> Result<Question, Error> {
        self.call(Method::POST, "/v1/questions", question, idempotency_key).await
    }

    /// One question.
    pub async fn question(&self, id: &QuestionId) -> Result<Question, Error> {
        self.get(&format!("/v1/questions/{id}"), &()).await
    }

    /// Ends the hold of a denial: its asker confirms that it has read the denial, or a reviewer
    /// releases the asker. Afterwards the question no longer halts the asker.
    pub async fn acknowledge(&self, id: &QuestionId, why: &WithReason) -> Result<Question, Error> {
        self.call(Method::POST, &format!("/v1/questions/{id}/acknowledge"), why, None).await
    }

    /// A page of questions.
    pub async fn questions(&self, query: &QuestionListParams) -> Result<QuestionList, Error> {
        self.get("/v1/questions", query).await
    }

    /// Answers a question.
    pub async fn answer(
        &self,
        id: &QuestionId,
        answer: &Answer,
        idempotency_key: Option<&str>,
    ) -> Result<Question, Error> {
        self.call(Method::POST, &format!("/v1/questions/{id}/answer"), answer, idempotency_key).await
    }

    /// Denies a question.
    pub async fn deny(
        &self,
        id: &QuestionId,
        why: &WithReason,
        idempotency_key: Option<&str>,
    ) -> Result<Question, Error> {
        self.call(Method::POST, &format!("/v1/questions/{id}/deny"), why, idempotency_key).await
    }

    /// Closes a question without an answer.
    pub async fn skip(
        &self,
        id: &QuestionId,
        why: &WithReason,
        idempotency_key: Option<&str>,
    ) -> Result<Question, Error> {
        self.call(Method::POST, &format!("/v1/questions/{id}/skip"), why, idempotency_key).await
    }

    /// Cancels a question.
    pub async fn cancel_question(
        &self,
        id: &QuestionId,
        why: &WithReason,
        idempotency_key: Option<&str>,
    ) -> Result<Question, Error> {
        self.call(Method::POST, &format!("/v1/questions/{id}/cancel"), why, idempotency_key).await
    }

    /// Waits for an answer for at most `timeout` (the server allows a minute), then returns the
    /// question, closed or not.
    pub async fn wait_question(&self, id: &QuestionId, timeout: Duration) -> Result<Question, Error> {
        self.wait(&format!("/v1/questions/{id}/wait"), timeout).await
    }

    /// Waits until the question is closed, also across restarts of the server. `patience` is how
    /// long a server that cannot be reached is tried again.
    pub async fn closed(&self, id: &QuestionId, patience: Duration) -> Result<Question, Error> {
        patiently(patience, |round| async move {
            let question = self.wait_question(id, round).await?;
            Ok(question.closed.is_some().then_some(question))
        })
        .await
    }
}
