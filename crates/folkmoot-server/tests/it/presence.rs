//! A person's decision is a person's: what the token that a data folder keeps does with and without
//! its person.

use folkmoot_core::{
    Presence,
    gate::{GatePolicy, OnTimeout, Risk},
};
use serde_json::{Value, json};

use crate::{
    http::{self, Answer},
    node::{Node, Setting, everywhere, token},
};

const AT_A_TERMINAL: &[(&str, &str)] = &[("Folkmoot-Presence", "terminal")];

/// The tokens that the folder keeps.
fn kept(node: &Node) -> Value {
    serde_json::from_slice(&std::fs::read(node.data.path().join("tokens.json")).unwrap()).unwrap()
}

fn yours(node: &Node) -> String {
    kept(node)["you"]["token"].as_str().unwrap().to_owned()
}

async fn post(node: &Node, secret: &str, headers: &[(&str, &str)], path: &str, body: Value) -> Answer {
    http::send(&node.url, "POST", path, secret, headers, &body.to_string()).await
}

async fn approve(node: &Node, secret: &str, headers: &[(&str, &str)], risk: &str) -> Answer {
    let gate = node.opened(json!({"summary": "Deploy", "risk": risk})).await;
    let path = format!("/v1/gates/{}/approve", gate["id"].as_str().unwrap());
    post(node, secret, headers, &path, json!({"digest": gate["digest"]})).await
}

/// A token of whoever owns the folder, of this kind.
async fn make(node: &Node, secret: &str, headers: &[(&str, &str)], kind: &str) -> Answer {
    let you = &kept(node)["you"];
    post(node, secret, headers, "/v1/tokens", json!({"name": you["name"], "role": you["role"], "kind": kind})).await
}

fn secret(made: &Answer) -> String {
    assert_eq!(made.status, 201, "{made:?}");
    made.json()["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_stored_token_decides_only_where_somebody_answered_at_a_terminal() {
    for nodes in everywhere().await {
        let node = &nodes[0];
        let you = yours(node);
        for risk in ["low", "critical"] {
            let refused = approve(node, &you, &[], risk).await;
            assert_eq!((refused.status, refused.code().as_str()), (403, "presence_required"), "{refused:?}");
            let decided = approve(node, &you, AT_A_TERMINAL, risk).await.json();
            assert_eq!(decided["decision"]["presence"], "terminal", "{decided:#}");
        }
        // A script uses a token that was made for it.
        let decided = approve(node, &token("alice"), &[], "critical").await.json();
        assert_eq!(decided["decision"]["presence"], "token", "{decided:#}");
        let path = format!("/v1/gates/{}/receipt", decided["id"].as_str().unwrap());
        let receipt = node.get("alice", &path).await.json();
        assert_eq!(receipt["decision"]["presence"], "token", "{receipt:#}");
        node.verifies().await;
    }
}

#[tokio::test]
async fn the_stored_token_says_nothing_of_anothers_step_without_somebody_at_a_terminal() {
    for nodes in everywhere().await {
        let node = &nodes[0];
        let you = yours(node);
        assert_eq!(node.post("agent-a", "/v1/runs", json!({"id": "theirs", "title": "Deploy"})).await.status, 201);
        for (key, state) in [
            ("ship", json!({"state": "done", "result": 1})),
            ("tell", json!({"state": "failed", "error": {"code": "x", "message": "y"}})),
        ] {
            let step = |state: &Value| {
                let mut body = json!({"key": key, "kind": "once"});
                body.as_object_mut().unwrap().extend(state.as_object().unwrap().clone());
                body
            };
            let begun = node.post("agent-a", "/v1/runs/theirs/steps", step(&json!({"state": "begun"}))).await;
            assert_eq!(begun.status, 201, "{begun:?}");
            let refused = post(node, &you, &[], "/v1/runs/theirs/steps", step(&state)).await;
            assert_eq!((refused.status, refused.code().as_str()), (403, "presence_required"), "{refused:?}");
            let told = post(node, &you, AT_A_TERMINAL, "/v1/runs/theirs/steps", step(&state)).await;
            assert_eq!(told.status, 201, "{told:?}");
        }
    }
}

/// Also in a run: the agent whose run it is could not open it so, and another agent could open
/// nothing there.
#[tokio::test]
async fn the_stored_token_loosens_no_gate_without_somebody_at_a_terminal() {
    for nodes in everywhere().await {
        let node = &nodes[0];
        let you = yours(node);
        assert_eq!(node.post("agent-a", "/v1/runs", json!({"id": "theirs", "title": "Deploy"})).await.status, 201);
        for run in [None, Some("theirs"), Some("new")] {
            for looser in
                [json!({"on_timeout": "approve", "timeout_ms": 1000}), json!({"quorum": 2, "reject_quorum": 2})]
            {
                let mut body = json!({"summary": "Deploy", "risk": "critical", "run_id": run});
                body.as_object_mut().unwrap().extend(looser.as_object().unwrap().clone());
                let refused = post(node, &you, &[], "/v1/gates", body.clone()).await;
                assert_eq!((refused.status, refused.code().as_str()), (403, "presence_required"), "{body} {refused:?}");
                assert_eq!(post(node, &you, AT_A_TERMINAL, "/v1/gates", body).await.status, 201);
            }
        }
    }
}

#[tokio::test]
async fn nobody_claims_what_only_a_token_can_show() {
    let node = Node::start().await;
    for claimed in ["passphrase", "passkey", "page", "token", "Terminal", ""] {
        let refused = approve(&node, &yours(&node), &[("Folkmoot-Presence", claimed)], "low").await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "bad_presence"), "{claimed}: {refused:?}");
    }
    let twice = [AT_A_TERMINAL[0], AT_A_TERMINAL[0]];
    assert_eq!(approve(&node, &yours(&node), &twice, "low").await.code(), "bad_presence");
}

#[tokio::test]
async fn whatever_is_done_in_a_persons_name_takes_the_person() {
    let node = Node::start().await;
    let you = yours(&node);
    let question = node.post("agent-a", "/v1/questions", json!({"type": "APPROVAL", "text": "May I?"})).await.json();
    let question = format!("/v1/questions/{}", question["id"].as_str().unwrap());
    let halt = node.post("root-of-all", "/v1/halts", json!({"scope": "all", "reason": "stop"})).await.json();
    let halt = format!("/v1/halts/{}", halt["id"].as_str().unwrap());
    let tokens = node.get("root-of-all", "/v1/tokens").await.json();
    let token = format!("/v1/tokens/{}", tokens["tokens"][0]["id"].as_str().unwrap());
    let gate = node.open("Deploy").await;
    let run = node.post("agent-a", "/v1/runs", json!({"title": "Work"})).await.json();
    let run = run["id"].as_str().unwrap();
    let webhook = json!({"name": "ops", "url": "https://example.org/"});
    let webhook = node.post("root-of-all", "/v1/webhooks", webhook).await.json();
    let webhook = format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap());
    let tries = [
        ("POST", format!("{question}/answer"), json!({"answer": "approve"})),
        ("POST", format!("{question}/deny"), json!({})),
        ("POST", "/v1/halts".to_owned(), json!({"scope": "all", "reason": "stop"})),
        ("DELETE", halt, json!({})),
        ("POST", "/v1/tokens".to_owned(), json!({"name": "eve", "role": "admin"})),
        ("DELETE", token, json!({})),
        ("POST", format!("/v1/gates/{}/extend", gate.id), json!({"timeout_ms": 99_000_000})),
        ("POST", format!("/v1/gates/{}/cancel", gate.id), json!({})),
        ("POST", format!("/v1/gates/{}/approve", gate.id), json!({"force": true, "reason": "now"})),
        ("POST", "/v1/gates".to_owned(), json!({"summary": "Silence consents", "on_timeout": "approve"})),
        ("POST", "/v1/runs".to_owned(), json!({"title": "In your name"})),
        ("POST", "/v1/gates".to_owned(), json!({"summary": "In your name", "run_id": "new"})),
        ("POST", format!("/v1/runs/{run}/cancel"), json!({})),
        ("POST", "/v1/webhooks".to_owned(), json!({"url": "https://example.org/"})),
        ("PATCH", webhook.clone(), json!({"disabled": true})),
        ("POST", format!("{webhook}/rotate"), json!({})),
        ("POST", format!("{webhook}/test"), json!({})),
        ("POST", "/v1/notify/test".to_owned(), json!({"channel": "ops"})),
    ];
    for (method, path, body) in tries {
        let refused = http::send(&node.url, method, &path, &you, &[], &body.to_string()).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (403, "presence_required"),
            "{method} {path}: {refused:?}"
        );
    }
    // What an agent could do with its own token, and reading, takes nobody.
    assert_eq!(post(&node, &you, &[], "/v1/gates", json!({"summary": "Deploy"})).await.status, 201);
    assert_eq!(http::send(&node.url, "GET", "/v1/gates", &you, &[], "").await.status, 200);
    node.verifies().await;
}

#[tokio::test]
async fn a_protected_token_shows_the_passphrase_and_only_its_owner_makes_one() {
    for nodes in everywhere().await {
        let node = &nodes[0];
        let you = yours(node);
        for kind in ["protected", "personal", "reading"] {
            let refused = make(node, &token("root-of-all"), AT_A_TERMINAL, kind).await;
            assert_eq!((refused.status, refused.code().as_str()), (422, "invalid"), "{refused:?}");
        }
        let eve =
            post(node, &you, AT_A_TERMINAL, "/v1/tokens", json!({"name": "eve", "role": "admin", "kind": "protected"}));
        assert_eq!(eve.await.code(), "invalid", "for nobody else");
        assert_eq!(make(node, &you, &[], "protected").await.code(), "presence_required");
        let protected = secret(&make(node, &you, AT_A_TERMINAL, "protected").await);
        let decided = approve(node, &protected, &[], "critical").await.json();
        assert_eq!(decided["decision"]["presence"], "passphrase", "{decided:#}");
        let reading = secret(&make(node, &protected, &[], "reading").await);
        assert_eq!(http::send(&node.url, "GET", "/v1/gates", &reading, &[], "").await.status, 200);
        for headers in [&[][..], AT_A_TERMINAL] {
            assert_eq!(approve(node, &reading, headers, "low").await.code(), "presence_required");
            let opened = post(node, &reading, headers, "/v1/gates", json!({"summary": "Deploy"})).await;
            assert_eq!(opened.code(), "presence_required");
        }
        node.verifies().await;
    }
}

/// Why a server does not start with this.
async fn does_not_start(mut config: folkmoot_server::Config) -> String {
    config.listen = ([127, 0, 0, 1], 0).into();
    for _ in 0..600 {
        let refused = folkmoot_server::Server::start(config.clone()).await.unwrap_err().to_string();
        // The one that was stopped lets go of the folder a moment after it has ended.
        if !refused.contains("already has a server") {
            return refused;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the folder stays in use");
}

#[tokio::test]
async fn where_the_owner_is_protected_no_start_gives_anybody_a_new_say() {
    let node = Node::start().await;
    let you = yours(&node);
    let protected = secret(&make(&node, &you, AT_A_TERMINAL, "protected").await);
    let tokens = node.get("root-of-all", "/v1/tokens").await.json();
    let personal =
        tokens["tokens"].as_array().unwrap().iter().find(|token| token["kind"] == "personal").unwrap().clone();
    let path = format!("/v1/tokens/{}", personal["id"].as_str().unwrap());
    assert_eq!(http::send(&node.url, "DELETE", &path, &protected, &[], "").await.status, 200);
    let data = node.stop().await;
    // Whoever may change the folder's files deletes them, or writes a token of their own there.
    std::fs::remove_file(data.path().join("tokens.json")).unwrap();
    let node = Node::on(data, Setting::default()).await;
    let left = yours(&node);
    assert_eq!(http::send(&node.url, "GET", "/v1/gates", &left, &[], "").await.status, 200);
    assert_eq!(approve(&node, &left, AT_A_TERMINAL, "low").await.code(), "presence_required");
    let data = node.stop().await;
    // Under another name, with a secret that they chose.
    let tokens = |agents_role: &str| {
        json!({
            "you": {"name": "eve", "role": "admin", "token": "secret-that-eve-chose"},
            "agent": {"name": "mallory", "role": agents_role, "token": "secret-that-mallory-chose"},
        })
    };
    std::fs::write(data.path().join("tokens.json"), tokens("agent").to_string()).unwrap();
    let node = Node::on(data, Setting::default()).await;
    assert_eq!(approve(&node, "secret-that-eve-chose", AT_A_TERMINAL, "low").await.code(), "presence_required");
    let data = node.stop().await;
    std::fs::write(data.path().join("tokens.json"), tokens("admin").to_string()).unwrap();
    let refused = does_not_start(folkmoot_server::Config::new(folkmoot_server::DataFolder::at(data.path()))).await;
    assert!(refused.contains("it can only be agent"), "{refused}");
    std::fs::remove_file(data.path().join("tokens.json")).unwrap();
    let monitor = folkmoot_core::Principal {
        capabilities: [folkmoot_core::Capability::Halt].into(),
        ..folkmoot_core::Principal::new("eve".parse().unwrap(), folkmoot_core::Role::Agent)
    };
    let config = |principal: folkmoot_core::Principal| {
        let mut config = folkmoot_server::Config::new(folkmoot_server::DataFolder::at(data.path()));
        config.listen = ([127, 0, 0, 1], 0).into();
        config.bootstrap_tokens =
            vec![folkmoot_server::BootstrapToken { principal, secret: "secret-of-eve-0123456789".to_owned() }];
        config
    };
    let admin = folkmoot_core::Principal::new("eve".parse().unwrap(), folkmoot_core::Role::Admin);
    for principal in [admin, monitor] {
        let refused = does_not_start(config(principal)).await;
        assert!(refused.contains("has protected this folder"), "{refused}");
    }
}

#[tokio::test]
async fn a_token_of_somebody_else_makes_nobody_the_protected_owner() {
    let data = Node::start().await.stop().await;
    let file = data.path().join("tokens.json");
    let owners = std::fs::read_to_string(&file).unwrap();
    let mut planted: Value = serde_json::from_str(&owners).unwrap();
    planted["you"] = json!({"name": "ella", "role": "viewer", "token": "secret-of-ella-0123456789"});
    std::fs::write(&file, planted.to_string()).unwrap();
    let data = Node::on(data, Setting::default()).await.stop().await;
    std::fs::write(&file, &owners).unwrap();
    let node = Node::on(data, Setting::default()).await;
    let you = yours(&node);
    make(&node, &you, AT_A_TERMINAL, "protected").await;
    let tokens = node.get("root-of-all", "/v1/tokens").await.json();
    let is_owners = |token: &&Value| token["kind"] == "personal" && token["name"] != "ella";
    let personal = tokens["tokens"].as_array().unwrap().iter().find(is_owners).unwrap()["id"].clone();
    let path = format!("/v1/tokens/{}", personal.as_str().unwrap());
    assert_eq!(node.send("root-of-all", "DELETE", &path, json!({})).await.status, 200);
    let data = node.stop().await;
    let mut swapped: Value = serde_json::from_str(&owners).unwrap();
    swapped["you"]["token"] = json!("secret-of-ella-0123456789");
    std::fs::write(&file, swapped.to_string()).unwrap();
    let node = Node::on(data, Setting::default()).await;
    assert_eq!(approve(&node, &yours(&node), AT_A_TERMINAL, "low").await.code(), "presence_required");
}

#[tokio::test]
async fn where_silence_consents_a_no_needs_no_passphrase() {
    let presence = [(Risk::Critical, Presence::Passphrase)].into();
    let policy = GatePolicy { presence, on_timeout: OnTimeout::Approve, ..GatePolicy::default() };
    let node = Node::with(Setting { policy, ..Setting::default() }).await;
    let gate = node.opened(json!({"summary": "Wire money", "risk": "critical"})).await;
    let path = format!("/v1/gates/{}", gate["id"].as_str().unwrap());
    let yes = node.post("alice", &format!("{path}/approve"), json!({"digest": gate["digest"]})).await;
    assert_eq!(yes.code(), "presence_required");
    assert_eq!(node.post("alice", &format!("{path}/reject"), json!({"reason": "no"})).await.status, 200);
}

#[tokio::test]
async fn what_the_configuration_demands_binds_every_token() {
    let presence = [(Risk::Medium, Presence::Terminal), (Risk::High, Presence::Passphrase)].into();
    let policy = GatePolicy { presence, ..GatePolicy::default() };
    let node = Node::with(Setting { policy, ..Setting::default() }).await;
    let alice = token("alice");
    assert_eq!(approve(&node, &alice, &[], "low").await.status, 200);
    assert_eq!(approve(&node, &alice, &[], "medium").await.code(), "presence_required");
    assert_eq!(approve(&node, &alice, AT_A_TERMINAL, "medium").await.json()["decision"]["presence"], "terminal");
    assert_eq!(approve(&node, &alice, AT_A_TERMINAL, "high").await.code(), "presence_required");
    let gate = node.opened(json!({"summary": "Deploy", "risk": "high"})).await;
    assert_eq!(gate["presence"], "passphrase", "whoever looks is told");
    // What is demanded grows with what is at stake.
    let gate = node.opened(json!({"summary": "Deploy", "risk": "low"})).await;
    assert_eq!(gate["presence"], json!(null));
    let path = format!("/v1/gates/{}", gate["id"].as_str().unwrap());
    let raised = node.send("agent-a", "PATCH", &path, json!({"risk": "high"})).await.json();
    assert_eq!(raised["presence"], "passphrase", "{raised}");
    let digest = json!({"digest": raised["digest"]});
    assert_eq!(node.post("alice", &format!("{path}/approve"), digest).await.code(), "presence_required");
    node.verifies().await;
}

#[tokio::test]
async fn what_an_older_version_stored_for_you_becomes_a_personal_token() {
    let node = Node::start().await;
    let you = kept(&node)["you"].clone();
    // As an older version left it: a token like any other.
    let like_any_other = json!({"name": you["name"], "role": you["role"]});
    let older = secret(&post(&node, &yours(&node), AT_A_TERMINAL, "/v1/tokens", like_any_other).await);
    let data = node.stop().await;
    let file = data.path().join("tokens.json");
    let mut tokens: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    tokens["you"]["token"] = older.as_str().into();
    std::fs::write(&file, tokens.to_string()).unwrap();
    let node = Node::on(data, Setting::default()).await;
    assert_ne!(yours(&node), older);
    assert_eq!(http::send(&node.url, "GET", "/v1/gates", &older, &[], "").await.status, 401);
    assert_eq!(approve(&node, &yours(&node), &[], "low").await.code(), "presence_required");
    assert_eq!(approve(&node, &yours(&node), AT_A_TERMINAL, "low").await.status, 200);
}

#[tokio::test]
async fn only_the_owner_reads_the_files_of_the_folder_whatever_was_planted_there() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let data = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let (target, open) = (elsewhere.path().join("target"), std::fs::Permissions::from_mode(0o666));
    std::fs::write(&target, "untouched").unwrap();
    for name in ["tokens.json.half", "folkmoot.db"] {
        std::fs::write(data.path().join(name), "").unwrap();
        std::fs::set_permissions(data.path().join(name), open.clone()).unwrap();
    }
    symlink(&target, data.path().join("server.key.half")).unwrap();
    let node = Node::on(data, Setting::default()).await;
    node.open("Deploy").await;
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "untouched", "nothing is written through a link");
    let mode = |name: &str| node.data.path().join(name).symlink_metadata().unwrap().permissions().mode() & 0o777;
    for name in
        ["tokens.json", "server.key", "server.json", "folkmoot.db", "folkmoot.db-wal", "folkmoot.db-shm", "lock"]
    {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    assert_eq!(mode(""), 0o700);
    assert!(node.data.path().join("server.key").symlink_metadata().unwrap().is_file());
}
