//! The state that handlers share.

use std::{
    net::{IpAddr, Ipv6Addr},
    num::NonZeroU32,
    sync::Arc,
    time::Duration,
};

use folkmoot_core::{Name, Principal, Role, gate::GatePolicy};
use folkmoot_engine::{AgentLimit, Engine, Workflows};
use folkmoot_workflows::{Voices, debate::Effects};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    Config, ServerKey, ServerLimits, accept::RequestGuard, debates::progress_cache::ProgressCache, error::ApiError,
    figures, notify::Notifier, observe::Adopt, socket::Origin,
};

/// Concurrent replays of debates; others wait.
const REPLAYS_MAX: usize = 2;

/// Concurrent pages of one agent; its others wait. Fewer than the store's connections for reading.
const AGENT_PAGES_MAX: usize = 2;

/// Other requests of one agent that are answered concurrently, long answers until they are sent. As
/// many as its concurrent writes, so that it slows none of them.
const AGENT_ANSWERS_MAX: usize = 64;

/// KiB of long bodies of one agent that are received concurrently; its others wait unread.
const AGENT_BODIES_KIB_MAX: usize = 32 << 10;

const BAD_TOKENS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(300).expect("300 is not 0");

/// The models and tools of our own agents.
#[derive(Debug)]
pub(crate) struct AgentSetup {
    pub(crate) voices: Arc<dyn Voices>,
    pub(crate) effects: Arc<dyn Effects>,
    pub(crate) replays: Workflows,
}

/// Clones share the same server.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) engine: Engine,
    pub(crate) key: Arc<ServerKey>,
    pub(crate) notifier: Notifier,
    pub(crate) limits: Arc<ServerLimits>,
    /// Foreign origins whose pages may open sockets.
    pub(crate) origins: Arc<[Origin]>,
    pub(crate) adopt: Option<Adopt>,
    pub(crate) voices: Arc<dyn Voices>,
    pub(crate) effects: Arc<dyn Effects>,
    /// Workflows that can be replayed.
    pub(crate) replays: Workflows,
    /// Limits replays, because each holds a whole journal in memory.
    pub(crate) replaying: Arc<Semaphore>,
    /// The latest progress of debates.
    pub(crate) seen: Arc<ProgressCache>,
    pub(crate) policy: Arc<GatePolicy>,
    /// Whether new plans ask people.
    pub(crate) asks_about_plans: bool,
    /// It serves only while a command-line verb runs.
    pub(crate) is_temporary: bool,
    /// Cancelled at shutdown; ends every stream and wait.
    pub(crate) closing: CancellationToken,
    rate: Arc<DefaultKeyedRateLimiter<Name>>,
    bad_tokens: Arc<DefaultKeyedRateLimiter<IpAddr>>,
    /// Kibibytes that each agent may still send; `None` means no limit.
    agent_kibibytes: Option<Arc<DefaultKeyedRateLimiter<Name>>>,
    pub(crate) agent_pages: Arc<AgentLimit>,
    pub(crate) agent_answers: Arc<AgentLimit>,
    pub(crate) agent_bodies: Arc<AgentLimit>,
    pub(crate) figures: Arc<figures::Routes>,
    pub(crate) metrics: PrometheusHandle,
}

impl App {
    pub(crate) fn new(
        engine: Engine,
        key: Arc<ServerKey>,
        notifier: Notifier,
        AgentSetup { voices, effects, replays }: AgentSetup,
        config: &Config,
    ) -> Self {
        let per_second = NonZeroU32::new(config.limits.requests_per_second).unwrap_or(NonZeroU32::MIN);
        Self {
            engine,
            key,
            notifier,
            limits: Arc::new(config.limits.clone()),
            origins: config.origins.clone().into(),
            adopt: config.adopt,
            voices,
            effects,
            replays,
            replaying: Arc::new(Semaphore::new(REPLAYS_MAX)),
            seen: Arc::default(),
            policy: Arc::new(config.policy.clone()),
            asks_about_plans: config.plans.asks,
            is_temporary: config.temporary,
            closing: CancellationToken::new(),
            rate: Arc::new(RateLimiter::keyed(Quota::per_second(per_second))),
            bad_tokens: Arc::new(RateLimiter::keyed(Quota::per_minute(BAD_TOKENS_PER_MINUTE))),
            agent_kibibytes: agent_kibibytes_per_hour(config.limits.bytes_per_hour_per_agent),
            agent_pages: Arc::new(AgentLimit::new(AGENT_PAGES_MAX)),
            agent_answers: Arc::new(AgentLimit::new(AGENT_ANSWERS_MAX)),
            agent_bodies: Arc::new(AgentLimit::new(AGENT_BODIES_KIB_MAX)),
            figures: Arc::default(),
            metrics: figures::recorder(),
        }
    }

    pub(crate) fn heartbeat(&self) -> Duration {
        Duration::from_millis(self.limits.heartbeat_ms)
    }

    /// Whether this principal is within its request rate. Keys are principals, so there are only as
    /// many as tokens.
    pub(crate) fn admits(&self, name: &Name) -> bool {
        self.rate.check_key(name).is_ok()
    }

    /// Whether this principal may send `bytes` more. People have no limit.
    pub(crate) fn takes(&self, principal: &Principal, bytes: usize) -> bool {
        let kibibytes = u32::try_from(bytes.div_ceil(1024)).ok().and_then(NonZeroU32::new);
        match (&self.agent_kibibytes, kibibytes) {
            (Some(limiter), Some(kibibytes)) if principal.role == Role::Agent => {
                matches!(limiter.check_key_n(&principal.name, kibibytes), Ok(Ok(())))
            }
            _ => true,
        }
    }

    /// The error for an invalid token. Too many from one address must wait; valid tokens from there
    /// are not affected.
    pub(crate) fn bad_token(&self, guard: Option<&RequestGuard>) -> ApiError {
        metrics::counter!("folkmoot_bad_tokens_total").increment(1);
        match guard.map(|guard| self.bad_tokens.check_key(&network(guard.peer()))) {
            Some(Err(_)) => ApiError::too_many_bad_tokens(),
            Some(Ok(())) | None => ApiError::unauthenticated(),
        }
    }

    /// Forgets addresses without recent bad tokens.
    pub(crate) fn forget_addresses(&self) {
        self.bad_tokens.retain_recent();
    }
}

/// Groups addresses of one household: for IPv6, by network.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        address => address,
    }
}

fn agent_kibibytes_per_hour(bytes: u64) -> Option<Arc<DefaultKeyedRateLimiter<Name>>> {
    let kibibytes = u32::try_from(bytes / 1024).unwrap_or(u32::MAX);
    NonZeroU32::new(kibibytes).map(|kibibytes| Arc::new(RateLimiter::keyed(Quota::per_hour(kibibytes))))
}
