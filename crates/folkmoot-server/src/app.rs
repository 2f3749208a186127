//! What every handler can reach.

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
    Config, ServerKey, ServerLimits, accept::Seat, debates::progress_cache::ProgressCache, error::ApiError, figures,
    notify::Notifier, observe::Adopt, socket::Origin,
};

/// So many debates are replayed at the same time; others wait.
const REPLAYS_MAX: usize = 2;

/// So many pages does one agent read at the same time; its others wait. Fewer than the store's
/// connections for reading.
const AGENT_PAGES_MAX: usize = 2;

/// So many KiB of long bodies of one agent are received at the same time; its others wait unread.
const AGENT_BODIES_KIB_MAX: usize = 32 << 10;

/// So many requests with bad tokens may come from one address.
const BAD_TOKENS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(300).expect("300 is not 0");

/// What our own agents work with.
#[derive(Debug)]
pub(crate) struct AgentSetup {
    pub(crate) voices: Arc<dyn Voices>,
    pub(crate) effects: Arc<dyn Effects>,
    pub(crate) replays: Workflows,
}

/// Clones are the same server.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) engine: Engine,
    pub(crate) key: Arc<ServerKey>,
    pub(crate) notifier: Notifier,
    pub(crate) limits: Arc<ServerLimits>,
    /// Whose pages may open sockets, beside this server's own.
    pub(crate) origins: Arc<[Origin]>,
    pub(crate) adopt: Option<Adopt>,
    /// Who can be asked.
    pub(crate) voices: Arc<dyn Voices>,
    /// What debates do outside of themselves.
    pub(crate) effects: Arc<dyn Effects>,
    /// The workflows that can be replayed.
    pub(crate) replays: Workflows,
    /// A replay holds a whole journal in memory.
    pub(crate) replaying: Arc<Semaphore>,
    /// How far debates were when somebody last looked.
    pub(crate) seen: Arc<ProgressCache>,
    /// What holds for gates.
    pub(crate) policy: Arc<GatePolicy>,
    /// Whether people are asked about plans that are started here.
    pub(crate) asks_about_plans: bool,
    /// It serves for as long as a verb of the command line runs.
    pub(crate) is_temporary: bool,
    /// Cancelled when the server is told to end: every stream and every wait ends with it.
    pub(crate) closing: CancellationToken,
    rate: Arc<DefaultKeyedRateLimiter<Name>>,
    bad_tokens: Arc<DefaultKeyedRateLimiter<IpAddr>>,
    /// Kibibytes that each agent may still send; `None` where that is not limited.
    agent_kibibytes: Option<Arc<DefaultKeyedRateLimiter<Name>>>,
    pub(crate) agent_pages: Arc<AgentLimit>,
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
            agent_bodies: Arc::new(AgentLimit::new(AGENT_BODIES_KIB_MAX)),
            figures: Arc::default(),
            metrics: figures::recorder(),
        }
    }

    /// How often a silent stream says that it is still there.
    pub(crate) fn heartbeat(&self) -> Duration {
        Duration::from_millis(self.limits.heartbeat_ms)
    }

    /// Whether this principal may ask once more just now. Keys are principals, so there are only as
    /// many as tokens.
    pub(crate) fn admits(&self, name: &Name) -> bool {
        self.rate.check_key(name).is_ok()
    }

    /// Whether this principal may send so many bytes more just now. People may send any number.
    pub(crate) fn takes(&self, principal: &Principal, bytes: usize) -> bool {
        let kibibytes = u32::try_from(bytes.div_ceil(1024)).ok().and_then(NonZeroU32::new);
        match (&self.agent_kibibytes, kibibytes) {
            (Some(limiter), Some(kibibytes)) if principal.role == Role::Agent => {
                matches!(limiter.check_key_n(&principal.name, kibibytes), Ok(Ok(())))
            }
            _ => true,
        }
    }

    /// What is said to a token that is not valid. Too many from one address are told to wait; valid
    /// tokens from there are not.
    pub(crate) fn bad_token(&self, seat: Option<&Seat>) -> ApiError {
        metrics::counter!("folkmoot_bad_tokens_total").increment(1);
        match seat.map(|seat| self.bad_tokens.check_key(&network(seat.peer()))) {
            Some(Err(_)) => ApiError::too_many_bad_tokens(),
            Some(Ok(())) | None => ApiError::unauthenticated(),
        }
    }

    /// Forgets the addresses from which no bad token has come for a while.
    pub(crate) fn forget_addresses(&self) {
        self.bad_tokens.retain_recent();
    }
}

/// An address as one household has it: of IPv6, the network.
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
