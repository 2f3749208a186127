//! The guard on real connections. The receiver that must not be reached is one that would answer.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use folkmoot_notify::{
    AddressGuard, Post, RetryAdvice, SendFailure, Trust, slack,
    webhook::{self, WebhookSecret},
};
use folkmoot_outbound::Secret as Key;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::{guard, message, now, post, receiver::Receiver};

async fn told(guard: AddressGuard, url: &str) -> Result<(), SendFailure> {
    let post = Post::new(guard, Trust::default());
    webhook::send(&post, url, &[WebhookSecret::new([7; 32])], &message("dlv-1"), now()).await
}

/// A name that means something else each time it is asked.
struct Rebinding {
    answers: Vec<&'static str>,
    asked: AtomicUsize,
}

impl Resolve for Rebinding {
    fn resolve(&self, _: Name) -> Resolving {
        let at = self.asked.fetch_add(1, Ordering::SeqCst);
        let address = SocketAddr::new(self.answers[at.min(self.answers.len() - 1)].parse().unwrap(), 0);
        Box::pin(async move { Ok(Box::new(std::iter::once(address)) as Addrs) })
    }
}

fn rebinding(answers: &[&'static str]) -> Arc<Rebinding> {
    Arc::new(Rebinding { answers: answers.to_vec(), asked: AtomicUsize::new(0) })
}

#[tokio::test]
async fn this_machine_is_told_only_where_the_configuration_says_so() {
    let receiver = Receiver::start().await;
    let port = receiver.address.port();
    for url in [
        "http://127.0.0.1",
        "http://127.1",
        "http://2130706433",
        "http://0x7f000001",
        "http://[::ffff:127.0.0.1]",
        "http://localhost",
    ] {
        let url = format!("{url}:{port}/");
        let refused = told(guard(&[]), &url).await.expect_err(&url);
        assert!(
            refused.reason.contains("a loopback address") && refused.reason.contains("`allow`"),
            "{url}: {refused}"
        );
        assert!(receiver.received().is_empty(), "{url} was reached");
    }
    for (allow, url) in [
        ("127.0.0.0/8", "127.0.0.1"),
        ("127.0.0.1", "127.1"),
        ("localhost", "localhost"),
        ("127.0.0.0/8", "[::ffff:127.0.0.1]"),
    ] {
        let url = format!("http://{url}:{port}/");
        told(guard(&[allow]), &url).await.unwrap_or_else(|error| panic!("{url} with {allow}: {error}"));
    }
    assert_eq!(receiver.received().len(), 4, "those that are allowed reach it");
}

#[tokio::test]
async fn a_name_that_changes_its_meaning_does_not_get_through() {
    let receiver = Receiver::start().await;
    let url = format!("https://rebind.example.org:{}/", receiver.address.port());
    // A check of its own would see 8.8.8.8, and the connection then 127.0.0.1.
    for answers in [&["127.0.0.1"][..], &["169.254.169.254"], &["10.0.0.1", "127.0.0.1"]] {
        let names = rebinding(answers);
        let guard = guard(&[]).resolved_by(names.clone());
        guard.check(&url).expect("nothing is wrong with the name");
        let refused = told(guard, &url).await.expect_err("it is private");
        assert!(refused.reason.starts_with("rebind.example.org is "), "{refused}");
        assert_eq!(refused.again, RetryAdvice::Later, "a name may mean something else tomorrow");
        assert_eq!(
            names.asked.load(Ordering::SeqCst),
            1,
            "the connection is made to what was looked at, or not at all"
        );
    }
    // First public, then private: whatever was checked at another time counts for nothing.
    let names = rebinding(&["8.8.8.8", "127.0.0.1"]);
    let guarded = guard(&[]).resolved_by(names.clone());
    assert!(guarded.resolve("rebind.example.org", false).await.is_ok(), "the first answer is harmless");
    let refused = told(guarded, &url).await.expect_err("the second is not");
    assert!(refused.reason.contains("is 127.0.0.1, a loopback address"), "{refused}");
    assert!(receiver.received().is_empty());
    let plain = format!("http://rebind.example.org:{}/", receiver.address.port());
    told(guard(&["rebind.example.org"]).resolved_by(rebinding(&["127.0.0.1"])), &plain)
        .await
        .expect("it answers if allowed");
    assert_eq!(receiver.received().len(), 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (first, inside) = (Receiver::start().await, Receiver::start().await);
    for status in [301, 302, 303, 307, 308] {
        first.answers(status, &[("location", &inside.url())], "");
        let undelivered =
            webhook::send(&post(), &first.url(), &[WebhookSecret::new([7; 32])], &message("dlv-1"), now()).await;
        let undelivered = undelivered.expect_err("it is not taken");
        assert!(undelivered.reason.contains("redirects are not followed"), "{undelivered}");
        assert!(!undelivered.reason.contains("geheim"), "{undelivered}");
        assert_eq!(undelivered.again, RetryAdvice::Later);
    }
    assert_eq!((first.received().len(), inside.received().len()), (5, 0));
    webhook::send(&post(), &inside.url(), &[WebhookSecret::new([7; 32])], &message("dlv-1"), now())
        .await
        .expect("it would answer");
}

#[tokio::test]
async fn slack_goes_through_the_same_guard_and_its_address_is_shown_nowhere() {
    let receiver = Receiver::start().await;
    let url = format!("http://{}/services/T0/B0/geheim", receiver.address);
    let key = Key::new(&url, "a test").unwrap();
    let closed = Post::new(guard(&[]), Trust::default());
    let refused = slack::send(&closed, &key, &message("dlv-1")).await.expect_err("it is loopback");
    assert!(refused.reason.contains("a loopback address") && !refused.reason.contains("geheim"), "{refused}");
    slack::send(&post(), &key, &message("dlv-1")).await.expect("it is taken");
    let received = receiver.received().pop().unwrap();
    assert_eq!(received.path, "/services/T0/B0/geheim");
    let told: serde_json::Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!(told["blocks"][0]["text"]["text"], message("dlv-1").title);
    receiver.answers(404, &[], "no_service at services/T0/B0/geheim");
    let refused = slack::send(&post(), &key, &message("dlv-1")).await.expect_err("404");
    assert!(refused.reason.contains("404 Not Found: no_service at …"), "{refused}");
    receiver.answers(429, &[("retry-after", "30")], "rate_limited");
    let refused = slack::send(&post(), &key, &message("dlv-1")).await.expect_err("429");
    assert_eq!(refused.again, RetryAdvice::After(std::time::Duration::from_secs(30)));
}
