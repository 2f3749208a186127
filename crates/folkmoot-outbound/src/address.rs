//! Where a message may go: not to this machine, its neighbours or a cloud's metadata, unless the
//! configuration says so.
//!
//! Whoever may add a webhook names an address, and our server asks it from where we are. So the
//! check is on the address that is really connected to, when it is connected to: names are resolved
//! here, what may not be reached is taken out of the answer, and the connection is made to what is
//! left. An answer that changes between a check and the connection has nothing between to change. A
//! host that is an address itself is never asked of a resolver, and is checked before the request
//! is made.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
    sync::Arc,
};

use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

#[cfg(test)]
mod tests;

/// Which addresses may be connected to. Clones are the same guard.
#[derive(Clone)]
pub struct AddressGuard {
    allowed: Arc<Allowed>,
    lookup: Arc<dyn Resolve>,
}

/// What `[notify] allow` names.
#[derive(Debug, Default)]
struct Allowed {
    networks: Vec<IpNetwork>,
    hosts: Vec<String>,
}

/// Why an address is not connected to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressRefusal {
    /// It is no address of a webhook at all.
    #[error("{0}")]
    Unusable(String),
    /// The address itself is one of ours, or of nobody.
    #[error("{address} is {kind}; to send there, add {address} to `allow` in [notify]")]
    Address { address: IpAddr, kind: AddressKind },
    /// All that the name means is such an address.
    #[error("{host} is {address}, {kind}; to send there, add {} to `allow` in [notify]",
        if .kind.is_ours() { .host.clone() } else { .address.to_string() })]
    Resolved {
        host: String,
        /// What it means.
        address: IpAddr,
        /// What that is.
        kind: AddressKind,
    },
    /// It would be read on the way.
    #[error("{host} would be told over plain http: use https, or add {host} to `allow` in [notify]")]
    Plain {
        /// Where it was to go.
        host: String,
    },
}

impl AddressRefusal {
    /// Whether it is so because of what a name meant just now, which may change.
    pub fn may_change(&self) -> bool {
        matches!(self, AddressRefusal::Resolved { .. })
    }
}

folkmoot_core::vocabulary! {
    /// What an address is that not everybody on the internet can reach.
    pub enum AddressKind {
        /// This machine.
        Loopback = "a loopback address",
        /// A network of one's own (RFC 1918, RFC 4193).
        Private = "a private address",
        /// A provider's own network (RFC 6598).
        Shared = "an address of a provider's own network",
        /// The next machine, and where clouds keep their metadata.
        LinkLocal = "a link-local address, where clouds keep their metadata",
        /// Where a cloud keeps its metadata, though it looks like any other.
        Metadata = "where a cloud keeps its metadata",
        /// Every address of this machine.
        Unspecified = "the unspecified address",
        /// Many machines.
        Multicast = "a multicast address",
        /// Every machine of a network.
        Broadcast = "the broadcast address",
        /// Documentation, benchmarks, transition, the future.
        Reserved = "an address of a reserved range",
    }
}

impl AddressKind {
    /// Whether a host of one's own has such an address, so that allowing its name is enough.
    fn is_ours(self) -> bool {
        matches!(self, AddressKind::Loopback | AddressKind::Private | AddressKind::Shared)
    }
}

/// What an address is; `None` for one that everybody on the internet can reach.
pub fn kind(address: IpAddr) -> Option<AddressKind> {
    match address.to_canonical() {
        IpAddr::V4(address) => kind_v4(address),
        IpAddr::V6(address) => kind_v6(address),
    }
}

fn kind_v4(address: Ipv4Addr) -> Option<AddressKind> {
    let within = |networks: &[(&str, u8)]| {
        networks.iter().any(|(base, bits)| {
            let base: Ipv4Addr = base.parse().expect("written as an address");
            IpNetwork { base: base.into(), bits: *bits }.holds(address.into())
        })
    };
    if address.is_unspecified() {
        Some(AddressKind::Unspecified)
    } else if address.is_loopback() {
        Some(AddressKind::Loopback)
    } else if address.is_private() {
        Some(AddressKind::Private)
    } else if address.is_link_local() {
        Some(AddressKind::LinkLocal)
    } else if within(&[("100.64.0.0", 10)]) {
        Some(AddressKind::Shared)
    } else if address.is_broadcast() {
        Some(AddressKind::Broadcast)
    } else if address.is_multicast() {
        Some(AddressKind::Multicast)
    } else if within(&[("168.63.129.16", 32)]) {
        Some(AddressKind::Metadata)
    } else if within(&[
        ("0.0.0.0", 8),
        ("192.0.0.0", 24),
        ("192.0.2.0", 24),
        ("192.88.99.0", 24),
        ("198.18.0.0", 15),
        ("198.51.100.0", 24),
        ("203.0.113.0", 24),
        ("240.0.0.0", 4),
    ]) {
        Some(AddressKind::Reserved)
    } else {
        None
    }
}

/// Of IPv6 only 2000::/3 is given out, so that all else is somebody's own. What leads to an IPv4
/// address is what that is.
fn kind_v6(address: Ipv6Addr) -> Option<AddressKind> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match [a, b, c, d, e, f] {
        _ if address.is_unspecified() => Some(AddressKind::Unspecified),
        _ if address.is_loopback() => Some(AddressKind::Loopback),
        // IPv4-compatible, long deprecated: whatever it leads to is no public host's name.
        [0, 0, 0, 0, 0, 0] => Some(kind_v4(v4(g, h)).unwrap_or(AddressKind::Reserved)),
        // NAT64: where there is nothing but IPv6, every IPv4 host is reached through it.
        [0x64, 0xff9b, 0, 0, 0, 0] => kind_v4(v4(g, h)),
        // 6to4 and Teredo are deprecated as well.
        [0x2002, high, low, ..] => Some(kind_v4(v4(high, low)).unwrap_or(AddressKind::Reserved)),
        [0x2001, 0, ..] => Some(kind_v4(v4(!g, !h)).unwrap_or(AddressKind::Reserved)),
        _ if a & 0xfe00 == 0xfc00 => Some(AddressKind::Private),
        _ if a & 0xffc0 == 0xfe80 => Some(AddressKind::LinkLocal),
        _ if address.is_multicast() => Some(AddressKind::Multicast),
        [0x2001, 0..=0x01ff | 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => Some(AddressKind::Reserved),
        _ if a & 0xe000 == 0x2000 => None,
        _ => Some(AddressKind::Reserved),
    }
}

/// A network: `10.1.0.0/16`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IpNetwork {
    base: IpAddr,
    bits: u8,
}

impl IpNetwork {
    fn holds(&self, address: IpAddr) -> bool {
        match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                base.to_bits() & mask == address.to_bits() & mask
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                base.to_bits() & mask == address.to_bits() & mask
            }
            _ => false,
        }
    }
}

impl FromStr for IpNetwork {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (base, bits) = text.split_once('/').map_or((text, None), |(base, bits)| (base, Some(bits)));
        let base: IpAddr = base.parse().map_err(|_| format!("{base:?} is no address"))?;
        let bits_max = if base.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(bits_max), str::parse).ok().filter(|bits| *bits <= bits_max);
        let bits = bits.ok_or_else(|| format!("{text:?} is no network: write 10.1.0.0/16 or fd00::/8"))?;
        Ok(Self { base, bits })
    }
}

impl AddressGuard {
    /// Lets through what everybody on the internet can reach, and what `allow` names: networks,
    /// addresses, host names.
    pub fn new(allow: &[String]) -> Result<Self, String> {
        let mut allowed = Allowed::default();
        for entry in allow {
            let looks_numeric = entry.contains(['/', ':']) || entry.parse::<IpAddr>().is_ok();
            if looks_numeric {
                allowed.networks.push(entry.parse()?);
            } else {
                allowed.hosts.push(host_name(entry)?);
            }
        }
        Ok(Self { allowed: Arc::new(allowed), lookup: Arc::new(SystemResolver) })
    }

    /// The same, with another way to find out what names mean.
    pub fn resolved_by(mut self, lookup: Arc<dyn Resolve>) -> Self {
        self.lookup = lookup;
        self
    }

    /// Reads an address, and refuses what can be refused without asking what its name means. That
    /// happens when it is connected to.
    pub fn check(&self, url: &str) -> Result<Url, AddressRefusal> {
        let unusable = |why: &str| AddressRefusal::Unusable(format!("this is no address to send to: {why}"));
        let url = Url::parse(url).map_err(|error| unusable(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unusable("it must begin with https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(unusable("it must hold no user and no password, which would be shown with it"));
        }
        let Some(host) = url.host_str().filter(|host| !host.is_empty()) else {
            return Err(unusable("it names no host"));
        };
        if let Some(address) = literal(host) {
            self.admits(address, None, url.scheme() == "http").map_err(|kind| match kind {
                Some(kind) => AddressRefusal::Address { address: address.to_canonical(), kind },
                None => AddressRefusal::Plain { host: address.to_canonical().to_string() },
            })?;
        }
        Ok(url)
    }

    /// What a name means.
    pub async fn look_up(&self, host: &str) -> Result<Vec<IpAddr>, Unresolved> {
        if let Some(address) = literal(host) {
            return Ok(vec![address]);
        }
        let name: Name = host.parse().map_err(|_| Unresolved::Unknown(format!("{host:?} is no host name")))?;
        let found = self.lookup.resolve(name).await.map_err(|error| Unresolved::Unknown(error.to_string()))?;
        Ok(found.map(|address| address.ip()).collect())
    }

    /// What a name means, without what may not be reached. Nothing else is ever connected to; for
    /// plain http, only what is allowed.
    pub async fn resolve(&self, host: &str, is_plain: bool) -> Result<Vec<IpAddr>, Unresolved> {
        let mut refused = None;
        let mut admitted = Vec::new();
        for address in self.look_up(host).await? {
            match self.admits(address, Some(host), is_plain) {
                Ok(()) => admitted.push(address),
                Err(kind) => refused = Some((address.to_canonical(), kind)),
            }
        }
        match refused {
            _ if !admitted.is_empty() => Ok(admitted),
            Some((address, Some(kind))) => {
                Err(AddressRefusal::Resolved { host: host.to_owned(), address, kind }.into())
            }
            Some((_, None)) => Err(AddressRefusal::Plain { host: host.to_owned() }.into()),
            None => Err(Unresolved::Unknown(format!("{host} has no address"))),
        }
    }

    /// Whether this may be connected to. Plain http goes only to what is allowed by name or
    /// address; else `None` says so.
    fn admits(&self, address: IpAddr, host: Option<&str>, is_plain: bool) -> Result<(), Option<AddressKind>> {
        let address = address.to_canonical();
        let kind = kind(address);
        let is_named = host.is_some_and(|host| self.names(host)) && kind.is_none_or(AddressKind::is_ours);
        let is_allowed = is_named || self.allowed.networks.iter().any(|network| network.holds(address));
        match kind {
            _ if is_allowed => Ok(()),
            None if !is_plain => Ok(()),
            refused => Err(refused),
        }
    }

    fn names(&self, host: &str) -> bool {
        host_name(host).is_ok_and(|host| self.allowed.hosts.contains(&host))
    }

    /// For reqwest, which asks it of every name that it connects to.
    pub fn resolver(&self, is_plain: bool) -> Arc<dyn Resolve> {
        Arc::new(Resolver { guard: self.clone(), is_plain })
    }
}

/// Why a name gave nothing to connect to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// It may not be connected to.
    #[error(transparent)]
    Refused(#[from] AddressRefusal),
    /// Nobody knows it.
    #[error("{0}")]
    Unknown(String),
}

/// The host of an address, if that is an address itself. In a URL, however it was written: 127.1,
/// 0x7f000001 and 2130706433 have become 127.0.0.1 when the URL was read.
fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// A host name in the one way of writing it that we compare.
fn host_name(text: &str) -> Result<String, String> {
    let url = Url::parse(&format!("https://{}/", text.trim_end_matches('.')));
    let host = url.ok().filter(|url| url.path() == "/" && url.username().is_empty() && url.port().is_none());
    let host = host.as_ref().and_then(Url::host_str).map(|host| host.trim_end_matches('.').to_owned());
    host.filter(|host| literal(host).is_none())
        .ok_or_else(|| format!("{text:?} is neither a network such as 10.1.0.0/16 nor a host name"))
}

struct Resolver {
    guard: AddressGuard,
    is_plain: bool,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (guard, is_plain) = (self.guard.clone(), self.is_plain);
        Box::pin(async move {
            let found = guard.resolve(name.as_str(), is_plain).await?;
            Ok(Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

/// Resolves names as this machine does.
struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(Box::new(found.collect::<Vec<_>>().into_iter()) as Addrs)
        })
    }
}

impl fmt::Debug for AddressGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AddressGuard").field(&self.allowed).finish()
    }
}
