//! Which addresses may be connected to: not this machine, private networks or cloud metadata,
//! unless the configuration allows it.
//!
//! The person who adds a webhook names an address, and our server connects to it from our network.
//! So the check happens when connecting, on the actual address: names are resolved here, addresses
//! that are not allowed are removed, and the connection uses only the rest. The name cannot change
//! its meaning between the check and the connection. A host that is an IP address is not resolved;
//! it is checked before the request.

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

/// The rules for allowed addresses. Clones share them.
#[derive(Clone)]
pub struct AddressGuard {
    allowed: Arc<Allowed>,
    lookup: Arc<dyn Resolve>,
}

/// The entries of `[notify] allow`.
#[derive(Debug, Default)]
struct Allowed {
    networks: Vec<IpNetwork>,
    hosts: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressRefusal {
    /// It is not a valid webhook address.
    #[error("{0}")]
    Unusable(String),
    /// The address is not public.
    #[error("{address} is {kind}; to send there, add {address} to `allow` in [notify]")]
    Address { address: IpAddr, kind: AddressKind },
    /// The name resolves only to such addresses.
    #[error("{host} is {address}, {kind}; to send there, add {} to `allow` in [notify]",
        if .kind.is_ours() { .host.clone() } else { .address.to_string() })]
    Resolved {
        host: String,
        /// The address it resolves to.
        address: IpAddr,
        /// Its kind.
        kind: AddressKind,
    },
    /// Plain http could be read on the way.
    #[error("{host} would be told over plain http: use https, or add {host} to `allow` in [notify]")]
    Plain {
        /// The host.
        host: String,
    },
}

impl AddressRefusal {
    /// Whether the refusal depends on name resolution, which may change.
    pub fn may_change(&self) -> bool {
        matches!(self, AddressRefusal::Resolved { .. })
    }
}

folkmoot_core::vocabulary! {
    /// The kinds of addresses that are not public.
    pub enum AddressKind {
        /// This machine.
        Loopback = "a loopback address",
        /// A private network (RFC 1918, RFC 4193).
        Private = "a private address",
        /// A carrier's network (RFC 6598).
        Shared = "an address of a provider's own network",
        /// The local link, where clouds put their metadata.
        LinkLocal = "a link-local address, where clouds keep their metadata",
        /// A cloud's metadata service at an ordinary-looking address.
        Metadata = "where a cloud keeps its metadata",
        /// Every address of this machine.
        Unspecified = "the unspecified address",
        Multicast = "a multicast address",
        Broadcast = "the broadcast address",
        /// Ranges for documentation, benchmarks, transition and future use.
        Reserved = "an address of a reserved range",
    }
}

impl AddressKind {
    /// Whether the user's own hosts have such addresses, so that allowing the host's name is
    /// enough.
    fn is_ours(self) -> bool {
        matches!(self, AddressKind::Loopback | AddressKind::Private | AddressKind::Shared)
    }
}

/// The kind of an address; `None` if it is public.
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

/// Only 2000::/3 is public. An IPv6 address that leads to an IPv4 address has that address's kind.
fn kind_v6(address: Ipv6Addr) -> Option<AddressKind> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match [a, b, c, d, e, f] {
        _ if address.is_unspecified() => Some(AddressKind::Unspecified),
        _ if address.is_loopback() => Some(AddressKind::Loopback),
        // IPv4-compatible addresses are deprecated; no public host uses them.
        [0, 0, 0, 0, 0, 0] => Some(kind_v4(v4(g, h)).unwrap_or(AddressKind::Reserved)),
        // NAT64: in IPv6-only networks every IPv4 host is reached through it.
        [0x64, 0xff9b, 0, 0, 0, 0] => kind_v4(v4(g, h)),
        // 6to4 and Teredo are deprecated too.
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
    /// Allows public addresses, and what `allow` names: networks, addresses, host names.
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

    /// Uses another resolver.
    pub fn resolved_by(mut self, lookup: Arc<dyn Resolve>) -> Self {
        self.lookup = lookup;
        self
    }

    /// Parses an address and refuses what can be refused without resolving its name. Names are
    /// checked when they are connected to.
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

    /// Resolves a name.
    pub async fn look_up(&self, host: &str) -> Result<Vec<IpAddr>, Unresolved> {
        if let Some(address) = literal(host) {
            return Ok(vec![address]);
        }
        let name: Name = host.parse().map_err(|_| Unresolved::Unknown(format!("{host:?} is no host name")))?;
        let found = self.lookup.resolve(name).await.map_err(|error| Unresolved::Unknown(error.to_string()))?;
        Ok(found.map(|address| address.ip()).collect())
    }

    /// Resolves a name and removes addresses that are not allowed. Only the rest is ever connected
    /// to; for plain http, only explicitly allowed addresses.
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

    /// Whether this address may be connected to. `None` means that plain http is not allowed there.
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

    /// A resolver for reqwest, which calls it for every name it connects to.
    pub fn resolver(&self, is_plain: bool) -> Arc<dyn Resolve> {
        Arc::new(Resolver { guard: self.clone(), is_plain })
    }
}

/// Why a name has no usable address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    #[error(transparent)]
    Refused(#[from] AddressRefusal),
    #[error("{0}")]
    Unknown(String),
}

/// The host as an IP address, if it is one. URL parsing has already normalised other notations:
/// 127.1, 0x7f000001 and 2130706433 are 127.0.0.1 here.
fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// A host name in normalised form, for comparison.
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

/// Resolves names with the operating system.
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
