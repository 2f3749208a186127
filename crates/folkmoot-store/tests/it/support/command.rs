//! Commands in one line each.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use folkmoot_core::{
    Action, Actor, Command, Digest, Gate, GateId, Idempotency, Name, Outcome, Principal, Refusal, Role, Timeout,
    Timestamp, TokenId,
    gate::{self, Amendment, ArtifactRef, Choice, Extension, GateKind, GatePolicy, NewGate, Review, Risk},
    token::{self, NewToken, Token},
};
use folkmoot_store::{Error, Store};

/// When most tests take place.
pub(crate) fn noon() -> Timestamp {
    Timestamp::from_micros(1_790_000_000_000_000)
}

pub(crate) fn minutes(n: u64) -> Duration {
    Duration::from_secs(60 * n)
}

pub(crate) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

pub(crate) fn id(text: &str) -> GateId {
    text.parse().unwrap()
}

fn principal(text: &str, role: Role) -> Actor {
    Actor::Principal(Principal::new(name(text), role))
}

pub(crate) fn agent(text: &str) -> Actor {
    principal(text, Role::Agent)
}

pub(crate) fn reviewer(text: &str) -> Actor {
    principal(text, Role::Reviewer)
}

pub(crate) fn admin(text: &str) -> Actor {
    principal(text, Role::Admin)
}

/// Unique in this process; tests that share a database share no ids.
pub(crate) fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

pub(crate) fn command(by: Actor, action: impl Into<Action>) -> Command {
    let id = format!("cmd-{}", unique()).parse().unwrap();
    Command {
        id,
        by,
        token: None,
        claims: None,
        idempotency: None,
        action: action.into(),
        quota: Default::default(),
        subscriptions: Default::default(),
    }
}

/// The same command, to be recognised when it comes again.
pub(crate) fn keyed(mut command: Command, route: &str, key: &str, body: &str) -> Command {
    let fingerprint = Digest::of(body.as_bytes());
    command.idempotency = Some(Idempotency { key: key.to_owned(), route: route.to_owned(), fingerprint });
    command
}

/// A gate that says nothing special.
pub(crate) fn new_gate() -> NewGate {
    NewGate {
        id: id(&format!("gate-{:06}", unique())),
        run_id: None,
        session_id: None,
        title: None,
        summary: "Deploy 1.4.2 to production".to_owned(),
        phase: "merge".parse().unwrap(),
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
        dedupe_key: None,
        notification_channels: Vec::new(),
        on_behalf_of: None,
    }
}

pub(crate) fn open(by: Actor, new_gate: NewGate) -> Command {
    open_with(by, new_gate, Vec::new())
}

/// Opens a gate with artifacts of these names and contents.
pub(crate) fn open_with(by: Actor, mut new_gate: NewGate, artifacts: Vec<(&str, &[u8])>) -> Command {
    new_gate.artifacts = artifacts
        .iter()
        .map(|(name, content)| ArtifactRef {
            name: (*name).to_owned(),
            media_type: "text/plain".to_owned(),
            digest: Digest::of(content),
            bytes: content.len() as u64,
        })
        .collect();
    let contents = artifacts.into_iter().map(|(_, content)| content.to_vec()).collect();
    command(by, gate::Action::Open { new_gate: Box::new(new_gate), policy: GatePolicy::default(), contents })
}

pub(crate) fn decide(gate: &GateId, by: Actor, choice: Choice) -> Command {
    command(by, gate::Action::Decide(review(gate, choice)))
}

pub(crate) fn review(gate: &GateId, choice: Choice) -> Review {
    Review {
        gate: gate.clone(),
        choice,
        reason: "looked at it".to_owned(),
        feedback: None,
        edited: None,
        digest: None,
        force: false,
        reviewer: None,
    }
}

pub(crate) fn approve(gate: &GateId, by: &str) -> Command {
    decide(gate, reviewer(by), Choice::Approve)
}

/// As [`approve`], of exactly what `gate` shows.
pub(crate) fn approve_seen(gate: &Gate, by: &str) -> Command {
    let seen = Review { digest: Some(gate.digest), ..review(&gate.id, Choice::Approve) };
    command(reviewer(by), gate::Action::Decide(seen))
}

pub(crate) fn reject(gate: &GateId, by: &str) -> Command {
    decide(gate, reviewer(by), Choice::Reject)
}

pub(crate) fn amendment(gate: &GateId) -> Amendment {
    Amendment { gate: gate.clone(), title: None, summary: None, risk: None, artifacts: None }
}

pub(crate) fn amend(amendment: Amendment, by: &str) -> Command {
    command(agent(by), gate::Action::Amend { amendment, policy: GatePolicy::default(), contents: Vec::new() })
}

pub(crate) fn retitle(gate: &GateId, title: &str) -> Command {
    amend(Amendment { title: Some(title.to_owned()), ..amendment(gate) }, "agent-a")
}

pub(crate) fn extend(gate: &GateId, timeout: Timeout) -> Command {
    command(agent("agent-a"), gate::Action::Extend(Extension { gate: gate.clone(), timeout }))
}

pub(crate) fn cancel(gate: &GateId, by: Actor) -> Command {
    command(by, gate::Action::Cancel { gate: gate.clone(), reason: "not needed any more".to_owned() })
}

pub(crate) fn expire(gate: &GateId) -> Command {
    command(Actor::System, gate::Action::TimerDue { gate: gate.clone() })
}

pub(crate) fn mint(token: &str, holder: &str, role: Role, secret: &str) -> Command {
    let principal = Principal::new(name(holder), role);
    let hash = *Digest::of(secret.as_bytes()).as_bytes();
    command(
        admin("root"),
        token::Action::Mint(NewToken { id: token.parse().unwrap(), principal, hash, kind: Default::default() }),
    )
}

pub(crate) fn revoke(token: &str) -> Command {
    let token: TokenId = token.parse().unwrap();
    command(admin("root"), token::Action::Revoke { token })
}

/// Opens a gate that says nothing special, as `agent-a`.
pub(crate) async fn an_open_gate(store: &impl Store) -> Gate {
    opened(store, new_gate()).await
}

pub(crate) async fn opened(store: &impl Store, new_gate: NewGate) -> Gate {
    gate_of(store.execute(open(agent("agent-a"), new_gate)).await)
}

#[track_caller]
pub(crate) fn gate_of(outcome: Result<Outcome, Error>) -> Gate {
    match outcome {
        Ok(Outcome::Gate(gate)) => *gate,
        other => panic!("not a gate: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn existing_of(outcome: Result<Outcome, Error>) -> Gate {
    match outcome {
        Ok(Outcome::Existing(gate)) => *gate,
        other => panic!("not a gate that was there before: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn token_of(outcome: Result<Outcome, Error>) -> Token {
    match outcome {
        Ok(Outcome::Token(token)) => token,
        other => panic!("not a token: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn refusal_of(outcome: Result<Outcome, Error>) -> Refusal {
    match outcome {
        Err(Error::Refused(refusal)) => refusal,
        other => panic!("not a refusal: {other:?}"),
    }
}
