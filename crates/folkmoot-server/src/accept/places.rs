//! Who holds a connection, and who makes room when there are too many.
//!
//! A connection takes a place when it is accepted, before anybody knows whose it is. When all
//! places are taken, the connection that does the least is closed for the new one: first one on
//! which nobody has shown a valid token, then one that is silent between two requests. A connection
//! on which an authenticated request is being answered is never closed. Whoever does not decide
//! (agents, viewers) can hold only some of the places with such requests, so people who decide
//! always find one.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use folkmoot_core::{Name, Principal};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::task_tracker::TaskTrackerToken};

use crate::ServerLimits;

/// The most places that are kept for people who decide; with fewer connections it is a quarter of
/// them.
const KEPT_MAX: usize = 1024;
/// The most connections of one principal, unless configuration says otherwise; with few connections
/// it is half of them.
const PER_PRINCIPAL: usize = 4096;

#[derive(Debug)]
pub(crate) struct Places {
    limit: usize,
    /// For requests of those who do not decide.
    others_max: usize,
    per_principal_max: usize,
    open: Mutex<Open>,
    /// Somebody left, or does less than before.
    freed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    connections: BTreeMap<u64, TrackedConnection>,
    /// Those that may be closed, the first one first.
    idle: BTreeSet<(Idle, u64)>,
    /// How many requests of those who do not decide are being answered.
    others: usize,
    by_principal: HashMap<Name, usize>,
}

#[derive(Debug)]
struct TrackedConnection {
    state: ConnectionState,
    /// Cancelled when it must make room.
    evicted: CancellationToken,
}

#[derive(Clone, Debug)]
enum ConnectionState {
    Idle(Idle),
    /// Answers a request of this principal.
    Answering {
        name: Name,
        decides: bool,
    },
    /// Is being closed.
    Evicted,
}

/// What a connection does that may be closed. The least comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Idle {
    /// Nobody has shown a valid token on it, and no request has been read.
    Unknown,
    /// A request without a valid token is being answered.
    Unauthenticated,
    /// Its last request was from somebody who does not decide.
    AfterOther,
    /// Its last request was from somebody who decides.
    AfterDecider,
}

/// Why a request cannot be answered now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// The places for those who do not decide are taken.
    Full,
    /// This principal has so many requests, and may not have more.
    TooMany(usize),
}

impl Places {
    pub(crate) fn new(limits: &ServerLimits) -> Arc<Self> {
        let limit = limits.connections;
        let kept = (limit / 4).clamp(1, KEPT_MAX);
        let per_principal_max = match limits.connections_per_principal {
            None => PER_PRINCIPAL.min(limit / 2).max(1),
            Some(0) => usize::MAX,
            Some(most) => most,
        };
        Arc::new(Self {
            limit,
            others_max: (limit - kept).max(1),
            per_principal_max,
            open: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// A place for a connection that was accepted. Waits while every place is in use.
    pub(crate) async fn take(self: &Arc<Self>, open: TaskTrackerToken) -> ConnectionSlot {
        loop {
            let freed = self.freed.notified();
            if let Some((id, evicted)) = self.try_take() {
                metrics::gauge!("folkmoot_connections").increment(1);
                return ConnectionSlot { places: Arc::clone(self), id, evicted, _open: open };
            }
            self.make_room();
            freed.await;
        }
    }

    fn try_take(&self) -> Option<(u64, CancellationToken)> {
        let mut open = self.lock();
        if open.connections.len() >= self.limit {
            return None;
        }
        let (id, evicted) = (open.next, CancellationToken::new());
        open.next += 1;
        open.connections
            .insert(id, TrackedConnection { state: ConnectionState::Idle(Idle::Unknown), evicted: evicted.clone() });
        open.idle.insert((Idle::Unknown, id));
        Some((id, evicted))
    }

    /// Closes the connection that does the least, the oldest of them, if any may be closed.
    pub(crate) fn make_room(&self) {
        let mut open = self.lock();
        if let Some((_, id)) = open.idle.pop_first()
            && let Some(connection) = open.connections.get_mut(&id)
        {
            connection.state = ConnectionState::Evicted;
            connection.evicted.cancel();
        }
    }

    fn begin(self: &Arc<Self>, id: u64, peer: IpAddr) -> Option<Seat> {
        self.lock()
            .becomes(id, ConnectionState::Idle(Idle::Unauthenticated))
            .then(|| Seat(Arc::new(ActiveRequest { places: Arc::clone(self), id, peer })))
    }

    fn authenticated(&self, id: u64, principal: &Principal) -> Result<(), NoPlace> {
        let mut open = self.lock();
        let decides = principal.role.decides();
        if !decides && open.others >= self.others_max {
            return Err(NoPlace::Full);
        }
        let held = open.by_principal.get(&principal.name).copied().unwrap_or_default();
        if held >= self.per_principal_max {
            return Err(NoPlace::TooMany(held));
        }
        open.becomes(id, ConnectionState::Answering { name: principal.name.clone(), decides });
        Ok(())
    }

    fn answered(&self, id: u64) {
        let mut open = self.lock();
        let idle = match open.connections.get(&id).map(|connection| &connection.state) {
            Some(ConnectionState::Answering { decides: true, .. }) => Idle::AfterDecider,
            Some(ConnectionState::Answering { decides: false, .. }) => Idle::AfterOther,
            Some(ConnectionState::Idle(_)) => Idle::Unknown,
            Some(ConnectionState::Evicted) | None => return,
        };
        open.becomes(id, ConnectionState::Idle(idle));
        drop(open);
        self.freed.notify_one();
    }

    fn left(&self, id: u64) {
        let mut open = self.lock();
        open.becomes(id, ConnectionState::Evicted);
        open.connections.remove(&id);
        drop(open);
        self.freed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// `false` if the connection is being closed.
    fn becomes(&mut self, id: u64, state: ConnectionState) -> bool {
        let Some(connection) = self.connections.get_mut(&id) else { return false };
        if matches!(connection.state, ConnectionState::Evicted) {
            return false;
        }
        match std::mem::replace(&mut connection.state, state.clone()) {
            ConnectionState::Idle(idle) => drop(self.idle.remove(&(idle, id))),
            ConnectionState::Answering { name, decides } => {
                self.others -= usize::from(!decides);
                if let Some(held) = self.by_principal.get_mut(&name) {
                    *held -= 1;
                    if *held == 0 {
                        self.by_principal.remove(&name);
                    }
                }
            }
            ConnectionState::Evicted => {}
        }
        match state {
            ConnectionState::Idle(idle) => drop(self.idle.insert((idle, id))),
            ConnectionState::Answering { name, decides } => {
                self.others += usize::from(!decides);
                *self.by_principal.entry(name).or_default() += 1;
            }
            ConnectionState::Evicted => {}
        }
        true
    }
}

/// An open connection's slot. Dropping it frees the slot.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    places: Arc<Places>,
    id: u64,
    evicted: CancellationToken,
    /// The end of the server waits for it.
    _open: TaskTrackerToken,
}

impl ConnectionSlot {
    /// Cancelled when the connection must make room for another.
    pub(crate) fn evicted(&self) -> CancellationToken {
        self.evicted.clone()
    }

    /// What its requests are told apart by.
    pub(crate) fn seats(&self, peer: IpAddr) -> Seats {
        Seats { places: Arc::clone(&self.places), id: self.id, peer }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        metrics::gauge!("folkmoot_connections").decrement(1);
        self.places.left(self.id);
    }
}

/// One connection, for the requests that come on it.
#[derive(Clone, Debug)]
pub(crate) struct Seats {
    places: Arc<Places>,
    id: u64,
    peer: IpAddr,
}

impl Seats {
    /// The next request; `None` if the connection is being closed.
    pub(crate) fn begin(&self) -> Option<Seat> {
        self.places.begin(self.id, self.peer)
    }
}

/// One request, until its answer was sent. Whoever keeps a clone keeps the connection in use, as a
/// WebSocket does.
#[derive(Clone, Debug)]
pub(crate) struct Seat(Arc<ActiveRequest>);

#[derive(Debug)]
struct ActiveRequest {
    places: Arc<Places>,
    id: u64,
    peer: IpAddr,
}

impl Seat {
    /// The request is this principal's. From now on the connection is not closed for another.
    pub(crate) fn authenticated(&self, principal: &Principal) -> Result<(), NoPlace> {
        self.0.places.authenticated(self.0.id, principal)
    }

    /// Where it comes from.
    pub(crate) fn peer(&self) -> IpAddr {
        self.0.peer
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.places.answered(self.id);
    }
}
