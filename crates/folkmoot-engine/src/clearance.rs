//! Clearance: an in-memory index of all holds, and the waiters for clearance.
//!
//! The index is loaded from the store at the start and then updated only from the log, in order,
//! whichever node wrote it. A waiter registers under the lock that protects the index, and is
//! released when its last hold goes. So no waiter is released early, and none misses its release.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{
        Arc, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use folkmoot_core::{
    Event, Hold, HoldId, Name, Principal, Question, QuestionId, Role, Run, Scope, SessionId, Timestamp,
    clearance::{Holds, ReleaseReason, Target},
    halt::HaltEvent,
    question::{QuestionEvent, QuestionState, QuestionStatus},
    run::{self, RunState},
};
use folkmoot_store::{Error, QuestionQuery, Store};
use tokio::sync::{Semaphore, oneshot, watch};

use crate::{
    Engine,
    lock::{read, write},
};

/// A node that has not heard from the database for this long knows neither the current halts nor
/// the revoked tokens, so it refuses.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(2);
/// How often a waiter on such a node checks again.
pub(crate) const LISTEN_AGAIN: Duration = Duration::from_millis(100);
/// How many of an agent's questions are searched for its last answers.
const EARLIER: u32 = 20;
/// For how many halted sessions to check whether an agent works in them.
const SESSIONS_MAX: usize = 1000;
/// How many searches for earlier answers run concurrently.
const LOOKS: usize = 4;
/// For how many agents the last answers are kept in memory.
const AGENTS_KEPT: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClearanceGranted {
    /// How the last hold ended.
    pub reason: ReleaseReason,
    /// Answers to the questions that held it.
    pub answers: Vec<Release>,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum ClearanceRefused {
    /// The waiter's own time is over.
    #[error("still halted after the time that was given; wait again, or see what holds it")]
    Timeout {
        /// The remaining holds, the oldest first.
        blocked_by: Vec<Arc<Hold>>,
        /// Holds that ended meanwhile.
        answers: Vec<Release>,
    },
    /// The agent's question was denied.
    #[error("denied: {}", .answers.iter().map(|answer| answer.reason_given.as_str()).collect::<Vec<_>>().join("; "))]
    Denied { answers: Vec<Release> },
    /// It cannot be determined.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// A hold that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    pub id: HoldId,
    pub reason: ReleaseReason,
    pub answer: Option<serde_json::Value>,
    /// The reason that was given.
    pub reason_given: String,
    hold: Arc<Hold>,
}

impl Release {
    /// Whether this principal may see the answer: only those who may see the question. Others whom
    /// it halted are only released.
    fn may_be_told(&self, principal: &Principal) -> bool {
        match &self.id {
            HoldId::Question(_) => self.hold.is_of(principal) || principal.role.sees_everything(),
            HoldId::Halt(_) => self.hold.may_be_seen_by(principal),
        }
    }
}

/// All holds, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct HaltOverview {
    /// Holds of everyone.
    pub system: Vec<Arc<Hold>>,
    pub sessions: Vec<(SessionId, Vec<Arc<Hold>>)>,
    /// Agents with holds of their own.
    pub agents: Vec<(Name, Vec<Arc<Hold>>)>,
}

#[derive(Debug)]
pub(crate) struct ClearanceTracker {
    known: RwLock<ClearanceState>,
    /// The log position up to which the index is complete.
    applied: watch::Sender<u64>,
    /// The epoch of the log that the index was loaded from.
    epoch: AtomicU64,
    started_at: Timestamp,
    /// Limits store reads when thousands are released at once.
    looks: Semaphore,
}

#[derive(Debug, Default)]
struct ClearanceState {
    holds: Holds,
    waiting: HashMap<u64, ClearanceWaiter>,
    by_agent: HashMap<Name, BTreeSet<u64>>,
    by_session: HashMap<SessionId, BTreeSet<u64>>,
    /// For each agent, its own holds that ended since it was last free; for the most recent agents.
    gone: HashMap<Name, Vec<Arc<Release>>>,
    gone_order: VecDeque<Name>,
    next: u64,
}

#[derive(Debug)]
struct ClearanceWaiter {
    agent: Name,
    session: Option<SessionId>,
    gone: Vec<Arc<Release>>,
    /// `None` after its release.
    released: Option<oneshot::Sender<ClearanceWaitEnd>>,
}

/// How a registered wait ended.
#[derive(Debug)]
enum ClearanceWaitEnd {
    Clear,
    Denied(Vec<QuestionId>),
    /// The database lost the end of its log, and perhaps what this waiter was told.
    LookAgain,
}

/// What a waiter finds when it registers.
enum RegistrationResult<'a> {
    Clear,
    Denied(Vec<QuestionId>),
    Waiting(oneshot::Receiver<ClearanceWaitEnd>, ClearanceRegistration<'a>),
}

/// A registered wait for clearance. Dropping it removes it.
struct ClearanceRegistration<'a> {
    clearance: &'a ClearanceTracker,
    number: u64,
    /// A hold is older than the engine's start.
    looks_back: bool,
}

impl Engine {
    /// Whether nothing holds this agent in this session. Answered from memory.
    pub fn can_proceed(&self, agent: &str, session: Option<&str>) -> bool {
        self.in_touch() && self.0.clearance.read(|known| known.holds.can_proceed(agent, session))
    }

    /// All holds of this agent, the oldest first.
    pub fn blocked_by(&self, agent: &str, session: Option<&str>) -> Vec<Arc<Hold>> {
        self.0.clearance.read(|known| known.holds.covering(agent, session))
    }

    /// Whether this node knows the current halts: according to the index, not only the store.
    pub fn in_touch(&self) -> bool {
        self.0.clearance.epoch() == *self.0.epoch.borrow()
            && self.0.store.silence(*self.0.clearance.applied.borrow()) <= SILENCE_MAX
    }

    /// Waits until nothing holds the agent. Any number may wait, each with its own timeout; a
    /// timeout applies no default answer. A denial ends the wait, and keeps holding its asker until
    /// it is acknowledged.
    pub async fn wait_for_clearance(
        &self,
        principal: &Principal,
        agent: &Name,
        session: Option<&SessionId>,
        timeout: Duration,
    ) -> Result<ClearanceGranted, ClearanceRefused> {
        // The timeout limits only the wait for holds; a free agent needs no time.
        let mut over = self.0.host.sleep(timeout);
        let mut gone: Vec<Arc<Release>> = Vec::new();
        // Answers from before this engine started are only in the store.
        let mut looks_back = true;
        loop {
            match self.0.clearance.register(agent, session) {
                RegistrationResult::Clear => {}
                RegistrationResult::Denied(denials) => return Err(self.denied(principal, denials).await),
                RegistrationResult::Waiting(waiting, registration) => {
                    looks_back = registration.looks_back;
                    let ended = tokio::select! {
                        biased;
                        ended = waiting => Some(ended.expect("a waiter is released before it is forgotten")),
                        () = &mut over => None,
                    };
                    // After registering again, skip what it was already told.
                    let known = |release: &Arc<Release>| gone.iter().any(|known| known.id == release.id);
                    let new: Vec<_> = registration.gone().into_iter().filter(|release| !known(release)).collect();
                    gone.extend(new);
                    match ended {
                        Some(ClearanceWaitEnd::Clear) => {}
                        Some(ClearanceWaitEnd::LookAgain) => {
                            gone.clear();
                            looks_back = true;
                        }
                        Some(ClearanceWaitEnd::Denied(denials)) => return Err(self.denied(principal, denials).await),
                        None => return Err(self.timed_out(principal, agent, session, gone)),
                    }
                }
            }
            // Another node may have halted the agent, and this one may not know yet.
            if !self.is_current().await {
                tokio::select! {
                    biased;
                    () = &mut over => return Err(self.timed_out(principal, agent, session, gone)),
                    () = self.0.host.sleep(LISTEN_AGAIN) => continue,
                }
            }
            if self.can_proceed(agent.as_str(), session.map(SessionId::as_str)) {
                let own = |release: &Arc<Release>| release.hold.agent_id.as_ref() == Some(agent);
                let mut all = match looks_back && !gone.iter().any(own) {
                    true => self.answered_earlier(agent).await?,
                    false => Vec::new(),
                };
                all.append(&mut gone);
                return Ok(cleared(principal, all));
            }
        }
    }

    fn timed_out(
        &self,
        principal: &Principal,
        agent: &Name,
        session: Option<&SessionId>,
        gone: Vec<Arc<Release>>,
    ) -> ClearanceRefused {
        let blocked_by = self.blocked_by(agent.as_str(), session.map(SessionId::as_str));
        ClearanceRefused::Timeout { blocked_by, answers: told(principal, gone) }
    }

    /// Whether nothing holds this agent, according to the log at the time of the call.
    pub(crate) async fn is_cleared(&self, agent: &Name, session: &SessionId) -> bool {
        self.is_current().await && self.can_proceed(agent.as_str(), Some(session.as_str()))
    }

    /// The name under which an agent of our run is held, if it is, as far as this node knows: by a
    /// hold of that agent in that run, by an operator's halt of all agents of this name, or by a
    /// hold of the agent that started the run.
    pub(crate) fn held_as(&self, run: &Run, agent: &Name) -> Option<Name> {
        let own = run.agent_named(agent);
        if !self.can_proceed(own.as_str(), Some(run.start.session_id.as_str())) {
            return Some(own);
        }
        let starter = Some(&run.start.initiator).filter(|_| run.start.role == Role::Agent);
        self.0.clearance.read(|known| {
            let halted = Some(agent).filter(|agent| known.holds.halts_agent(agent.as_str()));
            halted.or_else(|| starter.filter(|starter| known.holds.holds_agent(starter.as_str()))).cloned()
        })
    }

    /// The holds that keep a run from working, the oldest first: those of its agents that wait for
    /// clearance, or of the run itself if none is named.
    pub fn halted_by(&self, run: &Run) -> Vec<Arc<Hold>> {
        let agents = match &run.state {
            RunState::Ended(_) | RunState::Stopped { .. } => return Vec::new(),
            RunState::Parked(parked) if !parked.held.is_empty() => parked.held.clone(),
            RunState::Parked(_) | RunState::Pending | RunState::Outside | RunState::Running { .. } => vec![run.agent()],
        };
        let session = run.start.session_id.as_str();
        let mut holds = Vec::new();
        self.0.clearance.read(|known| {
            for agent in &agents {
                let own = run.start.workflow.is_none() || run::is_own_agent(agent, &run.start.id);
                let counts = |hold: &Arc<Hold>| {
                    let of_agent = hold.agent_id.as_ref() == Some(agent) && (own || hold.id.question().is_none());
                    of_agent || hold.scope == Scope::All || hold.session_id.as_ref() == Some(&run.start.session_id)
                };
                holds.extend(known.holds.covering(agent.as_str(), Some(session)).into_iter().filter(counts));
            }
        });
        holds.sort_by(|a, b| (a.since, &a.id).cmp(&(b.since, &b.id)));
        holds.dedup_by(|a, b| a.id == b.id);
        holds
    }

    /// Whether nothing holds this agent of our run, according to the log at the time of the call.
    pub(crate) async fn is_cleared_in(&self, run: &Run, agent: &Name) -> bool {
        self.is_current().await && self.held_as(run, agent).is_none()
    }

    /// Changes with every event.
    pub(crate) fn clearance_changes(&self) -> watch::Receiver<u64> {
        self.0.clearance.applied.subscribe()
    }

    /// Waits until the index includes everything in the log at the time of the call; `false` if
    /// that cannot be determined.
    async fn is_current(&self) -> bool {
        if !self.in_touch() || !self.0.store.is_shared() {
            return self.in_touch();
        }
        let Some(position) = self.read_head_shared().await else { return false };
        self.reached(position).await;
        *self.0.clearance.applied.borrow() >= position
    }

    /// All holds that `principal` may see, including those of sessions in which it works.
    pub async fn halts(&self, principal: &Principal) -> Result<HaltOverview, Error> {
        let mut status = self.halts_of(principal);
        if principal.role.sees_everything() {
            return Ok(status);
        }
        let halted: Vec<_> = self.0.clearance.read(|known| {
            let all = known.holds.sessions().map(|(id, by)| (id.clone(), by.cloned().collect::<Vec<_>>()));
            all.filter(|session| !status.sessions.contains(session)).take(SESSIONS_MAX).collect()
        });
        for (session, by) in halted {
            if self.is_in_session(principal, &session).await? {
                status.sessions.retain(|(known, _)| *known != session);
                status.sessions.push((session, by));
            }
        }
        status.sessions.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(status)
    }

    fn halts_of(&self, principal: &Principal) -> HaltOverview {
        let seen = |hold: &&Arc<Hold>| hold.may_be_seen_by(principal);
        self.0.clearance.read(|known| {
            let mut status = HaltOverview {
                system: known.holds.system().filter(seen).cloned().collect(),
                sessions: known
                    .holds
                    .sessions()
                    .map(|(id, by)| (id.clone(), by.filter(seen).cloned().collect()))
                    .collect(),
                agents: known.holds.agents().map(|(id, by)| (id.clone(), by.filter(seen).cloned().collect())).collect(),
            };
            status.sessions.retain(|(_, by): &(_, Vec<_>)| !by.is_empty());
            status.agents.retain(|(_, by): &(_, Vec<_>)| !by.is_empty());
            status.sessions.sort_by(|a, b| a.0.cmp(&b.0));
            status.agents.sort_by(|a, b| a.0.cmp(&b.0));
            status
        })
    }

    /// Whether this principal may read the reason of a halt. Agents may if it halts them, a session
    /// in which they work, everyone, or a name that no token has, under which any agent may work.
    /// `false` if the database cannot be read.
    pub async fn may_read_reason(&self, principal: &Principal, hold: &Hold) -> bool {
        if hold.may_be_seen_by(principal) {
            return true;
        }
        match (&hold.agent_id, &hold.session_id) {
            (Some(agent), _) => !self.is_principal(agent),
            (None, Some(session)) => self.is_in_session(principal, session).await.unwrap_or(false),
            (None, None) => false,
        }
    }

    /// How many open questions, denials and halts are in force.
    pub fn holds(&self) -> usize {
        self.0.clearance.read(|known| known.holds.len())
    }

    /// How many wait for clearance on this node.
    pub fn waiting_for_clearance(&self) -> usize {
        self.0.clearance.read(|known| known.waiting.len())
    }

    /// Waits until this node's index includes this position, so that a caller who was told of a
    /// halt or release sees it here. A node that cannot do so in time has lost touch, and clears
    /// nobody.
    pub(crate) async fn reached(&self, position: u64) {
        let mut applied = self.0.clearance.applied.subscribe();
        tokio::select! {
            biased;
            // An error means that the engine has ended.
            _ = applied.wait_for(|applied| *applied >= position) => {}
            () = self.0.host.sleep(SILENCE_MAX) => {}
        }
    }

    /// The answers for an agent that waits although nothing holds it: those that cleared it last,
    /// which may have come before it waited.
    async fn answered_earlier(&self, agent: &Name) -> Result<Vec<Arc<Release>>, Error> {
        let _turn = self.0.clearance.looks.acquire().await;
        let query =
            QuestionQuery { agent: Some(agent.clone()), halting: true, limit: EARLIER, ..QuestionQuery::default() };
        let found = self.0.store.questions(query).await?.items.into_iter().map(|view| view.question);
        let mut closed: Vec<_> = found.filter_map(|question| Some((question.closure()?.clone(), question))).collect();
        closed.retain(|(closure, _)| ReleaseReason::from(closure) != ReleaseReason::Denied);
        closed.sort_by_key(|(closure, _)| std::cmp::Reverse(closure.at));
        // Only questions that were open together with the last one; older answers belong to earlier
        // waits.
        let mut since = closed.first().map(|(_, question)| question.asked_at);
        let mut gone = Vec::new();
        for (closure, question) in closed {
            if since.is_some_and(|since| closure.at < since) {
                break;
            }
            since = since.min(Some(question.asked_at));
            gone.extend(release_of(&question).map(Arc::new));
        }
        gone.reverse();
        Ok(gone)
    }

    async fn denied(&self, principal: &Principal, denials: Vec<QuestionId>) -> ClearanceRefused {
        let mut answers = Vec::new();
        for id in denials {
            let found = match self.0.store.question(&id).await {
                Ok(found) => found,
                Err(error) => return error.into(),
            };
            let Some(question) = found.map(|view| view.question) else { continue };
            answers.extend(release_of(&question).filter(|release| release.may_be_told(principal)));
        }
        ClearanceRefused::Denied { answers }
    }
}

impl ClearanceTracker {
    /// With all holds at this position.
    pub(crate) fn new(position: u64, holds: Vec<Hold>, started_at: Timestamp) -> Self {
        let mut known = ClearanceState::default();
        for hold in holds {
            known.holds.replace(&hold.id.clone(), Some(hold));
        }
        let (applied, looks) = (watch::Sender::new(position), Semaphore::new(LOOKS));
        Self { known: RwLock::new(known), applied, epoch: AtomicU64::new(0), started_at, looks }
    }

    /// Replaces the index after the log was lost. Waiters check again.
    pub(crate) fn start_over(&self, position: u64, holds: Vec<Hold>, epoch: u64) {
        let mut known = write(&self.known);
        known.holds = Holds::default();
        for hold in holds {
            known.holds.replace(&hold.id.clone(), Some(hold));
        }
        known.gone.clear();
        known.gone_order.clear();
        for waiting in known.waiting.values_mut() {
            if let Some(released) = waiting.released.take() {
                // A dropped waiter is about to deregister.
                let _ = released.send(ClearanceWaitEnd::LookAgain);
            }
        }
        self.applied.send_replace(position);
        self.epoch.store(epoch, Ordering::SeqCst);
    }

    /// The epoch of the store's log that the index was read from.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Takes the next event of the log.
    pub(crate) fn apply(&self, event: &Event) {
        let stream: &str = &event.fact.stream;
        let kind: &str = &event.fact.kind;
        if kind.starts_with("question.") {
            let Ok(id) = stream.parse().map(HoldId::Question) else { return };
            match QuestionEvent::read(&event.fact) {
                Ok(QuestionEvent::Asked(question)) => self.change(&id, |_| question.hold(), None),
                Ok(QuestionEvent::Closed { closure, .. }) => {
                    let denied =
                        |old: &Hold| Hold { scope: Scope::Agent, session_id: None, denied: true, ..old.clone() };
                    let hold =
                        |old: Option<&Hold>| old.filter(|_| closure.status == QuestionStatus::Denied).map(denied);
                    self.change(&id, hold, Some((ReleaseReason::from(&*closure), closure.answer, closure.reason)));
                }
                Ok(QuestionEvent::Fetched { released_by, reason, .. }) => {
                    let released = released_by.map(|_| (ReleaseReason::Cancelled, None, reason));
                    self.change(&id, |_| None, released);
                }
                Ok(QuestionEvent::Reminded { .. } | QuestionEvent::Refused(_) | QuestionEvent::Noticed(_)) => {}
                Err(broken) => tracing::error!("event {} of the log cannot be read: {broken}", event.position),
            }
        } else if kind.starts_with("halt.") {
            let Ok(id) = stream.parse().map(HoldId::Halt) else { return };
            match HaltEvent::read(&event.fact) {
                Ok(HaltEvent::Raised(halt)) => self.change(&id, |_| halt.hold(), None),
                Ok(HaltEvent::Lifted { .. }) => {
                    self.change(&id, |_| None, Some((ReleaseReason::Lifted, None, String::new())));
                }
                Ok(HaltEvent::Refused(_) | HaltEvent::Noticed(_)) => {}
                Err(broken) => tracing::error!("event {} of the log cannot be read: {broken}", event.position),
            }
        }
    }

    /// Everything up to this position was applied.
    pub(crate) fn applied(&self, position: u64) {
        self.applied.send_replace(position);
    }

    fn change(&self, id: &HoldId, new: impl FnOnce(Option<&Hold>) -> Option<Hold>, end: Option<HoldEnd>) {
        let mut known = write(&self.known);
        let new = new(known.holds.get(id).map(Arc::as_ref));
        if let Some(agent) = new.as_ref().and_then(|new| new.agent_id.as_ref()) {
            known.begin(agent);
        }
        let Some(old) = known.holds.replace(id, new) else { return };
        let release = end.map(|(reason, answer, reason_given)| {
            Arc::new(Release { id: id.clone(), reason, answer, reason_given, hold: old.clone() })
        });
        // A denial is reported while it holds its asker, so it need not be kept.
        if let (Some(agent), Some(release)) =
            (&old.agent_id, release.as_ref().filter(|end| end.reason != ReleaseReason::Denied))
        {
            known.keep(agent, release);
        }
        for number in known.covered_by(&old) {
            known.tell(number, &old, release.as_ref());
        }
    }

    fn register(&self, agent: &Name, session: Option<&SessionId>) -> RegistrationResult<'_> {
        let mut known = write(&self.known);
        let covering = known.holds.covering(agent.as_str(), session.map(SessionId::as_str));
        if covering.is_empty() {
            return RegistrationResult::Clear;
        }
        let denials = covering.iter().filter(|hold| hold.denied);
        let denials: Vec<_> = denials.filter_map(|hold| hold.id.question()).cloned().collect();
        if !denials.is_empty() {
            return RegistrationResult::Denied(denials);
        }
        let looks_back = covering.iter().any(|hold| hold.since < self.started_at);
        let (released, waiting) = oneshot::channel();
        let number = known.next;
        known.next += 1;
        known.by_agent.entry(agent.clone()).or_default().insert(number);
        if let Some(session) = session {
            known.by_session.entry(session.clone()).or_default().insert(number);
        }
        // Answers that came before the wait count too.
        let gone = known.gone.get(agent).cloned().unwrap_or_default();
        let (agent, session) = (agent.clone(), session.cloned());
        known.waiting.insert(number, ClearanceWaiter { agent, session, gone, released: Some(released) });
        RegistrationResult::Waiting(waiting, ClearanceRegistration { clearance: self, number, looks_back })
    }

    fn read<T>(&self, look: impl FnOnce(&ClearanceState) -> T) -> T {
        look(&read(&self.known))
    }
}

impl ClearanceState {
    /// The waiters that this hold covered.
    fn covered_by(&self, hold: &Hold) -> BTreeSet<u64> {
        let mut numbers = BTreeSet::new();
        for target in hold.targets() {
            match target {
                Target::Agent(agent) => numbers.extend(self.by_agent.get(&agent).into_iter().flatten()),
                Target::Session(session) => numbers.extend(self.by_session.get(&session).into_iter().flatten()),
                Target::System => return self.waiting.keys().copied().collect(),
            }
        }
        numbers
    }

    /// A new hold of its own starts a new set of answers.
    fn begin(&mut self, agent: &Name) {
        if !self.holds.holds_agent(agent.as_str())
            && let Some(gone) = self.gone.get_mut(agent)
        {
            gone.clear();
        }
    }

    /// Keeps how an agent's own hold ended, because it may be reported only when another hold ends.
    fn keep(&mut self, agent: &Name, release: &Arc<Release>) {
        let gone = self.gone.entry(agent.clone()).or_insert_with(|| {
            self.gone_order.push_back(agent.clone());
            Vec::new()
        });
        gone.push(release.clone());
        let surplus = gone.len().saturating_sub(EARLIER as usize);
        gone.drain(..surplus);
        if self.gone_order.len() > AGENTS_KEPT
            && let Some(oldest) = self.gone_order.pop_front()
        {
            self.gone.remove(&oldest);
        }
    }

    /// Tells a waiter how a hold ended, and releases it if that was the last.
    fn tell(&mut self, number: u64, hold: &Hold, release: Option<&Arc<Release>>) {
        let Some(waiting) = self.waiting.get_mut(&number) else { return };
        waiting.gone.extend(release.cloned());
        let denied = release.is_some_and(|release| release.reason == ReleaseReason::Denied);
        let asker = hold.agent_id.as_ref() == Some(&waiting.agent);
        let session = waiting.session.as_ref().map(SessionId::as_str);
        let ended = if denied && asker {
            ClearanceWaitEnd::Denied(hold.id.question().into_iter().cloned().collect())
        } else if self.holds.can_proceed(waiting.agent.as_str(), session) {
            ClearanceWaitEnd::Clear
        } else {
            return;
        };
        if let Some(released) = waiting.released.take() {
            // A dropped waiter is about to deregister.
            let _ = released.send(ended);
        }
    }
}

impl ClearanceRegistration<'_> {
    /// The holds that ended.
    fn gone(&self) -> Vec<Arc<Release>> {
        let gone = |known: &ClearanceState| known.waiting.get(&self.number).map(|waiting| waiting.gone.clone());
        self.clearance.read(gone).unwrap_or_default()
    }
}

impl Drop for ClearanceRegistration<'_> {
    fn drop(&mut self) {
        let mut known = write(&self.clearance.known);
        let Some(waiting) = known.waiting.remove(&self.number) else { return };
        forget(&mut known.by_agent, &waiting.agent, self.number);
        if let Some(session) = &waiting.session {
            forget(&mut known.by_session, session, self.number);
        }
    }
}

fn forget<K: std::hash::Hash + Eq>(numbers: &mut HashMap<K, BTreeSet<u64>>, key: &K, number: u64) {
    let Some(those) = numbers.get_mut(key) else { return };
    those.remove(&number);
    if those.is_empty() {
        numbers.remove(key);
    }
}

/// How a hold ended, the answer to its question, and the reason.
type HoldEnd = (ReleaseReason, Option<serde_json::Value>, String);

fn cleared(principal: &Principal, gone: Vec<Arc<Release>>) -> ClearanceGranted {
    let reason = match gone.last().map(|release| release.reason) {
        // Another agent's question was denied; this one was only released by it.
        None | Some(ReleaseReason::Denied) => ReleaseReason::Answered,
        Some(reason) => reason,
    };
    ClearanceGranted { reason, answers: told(principal, gone) }
}

fn told(principal: &Principal, gone: Vec<Arc<Release>>) -> Vec<Release> {
    let told = gone.into_iter().filter(|release| release.may_be_told(principal));
    told.map(Arc::unwrap_or_clone).collect()
}

/// How a closed question that halted somebody ended.
fn release_of(question: &Question) -> Option<Release> {
    let closure = question.closure()?;
    // As it was while it was open.
    let hold = Question { state: QuestionState::Pending, ..question.clone() }.hold()?;
    Some(Release {
        id: hold.id.clone(),
        reason: ReleaseReason::from(closure),
        answer: closure.answer.clone(),
        reason_given: closure.reason.clone(),
        hold: Arc::new(hold),
    })
}
