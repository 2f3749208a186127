//! Webhooks, channels and deliveries: who may see what, and what reaches whom.

mod receiver;

use std::{sync::Arc, time::Duration};

use folkmoot_core::{Timestamp, gate::GatePolicy};
use folkmoot_server::notify_settings::{ChannelKind, ChannelSettings};
use folkmoot_store::ManualClock;
use receiver::Receiver;
use serde_json::{Value, json};

use crate::{
    http,
    node::{Node, Setting, everywhere_with, postgres, token},
};

const ADMIN: &str = "root-of-all";

fn loopback() -> Setting {
    Setting { allow: vec!["127.0.0.0/8".to_owned()], ..Setting::default() }
}

async fn add(node: &Node, name: &str, url: &str) -> Value {
    let made = node.post(ADMIN, "/v1/webhooks", json!({ "name": name, "url": url })).await;
    assert_eq!(made.status, 201, "{made:?}");
    made.json()
}

/// The only delivery to a channel, once it is so.
async fn delivery(node: &Node, channel: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..1000 {
        let list = node.get(ADMIN, &format!("/v1/deliveries?channel={channel}")).await.json();
        let found = list["deliveries"].as_array().unwrap();
        assert!(found.len() < 2, "one was expected: {list}");
        if let Some(found) = found.first().filter(|delivery| is_so(delivery)) {
            return found.clone();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{channel}: {}", node.get(ADMIN, "/v1/deliveries").await.body);
}

#[tokio::test]
async fn what_happens_to_a_gate_is_told_with_a_signature_that_holds() {
    for nodes in everywhere_with(loopback).await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let receiver = Receiver::start().await;
        let hook = add(first, "ops", &receiver.url()).await;
        let gate = first.opened(json!({"summary": "Deploy 1.4.2", "risk": "high"})).await;
        let opened = receiver.next().await;
        opened.verify(hook["secret"].as_str().unwrap());
        let body = opened.json();
        assert_eq!((&body["type"], &body["data"]["stream"]), (&json!("gate.opened"), &gate["id"]));
        assert_eq!(body["data"]["type"], "gate.opened", "data is the event, as the feed has it");
        let path = format!("/v1/gates/{}/approve", gate["id"].as_str().unwrap());
        assert_eq!(last.post("alice", &path, json!({"reason": "fine"})).await.status, 200);
        let decided = receiver.next().await;
        decided.verify(hook["secret"].as_str().unwrap());
        assert_eq!(decided.json()["type"], "gate.decided");
        assert_ne!(decided.header("webhook-id"), opened.header("webhook-id"));
        let rotated =
            first.post(ADMIN, &format!("/v1/webhooks/{}/rotate", hook["id"].as_str().unwrap()), json!({})).await.json();
        let tested = first.post(ADMIN, "/v1/notify/test", json!({"channel": "ops"})).await.json();
        assert_eq!(tested, json!({"channel": "ops", "delivered": true}));
        let test = receiver.next().await;
        test.verify(rotated["secret"].as_str().unwrap());
        assert!(test.is_signed_with(hook["secret"].as_str().unwrap()), "for a day the old one is worth something");
        first.verifies().await;
    }
}

#[tokio::test]
async fn for_a_day_after_a_rotation_receivers_with_the_old_and_with_the_new_secret_both_accept() {
    let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)));
    let node = Node::with(Setting { clock: Some(clock.clone()), ..loopback() }).await;
    let receiver = Receiver::start().await;
    let hook = add(&node, "ops", &receiver.url()).await;
    let path = format!("/v1/webhooks/{}/rotate", hook["id"].as_str().unwrap());
    let rotated = node.post(ADMIN, &path, json!({})).await.json();
    assert!(rotated["previous_until"].as_str().is_some_and(|until| until.starts_with("2027-01-16T")), "{rotated}");
    let (old, new) = (hook["secret"].as_str().unwrap(), rotated["secret"].as_str().unwrap());
    let signed = async |opens: bool| {
        if opens {
            node.opened(json!({"summary": "Deploy", "timeout_ms": 864_000_000})).await;
        } else {
            node.post(ADMIN, "/v1/notify/test", json!({"channel": "ops"})).await;
        }
        let received = receiver.next().await;
        (received.is_signed_with(old), received.is_signed_with(new))
    };
    assert_eq!((signed(true).await, signed(false).await), ((true, true), (true, true)));
    clock.advance(Duration::from_secs(24 * 3600 - 1));
    assert_eq!((signed(true).await, signed(false).await), ((true, true), (true, true)));
    clock.advance(Duration::from_secs(1));
    assert_eq!((signed(true).await, signed(false).await), ((false, true), (false, true)));
}

#[tokio::test]
async fn servers_with_different_keys_sign_with_the_secret_that_was_shown_or_not_at_all() {
    let Some(Setting { database, .. }) = postgres().await else { return };
    let node = async || Node::with(Setting { database: database.clone(), ..loopback() }).await;
    let (other, maker) = (node().await, node().await);
    let receiver = Receiver::start().await;
    let hook = add(&maker, "ops", &receiver.url()).await;
    let secret = hook["secret"].as_str().unwrap();
    for opens in [&other, &maker, &other, &other] {
        opens.opened(json!({"summary": "Deploy", "notification_channels": ["ops"]})).await;
        receiver.next().await.verify(secret);
    }
    let tested = other.post(ADMIN, "/v1/notify/test", json!({"channel": "ops"})).await.json();
    assert!(tested["reason"].as_str().is_some_and(|why| why.contains("folkmoot webhook rotate ops")), "{tested}");
    let listed = other.get(ADMIN, "/v1/notify/channels").await.json();
    assert_eq!(listed["channels"][0]["problem"], tested["reason"], "{listed}");
    assert_eq!(maker.get(ADMIN, "/v1/notify/channels").await.json()["channels"][0].get("problem"), None);
    // Without whoever has the key it waits, and is not tried; with a new secret it goes.
    maker.stop().await;
    other.opened(json!({"summary": "Deploy", "notification_channels": ["ops"]})).await;
    tokio::time::sleep(Duration::from_millis(1300)).await;
    let waits = other.get(ADMIN, "/v1/deliveries?state=waiting").await.json();
    assert_eq!((&waits["deliveries"][0]["attempts"], receiver.count()), (&json!(0), 4), "{waits}");
    let path = format!("/v1/webhooks/{}/rotate", hook["id"].as_str().unwrap());
    let rotated = other.post(ADMIN, &path, json!({})).await.json();
    assert_eq!(rotated.get("previous_until"), None, "this server cannot sign with the one before");
    let sent = receiver.next().await;
    sent.verify(rotated["secret"].as_str().unwrap());
    assert_eq!(sent.header("webhook-id"), waits["deliveries"][0]["id"]);
    other.verifies().await;
}

#[tokio::test]
async fn a_secret_is_shown_once_and_stored_nowhere() {
    let node = Node::with(loopback()).await;
    let body = json!({"name": "ops", "url": "https://hooks.example.org/x"}).to_string();
    let create = async || {
        http::send(&node.url, "POST", "/v1/webhooks", &token(ADMIN), &[("idempotency-key", "k-1")], &body).await
    };
    let (made, again) = (create().await, create().await);
    assert_eq!((made.status, again.status), (201, 201));
    let (mut first, second) = (made.json(), again.json());
    let secret = first["secret"].as_str().unwrap().to_owned();
    assert!(secret.starts_with("whsec_") && second.get("secret").is_none());
    first.as_object_mut().unwrap().remove("secret");
    assert_eq!(first, second, "but for the secret it is the same answer");
    let path = format!("/v1/webhooks/{}", first["id"].as_str().unwrap());
    let rotate = async || {
        let path = format!("{path}/rotate");
        http::send(&node.url, "POST", &path, &token(ADMIN), &[("idempotency-key", "k-2")], "{}").await.json()
    };
    let (rotated, repeated) = (rotate().await, rotate().await);
    let newer = rotated["secret"].as_str().unwrap().to_owned();
    assert_ne!(newer, secret);
    assert_eq!((&rotated["generation"], &repeated["generation"], repeated.get("secret")), (&json!(2), &json!(2), None));
    let shown = [
        node.get(ADMIN, "/v1/webhooks").await.body,
        node.get(ADMIN, &path).await.body,
        node.send(ADMIN, "PATCH", &path, json!({"disabled": true})).await.body,
        node.get(ADMIN, "/v1/notify/channels").await.body,
        node.get(ADMIN, "/v1/audit?limit=1000").await.body,
        node.send(ADMIN, "DELETE", &path, json!({})).await.body,
    ];
    let stored =
        ["folkmoot.db", "folkmoot.db-wal"].map(|name| std::fs::read(node.data.path().join(name)).unwrap_or_default());
    for secret in [&secret["whsec_".len()..], &newer["whsec_".len()..]] {
        assert!(shown.iter().all(|body| body.contains("hooks.example.org") || body.contains("ops")), "{shown:?}");
        assert!(!shown.iter().any(|body| body.contains(secret)), "{shown:?}");
        assert!(!stored.iter().any(|bytes| String::from_utf8_lossy(bytes).contains(secret)));
    }
    assert_eq!(node.get(ADMIN, &path).await.code(), "unknown_webhook");
}

#[tokio::test]
async fn only_admins_manage_webhooks_and_see_deliveries() {
    let node = Node::with(loopback()).await;
    let hook = add(&node, "ops", "https://hooks.example.org/").await;
    let path = format!("/v1/webhooks/{}", hook["id"].as_str().unwrap());
    for who in ["alice", "agent-a", "vera"] {
        for (method, path) in [
            ("POST", "/v1/webhooks"),
            ("GET", "/v1/webhooks"),
            ("GET", &path),
            ("PATCH", &path),
            ("DELETE", &path),
            ("POST", &format!("{path}/rotate")),
            ("POST", &format!("{path}/test")),
            ("GET", "/v1/deliveries"),
            ("GET", "/v1/deliveries/dlv-1"),
            ("POST", "/v1/deliveries/dlv-1/resend"),
            ("GET", "/v1/notify/channels"),
            ("POST", "/v1/notify/test"),
        ] {
            let body = match path {
                "/v1/webhooks" => json!({"url": "https://other.example.org/"}),
                "/v1/notify/test" => json!({"channel": "ops"}),
                _ => json!({}),
            };
            let answer = node.send(who, method, path, body).await;
            assert_eq!((answer.status, answer.code().as_str()), (403, "role_may_not"), "{who} {method} {path}");
        }
    }
    assert_eq!(node.get(ADMIN, &path).await.json()["generation"], 1, "nothing changed");
    assert_eq!(node.get(ADMIN, "/v1/deliveries/dlv-1").await.code(), "unknown_delivery");
    assert_eq!(node.post(ADMIN, "/v1/notify/test", json!({"channel": "nobody"})).await.code(), "unknown_channel");
}

#[tokio::test]
async fn a_receiver_that_fails_is_told_again_under_the_same_id() {
    let node = Node::with(loopback()).await;
    let receiver = Receiver::start().await;
    receiver.answers(500, &[]);
    let hook = add(&node, "ops", &receiver.url()).await;
    let gate = node.opened(json!({"summary": "Deploy"})).await;
    let failed = receiver.next().await;
    let waits = delivery(&node, "ops", |delivery| delivery["state"] == "waiting" && delivery["attempts"] == 1).await;
    assert!(waits["last_error"].as_str().unwrap().contains("500 Internal Server Error"), "{waits}");
    assert!(waits["due_at"].is_string());
    let listed = node.get(ADMIN, "/v1/notify/channels").await.json();
    assert_eq!(listed["channels"][0]["last_failure"]["id"], waits["id"], "{listed}");
    receiver.answers(204, &[]);
    // The first pause is about five seconds.
    let second = receiver.next().await;
    second.verify(hook["secret"].as_str().unwrap());
    assert_eq!(failed.header("webhook-id"), second.header("webhook-id"));
    assert_eq!(second.json()["data"]["stream"], gate["id"]);
    let told = delivery(&node, "ops", |delivery| delivery["state"] == "delivered").await;
    assert_eq!((&told["attempts"], &told["id"]), (&json!(2), &waits["id"]));
}

#[tokio::test]
async fn what_nobody_took_is_dead_and_can_be_sent_again() {
    let node = Node::with(loopback()).await;
    let receiver = Receiver::start().await;
    receiver.answers(410, &[]);
    add(&node, "ops", &receiver.url()).await;
    let gate = node.opened(json!({"summary": "Deploy"})).await;
    let dead = delivery(&node, "ops", |delivery| delivery["state"] == "dead").await;
    let path = format!("/v1/deliveries/{}", dead["id"].as_str().unwrap());
    assert_eq!(node.get(ADMIN, &path).await.json(), dead);
    assert!(dead["last_error"].as_str().unwrap().contains("410 Gone") && dead["ended_at"].is_string(), "{dead}");
    assert_eq!(node.get(ADMIN, "/v1/deliveries?state=dead").await.json()["deliveries"], json!([dead]));
    assert_eq!(node.get(ADMIN, "/v1/deliveries?state=delivered").await.json()["deliveries"], json!([]));
    receiver.answers(200, &[]);
    let resent = node.post(ADMIN, &format!("{path}/resend"), json!({})).await;
    assert_eq!(resent.status, 200, "{resent:?}");
    let told = delivery(&node, "ops", |delivery| delivery["state"] == "delivered").await;
    assert_eq!(told["id"], dead["id"]);
    let gate = node.get("vera", &format!("/v1/gates/{}", gate["id"].as_str().unwrap())).await.json();
    assert_eq!(gate["status"], "pending", "a channel that fails neither opens nor closes a gate");
    node.verifies().await;
}

#[tokio::test]
async fn this_machine_is_told_nothing_unless_the_configuration_allows_it() {
    let receiver = Receiver::start().await;
    let node = Node::start().await;
    let port = receiver.address.port();
    for url in [
        receiver.url(),
        format!("http://127.1:{port}/"),
        format!("https://[::ffff:127.0.0.1]:{port}/"),
        format!("https://0x7f000001:{port}/"),
    ] {
        let refused = node.post(ADMIN, "/v1/webhooks", json!({"name": "ops", "url": url})).await;
        assert_eq!(refused.code(), "invalid", "{url}");
        assert!(refused.body.contains("a loopback address"), "{refused:?}");
    }
    // A name is looked at when it is connected to.
    add(&node, "ops", &format!("https://localhost:{port}/")).await;
    let gate = node.opened(json!({"summary": "Deploy"})).await;
    let failed = delivery(&node, "ops", |delivery| delivery["attempts"] == 1 && delivery["state"] == "waiting").await;
    assert!(failed["last_error"].as_str().unwrap().contains("a loopback address"), "{failed}");
    let tested = node.post(ADMIN, "/v1/notify/test", json!({"channel": "ops"})).await.json();
    assert_eq!(tested["delivered"], false, "{tested}");
    let path = format!("/v1/gates/{}/approve", gate["id"].as_str().unwrap());
    assert_eq!(node.post("alice", &path, json!({})).await.status, 200, "the gate does not care");
    assert_eq!(receiver.count(), 0);
    let allowed = Node::with(loopback()).await;
    add(&allowed, "ops", &receiver.url()).await;
    allowed.opened(json!({"summary": "Deploy"})).await;
    assert_eq!(receiver.next().await.json()["type"], "gate.opened");
}

#[tokio::test]
async fn a_redirect_to_an_address_that_is_refused_is_not_followed() {
    let (outside, inside) = (Receiver::start().await, Receiver::start().await);
    outside.answers(307, &[("location", inside.url())]);
    let allow = vec![format!("{}/32", outside.address.ip())];
    let node = Node::with(Setting { allow, ..Setting::default() }).await;
    add(&node, "ops", &outside.url()).await;
    node.opened(json!({"summary": "Deploy"})).await;
    let failed = delivery(&node, "ops", |delivery| delivery["attempts"] == 1 && delivery["state"] == "waiting").await;
    assert!(failed["last_error"].as_str().unwrap().contains("redirects are not followed"), "{failed}");
    assert_eq!((outside.count(), inside.count()), (1, 0));
}

#[tokio::test]
async fn a_channel_of_the_configuration_is_told_what_people_need() {
    let receiver = Receiver::start().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("slack-url");
    std::fs::write(&file, format!("http://{}/services/T0/B0/geheim", receiver.address)).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut slack = ChannelSettings::new(ChannelKind::Slack);
    slack.url_file = Some(file);
    let policy = GatePolicy { notification_channels: vec!["team".to_owned()], ..GatePolicy::default() };
    let public_url = Some("https://folkmoot.example.org/".to_owned());
    let channels = [("team".to_owned(), slack)].into();
    let node = Node::with(Setting { channels, policy, public_url, ..loopback() }).await;
    let body =
        json!({"title": "Deploy 1.4.2", "summary": "To <!channel> production", "risk": "high", "phase": "merge"});
    let gate = node.opened(body).await;
    let told = receiver.next().await.json();
    let (title, text, facts, link) = (
        &told["blocks"][0]["text"]["text"],
        &told["blocks"][1]["text"],
        &told["blocks"][2]["fields"],
        &told["blocks"][3]["text"]["text"],
    );
    assert_eq!(title, "Deploy 1.4.2 waits for a decision (high risk)");
    assert_eq!(text, &json!({"type": "plain_text", "text": "To <!channel> production", "emoji": false}));
    let facts: Vec<&str> = facts.as_array().unwrap().iter().map(|fact| fact["text"].as_str().unwrap()).collect();
    assert_eq!(facts[..3], ["Asked by\nagent-a", "Risk\nhigh", "Phase\nmerge"]);
    assert!(facts[3].starts_with("Deadline\n20") && facts[3].ends_with(" UTC (in 30 min)"), "{facts:?}");
    assert_eq!(
        link,
        &json!(format!("<https://folkmoot.example.org/gates/{}|Open in Folkmoot>", gate["id"].as_str().unwrap()))
    );
    let path = format!("/v1/gates/{}/reject", gate["id"].as_str().unwrap());
    node.post("alice", &path, json!({"reason": "not on a Friday"})).await;
    let told = receiver.next().await.json();
    assert_eq!(told["blocks"][0]["text"]["text"], "Deploy 1.4.2 is rejected by alice");
    assert!(told.to_string().contains("not on a Friday"), "{told}");
    let listed = node.get(ADMIN, "/v1/notify/channels").await;
    assert_eq!(listed.json()["channels"], json!([{"name": "team", "kind": "slack", "events": []}]));
    assert!(!listed.body.contains("geheim"));
}

#[tokio::test]
async fn a_gate_that_names_more_than_sixteen_channels_is_refused_and_told_to_nobody() {
    let node = Node::with(loopback()).await;
    let names = |count: usize| (0..count).map(|n| format!("channel-{n}")).collect::<Vec<_>>();
    let receiver = Receiver::start().await;
    for name in names(17) {
        let hook = json!({ "name": name, "url": receiver.url(), "events": ["halt.raised"] });
        assert_eq!(node.post(ADMIN, "/v1/webhooks", hook).await.status, 201);
    }
    let body = json!({"summary": "x", "notification_channels": names(17)});
    let refused = node.post("agent-a", "/v1/gates", body).await;
    let problem = refused.json();
    assert_eq!((refused.status, &problem["code"]), (422, &json!("invalid")), "{problem}");
    let said = problem["detail"].as_str().unwrap();
    assert!(said.contains("notification_channels") && said.contains("at most 16"), "{said}");
    assert_eq!(node.get(ADMIN, "/v1/deliveries").await.json()["deliveries"], json!([]));
    node.opened(json!({"summary": "x", "notification_channels": names(16)})).await;
    assert_eq!(node.get(ADMIN, "/v1/deliveries").await.json()["deliveries"].as_array().unwrap().len(), 16);
}

#[tokio::test]
async fn a_gate_that_names_an_unknown_channel_is_refused_and_opens_nothing() {
    for nodes in everywhere_with(loopback).await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let receiver = Receiver::start().await;
        let hook = json!({ "name": "ops", "url": receiver.url(), "events": ["halt.raised"] });
        assert_eq!(first.post(ADMIN, "/v1/webhooks", hook).await.status, 201);
        for who in ["agent-a", "alice", ADMIN] {
            let body = json!({"summary": "x", "notification_channels": ["ops", "nowhere"]});
            let refused = last.post(who, "/v1/gates", body).await;
            let problem = refused.json();
            assert_eq!((refused.status, &problem["code"]), (422, &json!("invalid")), "{problem}");
            let said = problem["detail"].as_str().unwrap();
            assert!(said.starts_with("notification_channels names \"nowhere\""), "{said}");
        }
        assert_eq!(last.get("vera", "/v1/gates").await.json()["gates"], json!([]));
        last.opened(json!({"summary": "x", "notification_channels": ["ops"]})).await;
        receiver.next().await;
    }
}

#[tokio::test]
async fn a_policy_that_names_nobody_who_is_there_says_so_where_it_can_be_seen() {
    let policy = GatePolicy { notification_channels: vec!["nobody".to_owned()], ..GatePolicy::default() };
    let node = Node::with(Setting { policy, ..loopback() }).await;
    let gate = node.opened(json!({"summary": "x"})).await;
    let dead = delivery(&node, "nobody", |delivery| delivery["state"] == "dead").await;
    assert!(dead["last_error"].as_str().unwrap().contains("there is no channel \"nobody\""), "{dead}");
    let receiver = Receiver::start().await;
    add(&node, "nobody", &receiver.url()).await;
    node.post(ADMIN, &format!("/v1/deliveries/{}/resend", dead["id"].as_str().unwrap()), json!({})).await;
    assert_eq!(receiver.next().await.json()["data"]["stream"], gate["id"], "now there is somebody");
}

#[tokio::test]
async fn bad_input_is_said_to_be_bad() {
    let node = Node::with(loopback()).await;
    for (body, code) in [
        (json!({}), "invalid"),
        (json!({"url": "nonsense"}), "invalid"),
        (json!({"url": "ftp://example.org"}), "invalid"),
        (json!({"url": "https://user:geheim@example.org/"}), "invalid"),
        (json!({"url": "https://example.org/", "events": ["Gate Opened"]}), "invalid"),
        (json!({"url": "https://example.org/", "events": ["gate.open"]}), "invalid"),
        (json!({"url": "https://example.org/", "name": "system"}), "invalid"),
        (json!({"url": "https://example.org/", "colour": 1}), "invalid"),
        (json!({"url": format!("https://example.org/{}", "x".repeat(3000))}), "invalid"),
    ] {
        let refused = node.post(ADMIN, "/v1/webhooks", body.clone()).await;
        assert_eq!(refused.code(), code, "{body}");
        assert!(!refused.body.contains("geheim"), "{refused:?}");
    }
    let named = node.post(ADMIN, "/v1/webhooks", json!({"url": "https://Hooks.Example.org/x"})).await;
    assert_eq!(named.json()["name"], "hooks.example.org", "its host, unless it has a name");
    assert_eq!(
        node.post(ADMIN, "/v1/webhooks", json!({"url": "https://hooks.example.org/y"})).await.code(),
        "channel_taken"
    );
    for path in ["/v1/deliveries?state=lost", "/v1/deliveries?colour=1"] {
        assert_eq!(node.get(ADMIN, path).await.code(), "bad_query", "{path}");
    }
    assert_eq!(node.get(ADMIN, "/v1/webhooks/%20").await.code(), "unknown_webhook");
    assert_eq!(
        node.send(ADMIN, "PATCH", "/v1/webhooks/wh-1", json!({"url": "https://example.org/"})).await.code(),
        "unknown_webhook"
    );
}
