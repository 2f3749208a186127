//! Gates in a workflow.

use folkmoot_core::{
    Digest, GateId, Name, Phase, Timeout,
    gate::{Choice, Decision, DecisionWord, GateKind, NewGate, Next, OnTimeout, Risk, SelfReview},
    journal::{EntryKind, EntryState, Waits, Write},
};
use folkmoot_store::{GateView, Store};

use super::{Ctx, digest_of, pass::Wait};
use crate::{ArtifactInput, Engine, Error, Failure};

/// How many more gates are opened if a timeout means `retry`.
const RETRIES: u32 = 3;

/// A gate that a workflow opens. Fields that are not set come from the policy.
#[derive(Clone, Debug)]
pub struct GateSpec {
    title: Option<String>,
    summary: String,
    phase: Option<String>,
    kind: GateKind,
    risk: Risk,
    artifacts: Vec<ArtifactInput>,
    allowed: Option<Vec<Choice>>,
    timeout: Option<Timeout>,
    on_timeout: Option<OnTimeout>,
    reviewers: Option<Vec<Name>>,
    quorum: Option<u32>,
    reject_quorum: Option<u32>,
    self_review: Option<SelfReview>,
    notification_channels: Vec<String>,
    on_behalf_of: Option<Name>,
    alone: Option<String>,
}

impl GateSpec {
    /// A gate with this summary, to be approved or rejected.
    pub fn new(summary: impl Into<String>) -> Self {
        Self {
            title: None,
            summary: summary.into(),
            phase: None,
            kind: GateKind::Custom,
            risk: Risk::Medium,
            artifacts: Vec::new(),
            allowed: None,
            timeout: None,
            on_timeout: None,
            reviewers: None,
            quorum: None,
            reject_quorum: None,
            self_review: None,
            notification_channels: Vec::new(),
            on_behalf_of: None,
            alone: None,
        }
    }

    /// Approves the gate at once, with this reason, and asks nobody. The log still records it. Use
    /// this only for gates that the node's configuration switches off, never because of a run's
    /// input.
    #[must_use]
    pub fn approved_alone(mut self, reason: impl Into<String>) -> Self {
        self.alone = Some(reason.into());
        self
    }

    /// One line; by default the first line of the summary.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// The part of the run that the gate belongs to; by default its key.
    #[must_use]
    pub fn phase(mut self, phase: &Phase) -> Self {
        self.phase = Some(phase.to_string());
        self
    }

    /// The kind of request.
    #[must_use]
    pub fn kind(mut self, kind: GateKind) -> Self {
        self.kind = kind;
        self
    }

    /// How much is at stake.
    #[must_use]
    pub fn risk(mut self, risk: Risk) -> Self {
        self.risk = risk;
        self
    }

    /// Adds content that reviewers see.
    #[must_use]
    pub fn artifact(
        mut self,
        name: impl Into<String>,
        media_type: impl Into<String>,
        content: impl Into<Vec<u8>>,
    ) -> Self {
        let (name, media_type, content) = (name.into(), media_type.into(), content.into());
        self.artifacts.push(ArtifactInput { name, media_type, content });
        self
    }

    /// What reviewers can decide.
    #[must_use]
    pub fn allow(mut self, choices: impl IntoIterator<Item = Choice>) -> Self {
        self.allowed = Some(choices.into_iter().collect());
        self
    }

    /// How long the gate waits for a decision.
    #[must_use]
    pub fn timeout(mut self, timeout: impl Into<Timeout>) -> Self {
        self.timeout = Some(timeout.into());
        self
    }

    #[must_use]
    pub fn on_timeout(mut self, on_timeout: OnTimeout) -> Self {
        self.on_timeout = Some(on_timeout);
        self
    }

    #[must_use]
    pub fn reviewers(mut self, reviewers: impl IntoIterator<Item = Name>) -> Self {
        self.reviewers = Some(reviewers.into_iter().collect());
        self
    }

    /// The number of approvals that it takes, and of rejections that close the gate.
    #[must_use]
    pub fn quorum(mut self, approvals: u32, rejections: u32) -> Self {
        (self.quorum, self.reject_quorum) = (Some(approvals), Some(rejections));
        self
    }

    /// Whether the run's initiator may decide.
    #[must_use]
    pub fn self_review(mut self, self_review: SelfReview) -> Self {
        self.self_review = Some(self_review);
        self
    }

    /// Channels to notify, besides those that the policy names.
    #[must_use]
    pub fn notify(mut self, channel: impl Into<String>) -> Self {
        self.notification_channels.push(channel.into());
        self
    }

    /// The agent for which the gate is opened.
    #[must_use]
    pub fn on_behalf_of(mut self, agent: Name) -> Self {
        self.on_behalf_of = Some(agent);
        self
    }

    fn new_gate(&self, ctx: &Ctx, key: &str) -> NewGate {
        let phase = self.phase.as_deref().unwrap_or(key).parse();
        let phase: Phase = phase.unwrap_or_else(|_| "custom".parse().expect("a plain word is a phase"));
        let run = &ctx.pass.run.start;
        NewGate {
            id: ctx.pass.engine.new_gate_id(Some(&run.id), &phase),
            run_id: Some(run.id.clone()),
            session_id: Some(run.session_id.clone()),
            title: self.title.clone(),
            summary: self.summary.clone(),
            phase,
            kind: self.kind,
            risk: self.risk,
            artifacts: self.artifacts.iter().map(ArtifactInput::reference).collect(),
            allowed: self.allowed.clone(),
            timeout: self.timeout,
            on_timeout: self.on_timeout,
            reviewers: self.reviewers.clone(),
            quorum: self.quorum,
            reject_quorum: self.reject_quorum,
            self_review: self.self_review,
            dedupe_key: None,
            notification_channels: self.notification_channels.clone(),
            on_behalf_of: self.on_behalf_of.clone(),
        }
    }
}

/// The decision on a gate, and the text that the reviewer edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateOutcome {
    pub decision: Decision,
    /// The reviewer's replacement text, after an adjustment.
    pub edited: Option<String>,
}

impl GateOutcome {
    /// Whether the run may go on past the gate.
    pub fn may_proceed(&self) -> bool {
        self.decision.outcome == Next::Proceed
    }
}

impl Ctx {
    /// Opens a gate and waits until it is decided. If a timeout means `retry`, another gate is
    /// opened, at most three times.
    pub async fn gate(&self, key: impl AsRef<str>, request: GateSpec) -> Result<GateOutcome, Failure> {
        let ordinal = self.calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        self.gate_at(key.as_ref(), ordinal, request).await
    }

    /// Like [`Ctx::gate`], for a gate of the whole run that any branch may reach first. Its key
    /// does not include the branch, and it has no place in the order of calls. A pass can use the
    /// key only once, so branches that wait for the gate must share this future. The request must
    /// not depend on which branch came first.
    pub async fn gate_of_run(&self, key: impl AsRef<str>, request: GateSpec) -> Result<GateOutcome, Failure> {
        let run = Self { branch: "".into(), ..self.clone() };
        run.gate_at(key.as_ref(), 0, request).await
    }

    pub(super) async fn gate_at(&self, key: &str, ordinal: u32, request: GateSpec) -> Result<GateOutcome, Failure> {
        let mut decided = self.one_gate(key, ordinal, &request).await?;
        for retry in 1..=RETRIES {
            // An adjustment has the outcome `retry` too, but the workflow must change the content
            // first.
            let timed_out = decided.decision.decision == DecisionWord::TimedOut;
            if !timed_out || decided.decision.outcome != Next::Retry {
                break;
            }
            decided = self.one_gate(&format!("{key}#{}", retry + 1), 0, &request).await?;
        }
        Ok(decided)
    }

    async fn one_gate(&self, key: &str, ordinal: u32, request: &GateSpec) -> Result<GateOutcome, Failure> {
        let artifacts: Vec<_> = request.artifacts.iter().map(|a| (&a.name, &a.media_type, &a.content)).collect();
        let input = digest_of(&(&request.title, &request.summary, artifacts));
        let (call, known) = self.call_at(EntryKind::Gate, key, ordinal, input).await;
        let entry = match known {
            Some(line) => line.entry,
            None => {
                let write = Write::Open {
                    new_gate: Box::new(request.new_gate(self, key)),
                    policy: self.pass.engine.0.policy.clone(),
                    contents: request.artifacts.iter().map(|artifact| artifact.content.clone()).collect(),
                    alone: request.alone.clone(),
                };
                let opened = self.pass.record(&call, None, self.pass.engine.now(), write).await?;
                self.pass.engine.0.deadlines.look();
                opened
            }
        };
        match &entry.state {
            EntryState::Waiting(Waits::Gate(id)) => self.decided(id).await,
            EntryState::Failed { error } => Err(Failure::of(error.clone())),
            _ => Err(Failure::new("invalid_journal", format!("{} is recorded as no gate", entry.key))),
        }
    }

    async fn decided(&self, id: &GateId) -> Result<GateOutcome, Failure> {
        let view: GateView = self
            .until(id.as_str(), |engine| {
                let id = id.clone();
                async move { Ok(engine.0.store.gate(&id).await?.filter(|view| view.gate.decision().is_some())) }
            })
            .await;
        let gate = view.gate;
        let decision = gate.decision().expect("it was waited for until it had one").clone();
        let edited = match decision.edited {
            // Fails if the text was erased. Otherwise the adjustment would seem to change nothing.
            Some(digest) => {
                let erased = || Failure::new("erased", format!("the text that was decided on gate {id} was erased"));
                Some(self.text_of(digest).await.ok_or_else(erased)?)
            }
            None => None,
        };
        Ok(GateOutcome { decision, edited })
    }

    /// The text behind a digest, unless it was erased.
    pub(super) async fn text_of(&self, digest: Digest) -> Option<String> {
        self.pass.read(move |engine| async move { engine.recorded(Some(digest)).await }).await
    }

    /// Waits until `look` returns something. It is called again after events of this stream.
    pub(super) async fn until<T, F>(&self, stream: &str, look: impl Fn(Engine) -> F) -> T
    where
        F: Future<Output = Result<Option<T>, Error>>,
    {
        let engine = &self.pass.engine;
        // Before the first look, so that no later event is missed.
        let mut listening = engine.0.waiters.listen(stream);
        loop {
            let mut again = self.pass.next_look();
            if let Some(found) = self.pass.read(&look).await {
                return found;
            }
            let _waiting = self.pass.waiting(Wait::Wake);
            tokio::select! {
                biased;
                // An error means that the pass has ended, and this future with it.
                _ = again.changed() => {}
                _ = listening.next() => {}
            }
        }
    }
}
