//! Commands: what somebody wants done, and which rows must be read to judge it.

use std::{borrow::Cow, sync::Arc, time::Duration};

use crate::{
    CommandId, Delivery, DeliveryId, Digest, Gate, GateId, Halt, HaltId, Name, Presence, Principal, Question,
    QuestionId, Refusal, Role, RunId, SessionId, Timestamp, TokenId, Webhook, WebhookId,
    clearance::Others,
    debate::record::Correction,
    delivery::{self, Abandonment, Settling, Subscription},
    erase::{ContentStatus, Erasing},
    gate::{Amendment, Extension, GatePolicy, Opening, Verdict},
    halt::Raising,
    journal::{Entry, EntryKey, Fence, Recording, Write},
    question::{self, Asking, Closing},
    quota::{Quota, QuotaUsage},
    run::{self, Claiming, Conclusion, Parking, Run, Starting, Stopping},
    token::{Minting, Token},
    webhook::{NewWebhook, WebhookChange},
};

/// One wish, complete: nothing about it is looked up elsewhere.
#[derive(Clone, Debug)]
pub struct Command {
    /// As the log names it.
    pub id: CommandId,
    /// Who wants it, from the credential.
    pub by: Actor,
    /// The token that was shown for it. `None` where none was: for what Folkmoot and its workflows
    /// do.
    pub token: Option<TokenId>,
    /// How the request says that a person made it. Only a terminal can be claimed.
    pub claims: Option<Presence>,
    /// How a repetition is recognised.
    pub idempotency: Option<Idempotency>,
    /// What they want.
    pub action: Action,
    /// How much they may have open.
    pub quota: Quota,
    /// Who wants to be told of what comes of it, beside those whom a gate names.
    pub subscriptions: Arc<[Subscription]>,
}

/// Who acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// Somebody with a token.
    Principal(Principal),
    /// Folkmoot itself: a timer, the first start.
    System,
}

impl Actor {
    /// As the log writes it.
    pub fn name(&self) -> Name {
        match self {
            Actor::Principal(principal) => principal.name.clone(),
            Actor::System => "system".parse().expect("a plain word is a name"),
        }
    }

    /// Refuses everybody but admins, and Folkmoot itself.
    pub(crate) fn must_be_admin(&self, verb: &'static str) -> Result<(), Refusal> {
        match self {
            Actor::System | Actor::Principal(Principal { role: Role::Admin, .. }) => Ok(()),
            Actor::Principal(Principal { role, .. }) => Err(Refusal::RoleMayNot { role: *role, verb }),
        }
    }
}

/// A repetition is the same principal, route and key; it must then be the same request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// As the caller chose it.
    pub key: String,
    /// Method and path.
    pub route: String,
    /// Of the request's body.
    pub fingerprint: Digest,
}

/// What can be wanted.
#[derive(Clone, Debug)]
pub enum Action {
    /// Opens a gate.
    Open {
        /// What is asked.
        opening: Box<Opening>,
        /// What configuration says.
        policy: GatePolicy,
        /// The bytes behind the digests of the opening's artifacts, in order.
        contents: Vec<Vec<u8>>,
    },
    /// Changes what a gate asks.
    Amend {
        /// What changes.
        amendment: Amendment,
        /// What configuration says.
        policy: GatePolicy,
        /// The new artifacts' bytes, in order.
        contents: Vec<Vec<u8>>,
    },
    /// Decides, or votes.
    Decide(Verdict),
    /// Gives a gate more time.
    Extend(Extension),
    /// Withdraws a gate.
    Cancel { gate: GateId, reason: String },
    /// A gate's timer came round.
    Expire { gate: GateId },
    /// Asks.
    Ask {
        /// What is asked.
        asking: Box<Asking>,
        /// What questions of this type do.
        usual: question::TypeDefaults,
    },
    /// Answers, denies, skips or cancels a question.
    Close(Closing),
    /// The asker of a denied question has heard it, or somebody who decides releases the asker from
    /// it.
    Fetch {
        question: QuestionId,
        /// Why it is released.
        reason: String,
    },
    /// A question's timer came round.
    Lapse { question: QuestionId },
    /// Raises a halt.
    Raise(Raising),
    /// Lifts a halt.
    Lift { halt: HaltId },
    /// Starts a run.
    StartRun(Box<Starting>),
    /// A worker takes a run.
    Claim(Claiming),
    /// Writes to a run's journal.
    Record(Box<Recording>),
    /// A worker has nothing to do for a run.
    Park(Parking),
    /// A run's timer came round.
    Wake { run: RunId },
    /// A worker cannot go on with a run.
    Stop(Stopping),
    /// A run reached its end.
    EndRun {
        run: RunId,
        /// Why it may be said.
        fence: Fence,
        conclusion: Conclusion,
    },
    /// Ends a run, in any state.
    CancelRun { run: RunId, reason: String },
    /// Lets a run that stopped go on.
    ResumeRun { run: RunId },
    /// A node lives.
    Heartbeat {
        node: Name,
        /// For so much longer.
        span: Duration,
        /// No other node can live: the database is this one's alone.
        alone: bool,
    },
    /// A node ends, and lets go of its runs.
    Leave { node: Name },
    /// Has a lesson say something else.
    CorrectLesson(Box<Correction>),
    /// Erases content, for good.
    Erase(Erasing),
    /// Erases content that nothing shows any more but what was decided before then.
    Retire {
        /// Which; what somebody has sent since then stays.
        digests: Vec<Digest>,
        /// As the caller found out.
        decided_before: Timestamp,
    },
    /// Makes a token.
    Mint(Minting),
    /// Ends a token.
    Revoke { token: TokenId },
    /// Makes a webhook.
    CreateWebhook(Box<NewWebhook>),
    /// Changes a webhook.
    ChangeWebhook(Box<WebhookChange>),
    /// Ends a webhook.
    RemoveWebhook { webhook: WebhookId },
    /// A node takes what is to be told to a channel now.
    TakeDeliveries {
        channel: String,
        /// At most so many.
        limit: u32,
        /// For so long nobody else does.
        lease: Duration,
    },
    /// An attempt to deliver has ended.
    SettleDelivery(Box<Settling>),
    /// Channels cannot be told anything: what waits for them dies, some of it at a time.
    AbandonDeliveries(Vec<Abandonment>),
    /// Sends something again.
    Redeliver {
        /// Which delivery.
        delivery: DeliveryId,
    },
}

impl Action {
    /// The word for it in logs and traces; what it is about is not among them.
    pub fn word(&self) -> &'static str {
        match self {
            Action::Open { .. } => "open",
            Action::Amend { .. } => "amend",
            Action::Decide(_) => "decide",
            Action::Extend(_) => "extend",
            Action::Cancel { .. } => "cancel",
            Action::Expire { .. } => "expire",
            Action::Ask { .. } => "ask",
            Action::Close(_) => "close",
            Action::Fetch { .. } => "fetch",
            Action::Lapse { .. } => "lapse",
            Action::Raise(_) => "raise",
            Action::Lift { .. } => "lift",
            Action::StartRun(_) => "start_run",
            Action::Claim(_) => "claim",
            Action::Record(_) => "record",
            Action::Park(_) => "park",
            Action::Wake { .. } => "wake",
            Action::Stop(_) => "stop",
            Action::EndRun { .. } => "end_run",
            Action::CancelRun { .. } => "cancel_run",
            Action::ResumeRun { .. } => "resume_run",
            Action::Heartbeat { .. } => "heartbeat",
            Action::Leave { .. } => "leave",
            Action::Mint(_) => "mint",
            Action::Revoke { .. } => "revoke",
            Action::CorrectLesson(_) => "correct_lesson",
            Action::Erase(_) => "erase",
            Action::Retire { .. } => "retire",
            Action::CreateWebhook(_) => "create_webhook",
            Action::ChangeWebhook(_) => "change_webhook",
            Action::RemoveWebhook { .. } => "remove_webhook",
            Action::TakeDeliveries { .. } => "take_deliveries",
            Action::SettleDelivery(_) => "settle_delivery",
            Action::AbandonDeliveries(_) => "abandon_deliveries",
            Action::Redeliver { .. } => "redeliver",
        }
    }
}

/// The rows that a command needs to be judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs<'a> {
    /// This gate.
    pub gate: Option<&'a GateId>,
    /// The text of that gate's summary too.
    pub summary: bool,
    /// This requester's pending gate with this dedupe key.
    pub pending_duplicate: Option<(&'a Name, &'a str)>,
    /// What this agent has open. More than one beyond its limits need not be counted.
    pub usage: Option<&'a Name>,
    /// This question, and whether anything else holds what it holds.
    pub question: Option<&'a QuestionId>,
    /// This halt, and whether anything else holds what it holds.
    pub halt: Option<&'a HaltId>,
    /// This run, with its wake-ups, whether its node lives, and whether its parent is over.
    pub run: Option<&'a RunId>,
    /// All that is still open of that run.
    pub open: bool,
    /// Of that run's gates those that wait, the last one that stopped it, the last one that is to
    /// come back changed, and the last one that people approved.
    pub gates_of_run: bool,
    /// This line of that run's journal.
    pub entry: Option<&'a EntryKey>,
    /// Whether something holds each of these agents in this session.
    pub held: Option<(&'a [Name], &'a SessionId)>,
    /// What is known of these contents, without the bytes.
    pub kept: Cow<'a, [Digest]>,
    /// The principals of these names, as far as there are any.
    pub principals: Vec<Name>,
    /// This token, which the command is about.
    pub token: Option<&'a TokenId>,
    /// This token, which was shown for the command.
    pub credential: Option<&'a TokenId>,
    /// This webhook.
    pub webhook: Option<&'a WebhookId>,
    /// The webhook that has this name, of those that were not removed.
    pub webhook_named: Option<&'a Name>,
    /// This delivery.
    pub delivery: Option<&'a DeliveryId>,
    /// So many of those that wait for each of these channels, or are under way to it, those first
    /// that are due first.
    pub waiting: Vec<(&'a str, u32)>,
}

/// The rows that were there.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    pub gate: Option<Gate>,
    /// The text of its summary, unless it was erased.
    pub summary: Option<String>,
    /// The pending gate with the same dedupe key.
    pub pending_duplicate: Option<Gate>,
    /// What the agent has open.
    pub usage: QuotaUsage,
    pub question: Option<Question>,
    /// The halt.
    pub halt: Option<Halt>,
    /// What else holds the same agent, session and everyone.
    pub others: Others,
    pub run: Option<Run>,
    /// How often something has changed for it.
    pub wakes: u64,
    /// Until when the node that holds it is known to live.
    pub alive_until: Option<Timestamp>,
    /// Whether the run that started it is over.
    pub parent_over: bool,
    /// Its gates: at least those that wait, the last one that stopped it, and the last one that
    /// people approved.
    pub gates_of_run: Vec<Gate>,
    /// Its questions that wait, or hold somebody because a denial was not fetched, each with
    /// whether anything but these questions holds what it holds.
    pub open_questions: Vec<(Question, Others)>,
    /// The line of its journal.
    pub entry: Option<Entry>,
    /// Of the agents that were asked about, whether one is held by nothing.
    pub free: bool,
    /// The contents that are or were kept, each once.
    pub kept: Vec<ContentStatus>,
    /// The principals that have the names.
    pub principals: Vec<Principal>,
    /// The token that the command is about.
    pub token: Option<Token>,
    /// The token that was shown for the command.
    pub credential: Option<Token>,
    /// The webhook.
    pub webhook: Option<Webhook>,
    /// The delivery.
    pub delivery: Option<Delivery>,
    /// Those that wait for the channels.
    pub deliveries: Vec<Delivery>,
}

impl Command {
    /// Refuses a command whose token was revoked, or is not there. `credential` is that token as
    /// the transaction reads it, so a revocation that was committed before counts, whoever let the
    /// request in. A store also asks this before it answers a repetition.
    pub fn must_be_authentic(&self, credential: Option<&Token>) -> Result<(), Refusal> {
        let stands = |token: &Token| token.revoked_at.is_none();
        match self.token {
            Some(_) if !credential.is_some_and(stands) => Err(Refusal::Unauthenticated),
            Some(_) | None => Ok(()),
        }
    }

    /// What must be read, and locked, before this command is judged.
    pub fn needs(&self) -> Needs<'_> {
        let none = Needs { credential: self.token.as_ref(), ..Needs::default() };
        match &self.action {
            Action::Open { opening, .. } => {
                let pending_duplicate = match (&self.by, &opening.dedupe_key) {
                    (Actor::Principal(by), Some(key)) => Some((&by.name, key.as_str())),
                    (Actor::Principal(_) | Actor::System, _) => None,
                };
                let usage = self.quota.of_gates(&self.by);
                let (kept, principals) = (shown_by(opening), named_by(opening));
                Needs { pending_duplicate, usage, run: opening.run_id.as_ref(), kept, principals, ..none }
            }
            Action::Amend { amendment, .. } => {
                let artifacts = amendment.artifacts.iter().flatten().map(|artifact| artifact.digest);
                let kept = amendment.summary.iter().map(|text| Digest::of(text.as_bytes())).chain(artifacts).collect();
                let usage = self.quota.of_gates(&self.by);
                Needs { gate: Some(&amendment.gate), summary: true, usage, kept, ..none }
            }
            Action::Decide(verdict) => {
                let kept = verdict.edited.iter().map(|text| Digest::of(text.as_bytes())).collect();
                Needs { gate: Some(&verdict.gate), kept, ..none }
            }
            Action::Extend(extension) => Needs { gate: Some(&extension.gate), ..none },
            Action::Cancel { gate, .. } | Action::Expire { gate } => Needs { gate: Some(gate), ..none },
            Action::Ask { asking, .. } => {
                let usage = self.quota.of_questions(&self.by);
                let principals = asking.agent_id.iter().cloned().collect();
                Needs { usage, run: asking.run_id.as_ref(), kept: shown_to_ask(asking), principals, ..none }
            }
            Action::Raise(_) | Action::Heartbeat { .. } | Action::Leave { .. } => none,
            Action::StartRun(starting) => {
                let usage = self.quota.of_runs(&self.by).filter(|_| starting.workflow.is_some());
                Needs { run: Some(&starting.id), usage, principals: vec![run::as_agent(&starting.id)], ..none }
            }
            Action::Claim(Claiming { run, .. }) => Needs { run: Some(run), ..none },
            Action::Record(recording) => {
                let kept = match &recording.write {
                    Write::Open { opening, .. } => shown_by(opening),
                    Write::Ask { asking, .. } => shown_to_ask(asking),
                    // What a run records is kept, whatever was erased elsewhere.
                    Write::Begin
                    | Write::Done(_)
                    | Write::Failing(..)
                    | Write::Failed(_)
                    | Write::Sleep(_)
                    | Write::Start(_)
                    | Write::Emit { .. } => Cow::default(),
                };
                // Whom a workflow names was looked at when it was started, or is its code's to say.
                let principals = match recording.fence {
                    Fence::Owner => recording.entry.agent_id.iter().cloned().collect(),
                    Fence::Epoch(_) => Vec::new(),
                };
                let gates_of_run = recording.waits_for_gates();
                let (run, entry) = (Some(&recording.run), Some(&recording.entry.key));
                Needs { run, entry, gates_of_run, kept, principals, ..none }
            }
            Action::Park(parking) => {
                let held = (!parking.held.is_empty()).then_some((parking.held.as_slice(), &parking.session_id));
                Needs { run: Some(&parking.run), held, ..none }
            }
            Action::Wake { run } | Action::Stop(Stopping { run, .. }) | Action::ResumeRun { run } => {
                Needs { run: Some(run), ..none }
            }
            Action::EndRun { run, .. } | Action::CancelRun { run, .. } => {
                Needs { run: Some(run), open: true, gates_of_run: true, ..none }
            }
            Action::Close(Closing { question, .. }) | Action::Fetch { question, .. } | Action::Lapse { question } => {
                Needs { question: Some(question), ..none }
            }
            Action::Lift { halt } => Needs { halt: Some(halt), ..none },
            Action::CorrectLesson(correction) => {
                let kept = vec![Digest::of(correction.text.as_bytes())].into();
                Needs { run: Some(&correction.lesson.run_id), kept, ..none }
            }
            Action::Erase(Erasing { digests, .. }) | Action::Retire { digests, .. } => {
                Needs { kept: digests.into(), ..none }
            }
            Action::Mint(minting) => Needs { principals: vec![minting.principal.name.clone()], ..none },
            Action::Revoke { token } => Needs { token: Some(token), ..none },
            Action::CreateWebhook(new) => Needs { webhook_named: Some(&new.name), ..none },
            Action::ChangeWebhook(change) => Needs { webhook: Some(&change.webhook), ..none },
            Action::RemoveWebhook { webhook } => Needs { webhook: Some(webhook), ..none },
            Action::TakeDeliveries { channel, limit, .. } => Needs { waiting: vec![(channel, *limit)], ..none },
            Action::AbandonDeliveries(abandonments) => {
                let most = delivery::abandoned_of_each(abandonments.len());
                Needs { waiting: abandonments.iter().map(|lost| (lost.channel.as_str(), most)).collect(), ..none }
            }
            Action::SettleDelivery(settling) => Needs { delivery: Some(&settling.delivery), ..none },
            Action::Redeliver { delivery } => Needs { delivery: Some(delivery), ..none },
        }
    }
}

/// What a gate is to show, by its digests.
fn shown_by(opening: &Opening) -> Cow<'static, [Digest]> {
    let artifacts = opening.artifacts.iter().map(|artifact| artifact.digest);
    std::iter::once(Digest::of(opening.summary.as_bytes())).chain(artifacts).collect()
}

/// Whom a gate names: those who are to decide, and for whom it is asked.
fn named_by(opening: &Opening) -> Vec<Name> {
    let run = opening.run_id.as_ref().map(run::as_agent);
    opening.reviewers.iter().flatten().chain(&opening.on_behalf_of).cloned().chain(run).collect()
}

fn shown_to_ask(asking: &Asking) -> Cow<'static, [Digest]> {
    vec![Digest::of(asking.text.as_bytes())].into()
}
