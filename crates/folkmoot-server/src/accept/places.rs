//! Connection slots: who holds one, and which connection makes room when there are too many.
//!
//! A connection takes a place when it is accepted, before anybody knows whose it is. When all
//! places are taken, the least valuable connection is closed for the new one: first one without a
//! valid token so far, then one that is silent between two requests. A connection whose
//! authenticated request is being answered is never closed. Principals who cannot decide (agents,
//! viewers) can hold only some of the places with such requests, so people who decide always find
//! one.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::IpAddr,
    sync::Arc,
};

use folkmoot_core::{Name, Principal};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::task_tracker::TaskTrackerToken};

use crate::ServerLimits;

/// The maximum number of places reserved for people who decide; with few connections it is a
/// quarter of them.
const KEPT_MAX: usize = 1024;
/// The default maximum for one principal; with few connections it is half of them.
const PER_PRINCIPAL: usize = 4096;

#[derive(Debug)]
pub(crate) struct Places {
    limit: usize,
    /// For requests of principals who cannot decide.
    others_max: usize,
    per_principal_max: usize,
    open: Mutex<Open>,
    /// A place was freed, or a connection became idle.
    freed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    connections: BTreeMap<u64, TrackedConnection>,
    /// Connections that may be closed, in order.
    idle: BTreeSet<(Idle, u64)>,
    /// How many requests of principals who cannot decide are being answered.
    others: usize,
    by_principal: HashMap<Name, usize>,
}

#[derive(Debug)]
struct TrackedConnection {
    state: ConnectionState,
    /// Cancelled when the connection must make room.
    evicted: CancellationToken,
}

#[derive(Clone, Debug)]
enum ConnectionState {
    Idle(Idle),
    Answering { name: Name, decides: bool },
    Evicted,
}

/// The state of a connection that may be closed. The least valuable comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Idle {
    /// No valid token so far, and no request has been read.
    Unknown,
    /// A request without a valid token is being answered.
    Unauthenticated,
    /// Its last request was from a principal who cannot decide.
    AfterOther,
    /// Its last request was from a principal who can decide.
    AfterDecider,
}

/// Why a request cannot be answered now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// All places for principals who cannot decide are taken.
    Full,
    /// This principal has reached its maximum.
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

    /// A place for a new connection. Waits while every place is in use.
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
        let mut open = self.open.lock();
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

    /// Closes the least valuable connection, the oldest of them, if any may be closed.
    pub(crate) fn make_room(&self) {
        let mut open = self.open.lock();
        if let Some((_, id)) = open.idle.pop_first()
            && let Some(connection) = open.connections.get_mut(&id)
        {
            connection.state = ConnectionState::Evicted;
            connection.evicted.cancel();
        }
    }

    fn begin(self: &Arc<Self>, id: u64, peer: IpAddr) -> Option<RequestGuard> {
        self.open
            .lock()
            .becomes(id, ConnectionState::Idle(Idle::Unauthenticated))
            .then(|| RequestGuard(Arc::new(ActiveRequest { places: Arc::clone(self), id, peer })))
    }

    fn authenticated(&self, id: u64, principal: &Principal) -> Result<(), NoPlace> {
        let mut open = self.open.lock();
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
        let mut open = self.open.lock();
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
        let mut open = self.open.lock();
        open.becomes(id, ConnectionState::Evicted);
        open.connections.remove(&id);
        drop(open);
        self.freed.notify_one();
    }
}

impl Open {
    /// Returns `false` if the connection is being closed.
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
    /// Shutdown waits for it.
    _open: TaskTrackerToken,
}

impl ConnectionSlot {
    /// Cancelled when the connection must make room for another.
    pub(crate) fn evicted(&self) -> CancellationToken {
        self.evicted.clone()
    }

    pub(crate) fn requests(&self, peer: IpAddr) -> ConnectionRequests {
        ConnectionRequests { places: Arc::clone(&self.places), id: self.id, peer }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        metrics::gauge!("folkmoot_connections").decrement(1);
        self.places.left(self.id);
    }
}

/// One connection, for its requests.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionRequests {
    places: Arc<Places>,
    id: u64,
    peer: IpAddr,
}

impl ConnectionRequests {
    /// The next request; `None` if the connection is being closed.
    pub(crate) fn begin(&self) -> Option<RequestGuard> {
        self.places.begin(self.id, self.peer)
    }
}

/// One request, until its response is sent. A clone keeps the connection in use, as a WebSocket
/// does.
#[derive(Clone, Debug)]
pub(crate) struct RequestGuard(Arc<ActiveRequest>);

#[derive(Debug)]
struct ActiveRequest {
    places: Arc<Places>,
    id: u64,
    peer: IpAddr,
}

impl RequestGuard {
    /// The request is authenticated. From now on the connection is not closed for another.
    pub(crate) fn authenticated(&self, principal: &Principal) -> Result<(), NoPlace> {
        self.0.places.authenticated(self.0.id, principal)
    }

    /// The client's address.
    pub(crate) fn peer(&self) -> IpAddr {
        self.0.peer
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.places.answered(self.id);
    }
}
