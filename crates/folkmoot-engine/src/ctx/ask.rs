//! Questions in a workflow.

use folkmoot_core::{
    Name, Question, QuestionId, Scope, Timeout,
    journal::{EntryKind, EntryState, Waits, Write},
    question::{self, Closure, NewQuestion, Priority, QuestionStatus, QuestionType},
};
use folkmoot_store::Store;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Ctx, digest_of};
use crate::Failure;

/// A question that a workflow asks. Fields that are not set come from the policy.
#[derive(Clone, Debug)]
pub struct QuestionSpec {
    question_type: QuestionType,
    text: String,
    options: Vec<String>,
    default: Option<Value>,
    timeout: Option<Timeout>,
    halts: Option<Scope>,
    priority: Option<Priority>,
    agent: Option<Name>,
}

impl QuestionSpec {
    /// A question of this type. The type says whom it halts while it is open.
    pub fn new(question_type: QuestionType, text: impl Into<String>) -> Self {
        Self {
            question_type,
            text: text.into(),
            options: Vec::new(),
            default: None,
            timeout: None,
            halts: None,
            priority: None,
            agent: None,
        }
    }

    /// The possible answers; by default any.
    #[must_use]
    pub fn options(mut self, options: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.options = options.into_iter().map(Into::into).collect();
        self
    }

    /// The answer that a timeout gives.
    #[must_use]
    pub fn default(mut self, answer: impl Into<Value>) -> Self {
        self.default = Some(answer.into());
        self
    }

    /// The time until its timeout, or between reminders.
    #[must_use]
    pub fn timeout(mut self, timeout: impl Into<Timeout>) -> Self {
        self.timeout = Some(timeout.into());
        self
    }

    /// Halts more than its type does.
    #[must_use]
    pub fn halts(mut self, scope: Scope) -> Self {
        self.halts = Some(scope);
        self
    }

    /// Questions of a higher priority are listed first.
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// The agent that asks, and that the question halts; by default the run's own agent.
    #[must_use]
    pub fn agent(mut self, agent: Name) -> Self {
        self.agent = Some(agent);
        self
    }
}

/// How a question was closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionOutcome {
    /// How it was closed, by whom, when and why.
    pub closure: Closure,
}

impl QuestionOutcome {
    /// Whether there is an answer: somebody gave one, or a timeout applied the default. False if
    /// the question was denied, skipped or cancelled.
    pub fn is_given(&self) -> bool {
        self.closure.status != QuestionStatus::Denied && self.closure.answer.is_some()
    }

    /// The answer as the type that the workflow expects.
    pub fn get<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let Closure { status, reason, by, .. } = &self.closure;
        let answer = self.closure.answer.clone().filter(|_| self.is_given());
        let none = || Failure::new("no_answer", format!("the question was {status} by {by}: {reason}"));
        let misfit = |error| Failure::new("invalid_answer", format!("the answer does not fit: {error}"));
        serde_json::from_value(answer.ok_or_else(none)?).map_err(misfit)
    }
}

impl Ctx {
    /// Asks a question, and waits until it is answered, denied, skipped or cancelled, or expires.
    pub async fn ask(&self, key: impl AsRef<str>, ask: QuestionSpec) -> Result<QuestionOutcome, Failure> {
        let input = digest_of(&(ask.question_type, &ask.text, &ask.options));
        let (call, known) = self.call(EntryKind::Question, key.as_ref(), input).await;
        let engine = &self.pass.engine;
        let entry = match known {
            Some(line) => line.entry,
            None => {
                let defaults = engine.0.questions.defaults(ask.question_type);
                let write = Write::Ask { new_question: Box::new(self.new_question(&ask)), defaults };
                let asked = self.pass.record(&call, ask.agent.as_ref(), engine.now(), write).await?;
                engine.0.deadlines.look();
                asked
            }
        };
        match &entry.state {
            EntryState::Waiting(Waits::Question(id)) => self.answer(id).await,
            EntryState::Failed { error } => Err(Failure::of(error.clone())),
            _ => Err(Failure::new("invalid_journal", format!("{} is recorded as no question", entry.key))),
        }
    }

    fn new_question(&self, ask: &QuestionSpec) -> NewQuestion {
        let run = &self.pass.run;
        NewQuestion {
            id: self.pass.engine.new_question_id(),
            agent_id: Some(ask.agent.as_ref().map_or_else(|| run.agent(), |agent| run.agent_named(agent))),
            run_id: Some(run.start.id.clone()),
            session_id: Some(run.start.session_id.clone()),
            question_type: ask.question_type,
            text: ask.text.clone(),
            options: ask.options.clone(),
            default: ask.default.clone(),
            timeout: ask.timeout,
            halts: ask.halts,
            priority: ask.priority,
        }
    }

    async fn answer(&self, id: &QuestionId) -> Result<QuestionOutcome, Failure> {
        let question: Question = self
            .until(id.as_str(), |engine| {
                let id = id.clone();
                async move {
                    let found = engine.0.store.question(&id).await?.map(|view| view.question);
                    Ok(found.filter(|question| question.closure().is_some()))
                }
            })
            .await;
        let mut closure = question.closure().expect("it was waited for until it had one").clone();
        if closure.status == QuestionStatus::Denied && closure.fetched_at.is_none() {
            // The workflow has received the denial, so it must no longer hold the asker.
            let _busy = self.pass.busy();
            let fetched =
                self.pass.persist(question::Action::Fetch { question: id.clone(), reason: String::new() }).await;
            fetched.map_err(|refusal| Failure::new(refusal.code(), refusal.to_string()))?;
        }
        // The first pass sees the denial before it is fetched. Cleared, so that every pass gets the
        // same answer.
        closure.fetched_at = None;
        Ok(QuestionOutcome { closure })
    }
}
