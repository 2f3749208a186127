use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use super::*;

fn guard(allow: &[&str]) -> AddressGuard {
    AddressGuard::new(&allow.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>()).expect("it can be read")
}

/// Answers with the next of these each time, and with the last for ever.
struct Changing {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
    names: Mutex<Vec<String>>,
}

impl Resolve for Changing {
    fn resolve(&self, name: Name) -> Resolving {
        self.names.lock().expect("no panic").push(name.as_str().to_owned());
        let at = self.asked.fetch_add(1, Ordering::SeqCst).min(self.answers.len() - 1);
        let found: Vec<SocketAddr> = self.answers[at].iter().map(|address| SocketAddr::new(*address, 0)).collect();
        Box::pin(async move { Ok(Box::new(found.into_iter()) as Addrs) })
    }
}

fn changing(answers: &[&[&str]]) -> Arc<Changing> {
    let answers = answers.iter().map(|answer| answer.iter().map(|text| text.parse().expect("an address")).collect());
    Arc::new(Changing { answers: answers.collect(), asked: AtomicUsize::new(0), names: Mutex::default() })
}

#[test]
fn what_not_everybody_can_reach_is_known() {
    let cases = "
        127.0.0.1 loopback, 127.255.255.254 loopback, ::1 loopback, ::ffff:127.0.0.1 loopback, ::ffff:7f00:1 loopback
        ::127.0.0.1 loopback, 64:ff9b::127.0.0.1 loopback, 2002:7f00:1:: loopback, 2001:0:4136:e378:8000:63bf:80ff:fffe loopback
        10.0.0.0 private, 10.255.255.255 private, 172.16.0.1 private, 172.31.255.255 private, 192.168.1.1 private
        fc00:: private, fdff:ffff::1 private, fd00:ec2::254 private, ::ffff:10.1.2.3 private, 2002:c0a8:101::1 private
        64:ff9b::10.0.0.1 private, ::192.168.0.1 private
        169.254.169.254 link-local, 169.254.0.1 link-local, fe80::1 link-local, febf::1 link-local, ::ffff:169.254.169.254 link-local
        64:ff9b::a9fe:a9fe link-local, 2002:a9fe:a9fe:: link-local, ::169.254.169.254 link-local
        100.64.0.0 provider, 100.100.100.200 provider, 100.127.255.255 provider, 168.63.129.16 metadata
        0.0.0.0 unspecified, :: unspecified, 0.1.2.3 reserved, ::ffff:0.0.0.0 unspecified
        224.0.0.1 multicast, 239.255.255.255 multicast, ff02::1 multicast, 255.255.255.255 broadcast, 240.0.0.1 reserved
        192.0.0.192 reserved, 192.0.2.1 reserved, 198.18.0.1 reserved, 198.19.255.255 reserved, 198.51.100.7 reserved
        203.0.113.9 reserved, 192.88.99.1 reserved, 2001:db8::1 reserved, 3fff::1 reserved, 2001:2::1 reserved, 2001:20::1 reserved
        100::1 reserved, fec0::1 reserved, 64:ff9b:1::1 reserved, 5f00::1 reserved, 4000::1 reserved, 2002:808:808:: reserved
        1.1.1.1 public, 8.8.8.8 public, 9.255.255.255 public, 11.0.0.0 public, 100.63.255.255 public, 100.128.0.0 public
        126.255.255.255 public, 128.0.0.0 public, 172.15.255.255 public, 172.32.0.0 public, 192.167.255.255 public, 192.169.0.0 public
        169.253.255.255 public, 169.255.0.0 public, 198.17.255.255 public, 198.20.0.0 public, 223.255.255.255 public
        2606:4700:4700::1111 public, 2a00:1450::1 public, 2001:4860:4860::8888 public, ::ffff:8.8.8.8 public, 64:ff9b::8.8.8.8 public
    ";
    for case in cases.split([',', '\n']).map(str::trim).filter(|case| !case.is_empty()) {
        let (address, expected) = case.split_once(' ').expect("an address and what it is");
        let found = kind(address.parse().expect("an address"));
        let is_right = match expected {
            "public" => found.is_none(),
            word => found.is_some_and(|kind| kind.word().contains(word)),
        };
        assert!(is_right, "{address} is {found:?}, not {expected}");
    }
}

#[test]
fn no_spelling_of_this_machine_is_let_through() {
    let spellings = "https://127.0.0.1/ https://127.1/ https://127.0.1/ https://0x7f.0.0.1/ https://0x7f000001/ https://2130706433/
        https://017700000001/ https://0177.0.0.1/ https://127.0.0.1./ https://[::1]/ https://[0:0:0:0:0:0:0:1]/
        https://[::ffff:127.0.0.1]/ https://[::ffff:7f00:1]/ https://[::127.0.0.1]/ https://0/ https://0.0.0.0:8080/ https://[::]/
        HTTPS://127.0.0.1/ https:127.0.0.1 https:\\\\127.0.0.1/ https://１２７.0.0.1/ https://127。0。0。1/ https://%31%32%37.0.0.1/
        https://169.254.169.254/latest/meta-data https://0xa9fea9fe/ https://[64:ff9b::a9fe:a9fe]/ https://[fe80::1]/";
    for url in spellings.split_whitespace() {
        let refused = guard(&[]).check(url).expect_err(url);
        assert!(matches!(refused, AddressRefusal::Address { .. }), "{url}: {refused}");
    }
    for url in ["https://1.1.1.1/", "https://[2606:4700:4700::1111]:8443/x", "https://hooks.example.org/a?b"] {
        guard(&[]).check(url).unwrap_or_else(|refused| panic!("{url}: {refused}"));
    }
}

#[test]
fn what_is_no_address_is_said_to_be_none() {
    for (url, why) in [
        ("", "this is no address"),
        ("example.org", "this is no address"),
        ("ftp://example.org/", "must begin with https://"),
        ("file:///etc/passwd", "must begin with https://"),
        ("https://", "this is no address"),
        ("https://user:geheim@example.org/", "no user and no password"),
        ("https://trusted.example.org@127.0.0.1/", "no user and no password"),
        ("https://[fe80::1%25eth0]/", "this is no address"),
        ("https://exa mple.org/", "this is no address"),
        ("http://1.1.1.1/", "over plain http"),
    ] {
        let refused = guard(&[]).check(url).expect_err(url).to_string();
        assert!(refused.contains(why) && !refused.contains("geheim"), "{url}: {refused}");
    }
}

#[test]
fn what_is_allowed_is_let_through_and_nothing_beside_it() {
    let guard = guard(&["127.0.0.0/8", "10.1.0.0/16", "fd00::/8", "192.168.7.7"]);
    for url in [
        "http://127.0.0.1:9/",
        "https://10.1.255.255/",
        "http://[fd12::1]/",
        "https://192.168.7.7/",
        "http://[::ffff:10.1.0.1]/",
    ] {
        guard.check(url).unwrap_or_else(|refused| panic!("{url}: {refused}"));
    }
    for url in
        ["https://10.2.0.0/", "https://10.0.255.255/", "https://192.168.7.8/", "https://[::1]/", "https://[fc00::1]/"]
    {
        guard.check(url).expect_err(url);
    }
}

#[test]
fn an_entry_that_means_nothing_is_refused() {
    for entry in [
        "",
        "10.0.0.0/33",
        "fd00::/129",
        "10.0.0/8",
        "not a host",
        "https://example.org",
        "a/b",
        "user@host",
        "host:80",
        "1.2.3.4/x",
    ] {
        let why = AddressGuard::new(&[entry.to_owned()]).expect_err(entry);
        assert!(!why.is_empty());
    }
    for entry in ["0.0.0.0/0", "::/0", "hooks.internal", "Hooks.Internal.", "bücher.example"] {
        AddressGuard::new(&[entry.to_owned()]).unwrap_or_else(|why| panic!("{entry}: {why}"));
    }
}

#[tokio::test]
async fn a_name_gives_only_what_may_be_reached() {
    let mixed = guard(&[]).resolved_by(changing(&[&["10.0.0.1", "8.8.8.8", "::1"]]));
    assert_eq!(mixed.resolve("mixed.example.org", false).await, Ok(vec!["8.8.8.8".parse().expect("an address")]));
    let inside = guard(&[]).resolved_by(changing(&[&["10.0.0.1"]]));
    let why = inside.resolve("inside.example.org", false).await.expect_err("private").to_string();
    assert_eq!(
        why,
        "inside.example.org is 10.0.0.1, a private address; to send there, add inside.example.org to `allow` in [notify]"
    );
    let nobody = guard(&[]).resolved_by(changing(&[&[]]));
    assert!(matches!(nobody.resolve("x.example.org", false).await, Err(Unresolved::Unknown(_))));
}

#[tokio::test]
async fn an_allowed_name_may_be_inside_but_not_metadata() {
    let allowed = |answer: &[&str]| guard(&["hooks.internal"]).resolved_by(changing(&[answer]));
    for host in ["hooks.internal", "HOOKS.internal", "hooks.internal."] {
        assert!(allowed(&["10.0.0.1"]).resolve(host, true).await.is_ok(), "{host}");
    }
    assert!(allowed(&["10.0.0.1"]).resolve("other.internal", false).await.is_err());
    assert!(allowed(&["169.254.169.254"]).resolve("hooks.internal", false).await.is_err());
    assert!(allowed(&["8.8.8.8"]).resolve("hooks.internal", true).await.is_ok(), "allowed means also over plain http");
    assert!(allowed(&["8.8.8.8"]).resolve("hooks.example.org", true).await.is_err(), "and nobody else");
}
