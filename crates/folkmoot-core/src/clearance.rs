//! Clearance: whether an agent may work, derived from what holds it and from nothing else.
//!
//! A [`Hold`] is a reason not to work: an open halting question, a denial that its asker has not
//! fetched, or a halt that an operator raised. [`Holds`] are all of them, and answer at once what
//! covers an agent. Nothing anywhere stores "halted": an agent is cleared exactly when nothing
//! covers it.

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
    /// What must be closed or lifted for it to go.
    pub id: HoldId,
    /// How far it reaches.
    pub scope: Scope,
    /// The agent that it holds: a question always holds its asker.
    pub agent_id: Option<Name>,
    /// The session that it holds, where it reaches so far.
    pub session_id: Option<SessionId>,
    pub since: Timestamp,
    /// The question's type; `None` for an operator's halt.
    pub question_type: Option<QuestionType>,
    /// It is a denial that its asker has not fetched yet.
    pub denied: bool,
    /// Who asked or raised it.
    pub by: Name,
    /// Why an operator raised it; `None` for a question, which has its text.
    pub reason: Option<String>,
}

vocabulary! {
    /// How a wait for clearance ended: what became of the last thing that covered the agent, or why
    /// nothing did.
    pub enum ReleaseReason {
        /// A question was answered; also where nothing covered the agent.
        Answered = "answered",
        /// A question was denied.
        Denied = "denied",
        /// The waiter's own time was over first.
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

/// What holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HoldId {
    /// An open question, or a denial.
    Question(QuestionId),
    /// An operator's halt.
    Halt(HaltId),
}

impl HoldId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        match self {
            HoldId::Question(id) => id.as_str(),
            HoldId::Halt(id) => id.as_str(),
        }
    }

    /// The question, if it is one.
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

/// What a hold takes away from: the three things that can be halted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// One agent, in whichever session.
    Agent(Name),
    /// Everyone in one session.
    Session(SessionId),
    /// Everyone.
    System,
}

impl Hold {
    /// Everything that this holds.
    pub fn targets(&self) -> impl Iterator<Item = Target> {
        let agent = self.agent_id.clone().map(Target::Agent);
        let session = self.session_id.clone().map(Target::Session);
        let system = (self.scope == Scope::All).then_some(Target::System);
        agent.into_iter().chain(session).chain(system)
    }

    /// Whether this principal may know of it: agents see their own, and what stops everyone.
    pub fn may_be_seen_by(&self, principal: &Principal) -> bool {
        principal.role.sees_everything() || self.is_of(principal) || self.scope == Scope::All
    }

    /// Whether this principal asked or raised it, or is the agent that it names.
    pub fn is_of(&self, principal: &Principal) -> bool {
        self.by == principal.name || self.agent_id.as_ref() == Some(&principal.name)
    }

    /// Whether it covers this agent, working in this session.
    pub fn covers(&self, agent: &Name, session: Option<&SessionId>) -> bool {
        self.targets().any(|target| match &target {
            Target::Agent(held) => held == agent,
            Target::Session(held) => Some(held) == session,
            Target::System => true,
        })
    }
}

/// Those who may have waited for what a hold no longer holds.
pub(crate) fn released(before: Option<&Hold>, after: Option<&Hold>) -> Vec<Wake> {
    let still = |target: &Target| after.is_some_and(|after| after.targets().any(|held| held == *target));
    before.into_iter().flat_map(Hold::targets).filter(|target| !still(target)).map(Wake::Held).collect()
}

/// Holds on one target, oldest first.
type HoldsByAge = BTreeMap<(Timestamp, HoldId), Arc<Hold>>;

/// Everything that holds anybody.
#[derive(Clone, Debug, Default)]
pub struct Holds {
    known: HashMap<HoldId, Arc<Hold>>,
    agents: HashMap<Name, HoldsByAge>,
    sessions: HashMap<SessionId, HoldsByAge>,
    system: HoldsByAge,
}

impl Holds {
    /// Whether nothing covers this agent. A few look-ups, however much is held.
    pub fn can_proceed(&self, agent: &str, session: Option<&str>) -> bool {
        self.system.is_empty()
            && !self.agents.contains_key(agent)
            && session.is_none_or(|session| !self.sessions.contains_key(session))
    }

    /// Whether something holds this agent for itself.
    pub fn holds_agent(&self, agent: &str) -> bool {
        self.agents.contains_key(agent)
    }

    /// Whether an operator's halt holds this agent for itself.
    pub fn halts_agent(&self, agent: &str) -> bool {
        self.agents.get(agent).is_some_and(|column| column.keys().any(|(_, id)| matches!(id, HoldId::Halt(_))))
    }

    /// All that covers this agent, oldest first.
    pub fn covering(&self, agent: &str, session: Option<&str>) -> Vec<Arc<Hold>> {
        let session = session.and_then(|session| self.sessions.get(session));
        let columns = self.agents.get(agent).into_iter().chain(session).chain([&self.system]);
        let all: BTreeMap<_, _> = columns.flatten().collect();
        all.into_values().cloned().collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether nobody is held.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The hold of this id, if it stands.
    pub fn get(&self, id: &HoldId) -> Option<&Arc<Hold>> {
        self.known.get(id)
    }

    /// Puts a hold in the place of the one with its id, or removes that. Returns what was there.
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

    /// Everything that holds the whole system, oldest first.
    pub fn system(&self) -> impl Iterator<Item = &Arc<Hold>> {
        self.system.values()
    }

    /// Each agent that is held for itself, and by what, oldest first.
    pub fn agents(&self) -> impl Iterator<Item = (&Name, impl Iterator<Item = &Arc<Hold>>)> {
        self.agents.iter().map(|(agent, column)| (agent, column.values()))
    }

    /// Each session that is held, and by what, oldest first.
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

/// Whether something else holds what a question or halt holds. Read in the transaction that judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// Its agent.
    pub agent: bool,
    pub session: bool,
    /// Everyone.
    pub system: bool,
}

impl Others {
    /// Whether something else holds this target.
    pub(crate) fn hold(self, target: &Target) -> bool {
        match target {
            Target::Agent(_) => self.agent,
            Target::Session(_) => self.session,
            Target::System => self.system,
        }
    }
}
