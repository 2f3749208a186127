//! The one entry point to all rules, and what the rules of every noun share.

use std::borrow::Cow;

use serde::Serialize;

use crate::{
    Action, Actor, Artifact, Command, Commit, Digest, Fact, Judgement, Loaded, Principal, Refusal, Role, Row,
    SessionId, Timestamp, delivery, event::EventKind, gate, presence::PresenceClaim,
};

/// Judges `command` on the rows that it [needs](Command::needs). Reads no clock and no disk.
pub fn judge(command: &Command, mut loaded: Loaded, now: Timestamp) -> Judgement {
    let erased = loaded.contents.iter().filter(|content| content.barred).map(|content| content.digest).collect();
    let principals = std::mem::take(&mut loaded.principals);
    let presence = loaded.credential.as_ref().map(|token| PresenceClaim::new(token.kind, command.claims));
    let case = Case { command, now, erased, principals, presence };
    match case.judge(loaded) {
        Ok(mut commit) => {
            commit.outbox = delivery::new_deliveries(&commit, &command.subscriptions);
            Judgement::Done(commit)
        }
        Err(RefusedWith { refusal, record }) => Judgement::Refused(refusal, *record),
    }
}

/// A refusal, and what is recorded about it.
pub(crate) struct RefusedWith {
    pub(crate) refusal: Refusal,
    pub(crate) record: Box<Commit>,
}

impl From<Refusal> for RefusedWith {
    fn from(refusal: Refusal) -> Self {
        RefusedWith { refusal, record: Box::default() }
    }
}

/// A command that is being judged, with the data that the rules of every noun use.
pub(crate) struct Case<'a> {
    pub(crate) command: &'a Command,
    pub(crate) now: Timestamp,
    /// Those contents that the command names and that were erased for good.
    erased: Vec<Digest>,
    /// The principals that the command names.
    pub(crate) principals: Vec<Principal>,
    /// Whether a person is behind the command, as its token and the claim sent with it show. `None`
    /// if the command has no token.
    pub(crate) presence: Option<PresenceClaim>,
}

impl Case<'_> {
    fn judge(&self, loaded: Loaded) -> Result<Commit, RefusedWith> {
        self.command.must_be_authentic(loaded.credential.as_ref())?;
        if let Some(presence) = self.presence {
            presence.must_allow(&self.command.action)?;
        }
        match &self.command.action {
            Action::Gate(action) => action.judge(self, loaded),
            Action::Question(action) => action.judge(self, loaded),
            Action::Halt(action) => action.judge(self, loaded),
            Action::Run(action) => action.judge(self, loaded),
            Action::Node(action) => action.judge(self),
            Action::Content(action) => action.judge(self, &loaded.contents),
            Action::Token(action) => action.judge(self, loaded.token),
            Action::Webhook(action) => action.judge(self, loaded.webhook),
            Action::Delivery(action) => action.judge(self, loaded.delivery),
        }
    }

    /// The rows that store what a gate or question will show. Refuses content that was erased for
    /// good, because nobody could see it.
    pub(crate) fn store_contents_unless_erased(
        &self,
        contents: impl Iterator<Item = Vec<u8>>,
    ) -> Result<Vec<Row>, Refusal> {
        let artifacts = contents.map(Artifact::new).map(|artifact| match self.erased.contains(&artifact.digest) {
            true => Err(Refusal::ContentErased { digest: artifact.digest }),
            false => Ok(Row::Artifact(artifact)),
        });
        artifacts.collect()
    }

    /// Makes an event of this command.
    pub(crate) fn fact(
        &self,
        stream: &str,
        stream_seq: u64,
        kind: impl Into<Cow<'static, str>>,
        payload: String,
        session: Option<&SessionId>,
    ) -> Fact {
        let kind = kind.into();
        debug_assert!(!EventKind::is_ours(&kind) || kind.parse::<EventKind>().is_ok(), "{kind} is in no vocabulary");
        Fact {
            stream: stream.into(),
            stream_seq,
            kind,
            version: gate::VERSION,
            actor: self.command.by.name(),
            on_behalf_of: self.command.action.on_behalf_of().cloned(),
            session: session.cloned(),
            command_id: self.command.id.clone(),
            at: self.now,
            payload,
            token_id: self.command.token.clone(),
        }
    }

    /// The principal that sent the command. Refuses commands of Folkmoot itself.
    pub(crate) fn principal(&self, verb: &'static str) -> Result<&Principal, Refusal> {
        match &self.command.by {
            Actor::Principal(principal) => Ok(principal),
            // Only timers, nodes, deliveries and the first tokens come from Folkmoot itself.
            Actor::System => Err(Refusal::RoleMayNot { role: Role::Viewer, verb }),
        }
    }

    /// Refuses everybody but Folkmoot itself.
    pub(crate) fn must_be_system(&self, verb: &'static str) -> Result<(), Refusal> {
        match &self.command.by {
            Actor::System => Ok(()),
            Actor::Principal(by) => Err(Refusal::RoleMayNot { role: by.role, verb }),
        }
    }
}

/// The payload of an event whose noun has no enum of events.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("structs of texts and integers are JSON")
}
