//! Clearance: whether an agent may work. It is derived only from the holds that cover the agent.
//!
//! A [`Hold`] is a reason not to work: an open halting question, a denial that its asker has not
//! fetched, or a halt that an operator raised. [`Holds`] indexes all of them, so that the holds on
//! an agent are found quickly. No "halted" state is stored anywhere: an agent has clearance exactly
//! when no hold covers it.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::{
    HaltId, Name, Principal, QuestionId, SessionId, Timestamp, Wake,
    question::{Closure, QuestionStatus, QuestionType},
};

vocabulary! {
    /// How far a halt reaches, the narrowest first.
    pub enum Scope {
        /// One agent.
        Agent = "agent",
        /// Everyone in a session.
        Session = "session",
        /// Everyone.
        All = "all",
    }
}

/// One reason not to work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The question or halt behind it. Closing or lifting that ends the hold.
    pub id: HoldId,
    pub scope: Scope,
    /// The agent that it holds, if it names one. A question always holds its asker.
    pub agent_id: Option<Name>,
    /// The session that it holds, if it reaches that far.
    pub session_id: Option<SessionId>,
    pub since: Timestamp,
    /// The question's type; `None` for an operator's halt.
    pub question_type: Option<QuestionType>,
    /// Whether it is a denial that its asker has not fetched yet.
    pub denied: bool,
    /// Who asked the question or raised the halt.
    pub by: Name,
    /// Why an operator raised the halt; `None` for a question, which has a text of its own.
    pub reason: Option<String>,
}

vocabulary! {
    /// How a wait for clearance ended: what became of the last thing that covered the agent, or why
    /// nothing did.
    pub enum ReleaseReason {
        /// A question was answered, or nothing covered the agent.
        Answered = "answered",
        /// A question was denied.
        Denied = "denied",
        /// The caller's own timeout came first.
        Timeout = "timeout",
        /// A question's timeout applied its default.
        Default = "default",
        /// A question was cancelled.
        Cancelled = "cancelled",
        /// A question's timeout came, and it had no default.
        Expired = "expired",
        /// A question was skipped.
        Skipped = "skipped",
        /// An operator lifted a halt.
        Lifted = "lifted",
    }
}

impl From<&Closure> for ReleaseReason {
    fn from(closure: &Closure) -> Self {
        match closure.status {
            QuestionStatus::Pending => unreachable!("what is closed does not wait"),
            QuestionStatus::Answered => ReleaseReason::Answered,
            QuestionStatus::Denied if closure.released_by.is_some() => ReleaseReason::Cancelled,
            QuestionStatus::Denied => ReleaseReason::Denied,
            QuestionStatus::Skipped => ReleaseReason::Skipped,
            QuestionStatus::Cancelled => ReleaseReason::Cancelled,
            QuestionStatus::Expired if closure.answer.is_some() => ReleaseReason::Default,
            QuestionStatus::Expired => ReleaseReason::Expired,
        }
    }
}

/// The question or halt behind a hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HoldId {
    /// An open question, or a denial.
    Question(QuestionId),
    /// An operator's halt.
    Halt(HaltId),
}

impl HoldId {
    pub fn as_str(&self) -> &str {
        match self {
            HoldId::Question(id) => id.as_str(),
            HoldId::Halt(id) => id.as_str(),
        }
    }

    /// The question's id, if it is a question.
    pub fn question(&self) -> Option<&QuestionId> {
        match self {
            HoldId::Question(id) => Some(id),
            HoldId::Halt(_) => None,
        }
    }

    /// `question` or `halt`.
    pub fn kind(&self) -> &'static str {
        match self {
            HoldId::Question(_) => "question",
            HoldId::Halt(_) => "halt",
        }
    }
}

/// What a hold can be on: one of the three things that can be halted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// One agent, in every session.
    Agent(Name),
    /// Everyone in one session.
    Session(SessionId),
    /// Everyone.
    System,
}

impl Hold {
    /// Everything that it holds.
    pub fn targets(&self) -> impl Iterator<Item = Target> {
        let agent = self.agent_id.clone().map(Target::Agent);
        let session = self.session_id.clone().map(Target::Session);
        let system = (self.scope == Scope::All).then_some(Target::System);
        agent.into_iter().chain(session).chain(system)
    }

    /// Whether this principal may see it. Agents see only their own, and holds on everyone.
    pub fn may_be_seen_by(&self, principal: &Principal) -> bool {
        principal.role.sees_everything() || self.is_of(principal) || self.scope == Scope::All
    }

    /// Whether this principal asked or raised it, or is the agent that it names.
    pub fn is_of(&self, principal: &Principal) -> bool {
        self.by == principal.name || self.agent_id.as_ref() == Some(&principal.name)
    }

    /// Whether it covers this agent while the agent works in this session.
    pub fn covers(&self, agent: &Name, session: Option<&SessionId>) -> bool {
        self.targets().any(|target| match &target {
            Target::Agent(held) => held == agent,
            Target::Session(held) => Some(held) == session,
            Target::System => true,
        })
    }
}

/// Whom to wake when a hold changes from `before` to `after`: those who waited on a target that it
/// no longer holds.
pub(crate) fn released(before: Option<&Hold>, after: Option<&Hold>) -> Vec<Wake> {
    let still = |target: &Target| after.is_some_and(|after| after.targets().any(|held| held == *target));
    before.into_iter().flat_map(Hold::targets).filter(|target| !still(target)).map(Wake::Held).collect()
}

/// Holds on one target, oldest first.
type HoldsByAge = BTreeMap<(Timestamp, HoldId), Arc<Hold>>;

/// All holds, indexed by what they are on.
#[derive(Clone, Debug, Default)]
pub struct Holds {
    known: HashMap<HoldId, Arc<Hold>>,
    agents: HashMap<Name, HoldsByAge>,
    sessions: HashMap<SessionId, HoldsByAge>,
    system: HoldsByAge,
}

impl Holds {
    /// Whether nothing covers this agent. Takes a few look-ups, however many holds there are.
    pub fn can_proceed(&self, agent: &str, session: Option<&str>) -> bool {
        self.system.is_empty()
            && !self.agents.contains_key(agent)
            && session.is_none_or(|session| !self.sessions.contains_key(session))
    }

    /// Whether a hold names this agent itself, rather than its session or everyone.
    pub fn holds_agent(&self, agent: &str) -> bool {
        self.agents.contains_key(agent)
    }

    /// Whether an operator's halt names this agent itself.
    pub fn halts_agent(&self, agent: &str) -> bool {
        self.agents.get(agent).is_some_and(|column| column.keys().any(|(_, id)| matches!(id, HoldId::Halt(_))))
    }

    /// All holds that cover this agent, oldest first.
    pub fn covering(&self, agent: &str, session: Option<&str>) -> Vec<Arc<Hold>> {
        let session = session.and_then(|session| self.sessions.get(session));
        let columns = self.agents.get(agent).into_iter().chain(session).chain([&self.system]);
        let all: BTreeMap<_, _> = columns.flatten().collect();
        all.into_values().cloned().collect()
    }

    pub fn len(&self) -> usize {
        self.known.len()
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    pub fn get(&self, id: &HoldId) -> Option<&Arc<Hold>> {
        self.known.get(id)
    }

    /// Replaces the hold with this id, or removes it if `hold` is `None`. Returns the previous one.
    pub fn replace(&mut self, id: &HoldId, hold: Option<Hold>) -> Option<Arc<Hold>> {
        let old = self.known.remove(id);
        for target in old.iter().flat_map(|old| old.targets()) {
            self.remove(&target, old.as_deref().expect("its targets were just taken"));
        }
        if let Some(new) = hold.map(Arc::new) {
            for target in new.targets() {
                self.column(target).insert((new.since, new.id.clone()), new.clone());
            }
            self.known.insert(new.id.clone(), new);
        }
        old
    }

    /// All holds on everyone, oldest first.
    pub fn system(&self) -> impl Iterator<Item = &Arc<Hold>> {
        self.system.values()
    }

    /// Each agent that is named by a hold, with those holds, oldest first.
    pub fn agents(&self) -> impl Iterator<Item = (&Name, impl Iterator<Item = &Arc<Hold>>)> {
        self.agents.iter().map(|(agent, column)| (agent, column.values()))
    }

    /// Each session that is held, with its holds, oldest first.
    pub fn sessions(&self) -> impl Iterator<Item = (&SessionId, impl Iterator<Item = &Arc<Hold>>)> {
        self.sessions.iter().map(|(session, column)| (session, column.values()))
    }

    fn column(&mut self, target: Target) -> &mut HoldsByAge {
        match target {
            Target::Agent(agent) => self.agents.entry(agent).or_default(),
            Target::Session(session) => self.sessions.entry(session).or_default(),
            Target::System => &mut self.system,
        }
    }

    fn remove(&mut self, target: &Target, hold: &Hold) {
        let place = (hold.since, hold.id.clone());
        match target {
            Target::Agent(agent) => remove(&mut self.agents, agent, &place),
            Target::Session(session) => remove(&mut self.sessions, session, &place),
            Target::System => drop(self.system.remove(&place)),
        }
    }
}

fn remove<K: std::hash::Hash + Eq>(columns: &mut HashMap<K, HoldsByAge>, key: &K, place: &(Timestamp, HoldId)) {
    let Some(column) = columns.get_mut(key) else { return };
    column.remove(place);
    if column.is_empty() {
        columns.remove(key);
    }
}

/// Whether other holds are on the same targets as a question or halt. Read in the transaction that
/// judges the command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    pub agent: bool,
    pub session: bool,
    pub system: bool,
}

impl Others {
    /// Whether another hold is on this target.
    pub(crate) fn hold(self, target: &Target) -> bool {
        match target {
            Target::Agent(_) => self.agent,
            Target::Session(_) => self.session,
            Target::System => self.system,
        }
    }
}
