//! A receiver that is written with the format's own library, and told by our sender.

use std::time::Duration;

use axum::http::HeaderMap;
use folkmoot_core::Timestamp;
use folkmoot_notify::webhook::{self, WebhookSecret};
use standardwebhooks::{Webhook, WebhookError};

use crate::{
    message, now, post,
    receiver::{Received, Receiver},
};

async fn sent(secrets: &[WebhookSecret], id: &str, at: Timestamp) -> Received {
    let receiver = Receiver::start().await;
    webhook::send(&post(), &receiver.url(), secrets, &message(id), at).await.expect("it is taken");
    receiver.received().pop().expect("it was sent")
}

fn verified(secret: &WebhookSecret, received: &Received) -> Result<(), WebhookError> {
    Webhook::new(&secret.reveal()).unwrap().verify(&received.body, &received.headers)
}

fn seconds_from_now(seconds: i64) -> Timestamp {
    Timestamp::from_micros(now().as_micros() + seconds * 1_000_000)
}

#[tokio::test]
async fn the_formats_own_library_accepts_what_we_send() {
    let secret = WebhookSecret::new([7; 32]);
    let received = sent(std::slice::from_ref(&secret), "dlv-1", now()).await;
    verified(&secret, &received).expect("it is ours");
    let body: serde_json::Value = serde_json::from_slice(&received.body).unwrap();
    let expected = message("dlv-1");
    assert_eq!(body, serde_json::json!({ "type": expected.kind, "timestamp": expected.at, "data": expected.data }));
    assert_eq!(received.headers["content-type"], "application/json");
    assert_eq!(received.headers["webhook-id"], "dlv-1");
}

#[tokio::test]
async fn it_refuses_what_was_tampered_with() {
    let secret = WebhookSecret::new([7; 32]);
    let received = sent(std::slice::from_ref(&secret), "dlv-1", now()).await;
    let with = |name: &'static str, value: &str| {
        let mut headers: HeaderMap = received.headers.clone();
        headers.insert(name, value.parse().unwrap());
        Received { headers, ..received.clone() }
    };
    let invalid = |found: Result<(), WebhookError>| matches!(found, Err(WebhookError::InvalidSignature));
    assert!(verified(&secret, &received).is_ok(), "as it was sent");
    let mut other_body = received.clone();
    other_body.body = String::from_utf8(received.body.to_vec()).unwrap().replace("g-1", "g-2").into();
    assert!(invalid(verified(&secret, &other_body)), "the same id with another body");
    assert!(invalid(verified(&secret, &with("webhook-id", "dlv-2"))), "another id");
    let later = seconds_from_now(60).as_micros() / 1_000_000;
    assert!(invalid(verified(&secret, &with("webhook-timestamp", &later.to_string()))), "another time");
    assert!(invalid(verified(&WebhookSecret::new([8; 32]), &received)), "another secret");
    assert!(invalid(verified(&secret, &with("webhook-signature", "v1,"))), "no signature");
}

#[tokio::test]
async fn it_refuses_what_is_more_than_five_minutes_away() {
    let secret = WebhookSecret::new([7; 32]);
    let at = async |seconds| {
        verified(&secret, &sent(std::slice::from_ref(&secret), "dlv-1", seconds_from_now(seconds)).await)
    };
    assert!(at(-290).await.is_ok() && at(290).await.is_ok(), "within the window");
    assert!(matches!(at(-310).await, Err(WebhookError::TimestampTooOldError)));
    assert!(matches!(at(310).await, Err(WebhookError::FutureTimestampError)));
}

#[tokio::test]
async fn a_repetition_has_the_same_id_and_a_time_of_its_own() {
    let secret = WebhookSecret::new([7; 32]);
    let first = sent(std::slice::from_ref(&secret), "dlv-1", seconds_from_now(-200)).await;
    let second = sent(std::slice::from_ref(&secret), "dlv-1", now()).await;
    assert!(verified(&secret, &first).is_ok() && verified(&secret, &second).is_ok());
    assert_eq!(first.headers["webhook-id"], second.headers["webhook-id"], "by which a receiver knows it");
    assert_eq!(first.body, second.body);
    assert_ne!(first.headers["webhook-timestamp"], second.headers["webhook-timestamp"]);
    assert_ne!(first.headers["webhook-signature"], second.headers["webhook-signature"]);
}

#[tokio::test]
async fn while_a_secret_changes_both_are_accepted() {
    let (old, new) = (WebhookSecret::new([1; 32]), WebhookSecret::new([2; 32]));
    let received = sent(&[old.clone(), new.clone()], "dlv-1", now()).await;
    assert!(verified(&old, &received).is_ok() && verified(&new, &received).is_ok());
    assert!(verified(&WebhookSecret::new([3; 32]), &received).is_err());
}

/// The same delivery in a process whose environment names proxies that lead nowhere.
#[tokio::test]
async fn proxies_of_the_environment_are_not_used() {
    let mut test = tokio::process::Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", "standard_webhooks::the_formats_own_library_accepts_what_we_send"]);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
        test.env(name, "http://127.0.0.1:9");
    }
    let done = tokio::time::timeout(Duration::from_secs(60), test.output()).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
}
