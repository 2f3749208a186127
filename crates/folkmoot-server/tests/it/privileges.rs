//! Who may do what: every route of `/openapi.json`, called as everybody, with a request that is
//! right but for who sends it.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    debates,
    halting::id,
    http,
    node::{Node, PEOPLE, Setting, token},
    plans,
    runs::with_workflows,
    tokens::revoked::{HeldBack, mint, revoke},
};

/// The columns: nobody has no token; owner is the agent that opened, asked or started what the
/// route is about; other is another agent; monitor is an agent whose token has the capability
/// `halt`.
const WHO: [(&str, &str); 8] = [
    ("nobody", ""),
    ("revoked", ""),
    ("viewer", "vera"),
    ("owner", "agent-a"),
    ("other", "agent-b"),
    ("monitor", "monitor"),
    ("reviewer", "alice"),
    ("admin", "root-of-all"),
];

/// One line a route. `ok` is a success; 401 is without a valid token, 403 is forbidden, 404 is
/// hidden. Then what `{id}` stands for (see `make`), and the body, in which `{id}` stands for the
/// same.
///
/// A new route: copy a line, write `?` for each of the columns, run the test, and look hard at what
/// it says.
const TABLE: &str = r#"
#                                               nobody revoked viewer owner other monitor reviewer admin {id}     body
GET    /healthz                                 ok     ok      ok     ok    ok    ok      ok       ok    -
GET    /readyz                                  ok     ok      ok     ok    ok    ok      ok       ok    -
GET    /metrics                                 ok     ok      ok     ok    ok    ok      ok       ok    -
GET    /openapi.json                            ok     ok      ok     ok    ok    ok      ok       ok    -
POST   /v1/gates                                401    401     403    ok    ok    ok      ok       ok    -        {"summary": "May I?"}
GET    /v1/gates                                401    401     ok     ok    ok    ok      ok       ok    -
POST   /v1/gates/wait                           401    401     ok     ok    404   404     ok       ok    gate     {"ids": ["{id}"], "timeout_ms": 1}
GET    /v1/gates/{id}                           401    401     ok     ok    404   404     ok       ok    gate
PATCH  /v1/gates/{id}                           401    401     403    ok    404   404     403      403   gate     {"summary": "May I now?"}
GET    /v1/gates/{id}/wait?timeout_ms=1         401    401     ok     ok    404   404     ok       ok    gate
POST   /v1/gates/{id}/approve                   401    401     403    403   403   403     ok       ok    gate     {}
POST   /v1/gates/{id}/reject                    401    401     403    403   403   403     ok       ok    gate     {"reason": "no"}
POST   /v1/gates/{id}/adjust                    401    401     403    403   403   403     ok       ok    draft    {"feedback": "shorter"}
POST   /v1/gates/{id}/pause                     401    401     403    403   403   403     ok       ok    draft    {}
POST   /v1/gates/{id}/decide                    401    401     403    403   403   403     ok       ok    gate     {"decision": "approve"}
POST   /v1/gates/{id}/extend                    401    401     403    ok    404   404     ok       ok    gate     {"timeout_ms": 7200000}
POST   /v1/gates/{id}/cancel                    401    401     403    ok    404   404     ok       ok    gate     {}
GET    /v1/gates/{id}/receipt                   401    401     ok     ok    404   404     ok       ok    gate
POST   /v1/questions                            401    401     403    ok    ok    ok      ok       ok    -        {"type": "DECISION", "text": "Which?"}
GET    /v1/questions                            401    401     ok     ok    ok    ok      ok       ok    -
GET    /v1/questions/{id}                       401    401     ok     ok    404   404     ok       ok    question
GET    /v1/questions/{id}/wait?timeout_ms=1     401    401     ok     ok    404   404     ok       ok    question
POST   /v1/questions/{id}/acknowledge           401    401     ok     ok    404   404     ok       ok    question {}
POST   /v1/questions/{id}/answer                401    401     403    403   403   403     ok       ok    question {"answer": "this"}
POST   /v1/questions/{id}/deny                  401    401     403    403   403   403     ok       ok    question {}
POST   /v1/questions/{id}/skip                  401    401     403    ok    403   403     ok       ok    question {}
POST   /v1/questions/{id}/cancel                401    401     403    ok    403   403     ok       ok    question {}
POST   /v1/questions/{id}/skip                  401    401     403    403   403   403     ok       ok    halting  {}
POST   /v1/questions/{id}/cancel                401    401     403    403   403   403     ok       ok    halting  {}
POST   /v1/runs                                 401    401     403    ok    ok    ok      ok       ok    -        {"title": "by hand"}
GET    /v1/runs                                 401    401     ok     ok    ok    ok      ok       ok    -
GET    /v1/runs/{id}                            401    401     ok     ok    404   404     ok       ok    run
GET    /v1/runs/{id}/wait?timeout_ms=1          401    401     ok     ok    404   404     ok       ok    run
GET    /v1/runs/{id}/journal                    401    401     ok     ok    404   404     ok       ok    run
GET    /v1/runs/{id}/events                     401    401     ok     ok    404   404     ok       ok    run
POST   /v1/runs/{id}/steps                      401    401     403    ok    404   404     403      403   run      {"key": "a", "state": "begun"}
POST   /v1/runs/{id}/end                        401    401     403    ok    404   404     403      403   run      {"status": "completed"}
POST   /v1/runs/{id}/cancel                     401    401     403    ok    404   404     ok       ok    run      {}
POST   /v1/runs/{id}/resume                     401    401     403    ok    404   404     ok       ok    stopped  {}
POST   /v1/debates                              401    401     403    ok    ok    ok      ok       ok    -        {"topic": "Why?", "preset": "quick", "agents": 2}
GET    /v1/debates                              401    401     ok     ok    ok    ok      ok       ok    -
GET    /v1/debates/{id}                         401    401     ok     ok    404   404     ok       ok    debated
DELETE /v1/debates/{id}                         401    401     403    ok    404   404     ok       ok    debate
GET    /v1/debates/{id}/status                  401    401     ok     ok    404   404     ok       ok    debated
GET    /v1/debates/{id}/results                 401    401     ok     ok    404   404     ok       ok    debated
GET    /v1/debates/{id}/turns                   401    401     ok     ok    404   404     ok       ok    debated
GET    /v1/debates/{id}/votes                   401    401     ok     ok    404   404     ok       ok    debated
GET    /v1/debates/{id}/code-versions           401    401     ok     ok    404   404     ok       ok    debated
GET    /v1/debates/{id}/audit                   401    401     ok     ok    404   404     ok       ok    debated
GET    /v1/debates/{id}/replay                  401    401     ok     ok    404   404     ok       ok    debated
GET    /v1/debates/{id}/gates                   401    401     ok     ok    404   404     ok       ok    debated
GET    /v1/debates/{id}/events                  401    401     ok     ok    404   404     ok       ok    debated
POST   /v1/debates/{id}/approve                 401    401     403    403   404   404     ok       ok    asked    {"request_id": "{request_id}"}
POST   /v1/debates/{id}/reject                  401    401     403    403   404   404     ok       ok    asked    {"request_id": "{request_id}", "reason": "no"}
GET    /v1/debate/{debate_id}/gates             401    401     ok     ok    404   404     ok       ok    debate
GET    /v1/debate/{debate_id}/gates/{request_id} 401    401     ok     ok    404   404     ok       ok    asked
POST   /v1/debate/{debate_id}/gates/{request_id}/approve 401    401     403    403   404   404     ok       ok    asked    {}
POST   /v1/debate/{debate_id}/gates/{request_id}/reject 401    401     403    403   404   404     ok       ok    asked    {"reason": "no"}
POST   /v1/plans                                401    401     403    ok    ok    ok      ok       ok    -        {"goal": "Why?", "max_iterations": 1}
GET    /v1/plans                                401    401     ok     ok    ok    ok      ok       ok    -
GET    /v1/plans/{id}                           401    401     ok     ok    404   404     ok       ok    planned
GET    /v1/plans/{id}/wait?timeout_ms=1         401    401     ok     ok    404   404     ok       ok    planned
GET    /v1/plans/{id}/events                    401    401     ok     ok    404   404     ok       ok    planned
GET    /v1/plans/{id}/export                    401    401     ok     ok    404   404     ok       ok    planned
GET    /v1/plans/{id}/entities/{name}           401    401     ok     ok    404   404     ok       ok    planned
POST   /api/plan                                401    401     403    ok    ok    ok      ok       ok    -        {"goal": "Why?", "max_iterations": 1}
GET    /api/plan/{session_id}                   401    401     ok     ok    404   404     ok       ok    planned
GET    /api/execute-plan?session_id={id}        401    401     ok     ok    404   404     ok       ok    planned
POST   /api/approve                             401    401     403    403   404   404     ok       ok    plan     {"approval_id": "proposal_{id}", "approval_status": "rejected"}
GET    /v1/lessons                              401    401     ok     ok    ok    ok      ok       ok    -
PATCH  /v1/lessons/{id}                         401    401     403    403   404   404     403      ok    lesson   {"lesson": "test more", "reason": "it was wrong"}
GET    /v1/models                               401    401     ok     403   403   403     ok       ok    -
GET    /v1/models/asked                         401    401     ok     ok    ok    ok      ok       ok    -
GET    /v1/clearance                            401    401     ok     ok    ok    ok      ok       ok    -
GET    /v1/clearance?agent_id=agent-b           401    401     ok     ok    ok    ok      ok       ok    -
GET    /v1/clearance/wait?timeout_ms=1          401    401     ok     ok    ok    ok      ok       ok    -
POST   /v1/halts                                401    401     403    403   403   ok      403      ok    -        {"scope": "agent", "agent_id": "nobody-here", "reason": "stop"}
GET    /v1/halts                                401    401     ok     ok    ok    ok      ok       ok    -
GET    /v1/halts/{id}                           401    401     ok     404   404   404     ok       ok    halt
DELETE /v1/halts/{id}                           401    401     403    403   403   403     403      ok    halt
GET    /v1/events                               401    401     ok     ok    ok    ok      ok       ok    -
GET    /v1/ws                                   401    401     ok     ok    ok    ok      ok       ok    -
GET    /api/ws                                  401    401     ok     ok    ok    ok      ok       ok    -
GET    /v1/audit                                401    401     ok     ok    ok    ok      ok       ok    -
GET    /v1/audit/verify                         401    401     ok     403   403   403     ok       ok    -
GET    /v1/audit/checkpoint                     401    401     ok     403   403   403     ok       ok    -
GET    /v1/audit/key                            ok     ok      ok     ok    ok    ok      ok       ok    -
DELETE /v1/gates/{id}/contents                  401    401     403    403   404   404     403      ok    decided  {"reason": "a key was in it"}
DELETE /v1/artifacts/{digest}                   401    401     403    403   403   403     403      ok    content  {"reason": "a key was in it"}
POST   /v1/tokens                               401    401     403    403   403   403     403      ok    -        {"name": "dora", "role": "reviewer"}
GET    /v1/tokens                               401    401     403    403   403   403     403      ok    -
DELETE /v1/tokens/{id}                          401    401     403    403   403   403     403      ok    token
POST   /v1/webhooks                             401    401     403    403   403   403     403      ok    name     {"name": "{id}", "url": "https://hooks.example.org/x"}
GET    /v1/webhooks                             401    401     403    403   403   403     403      ok    -
GET    /v1/webhooks/{id}                        401    401     403    403   403   403     403      ok    webhook
PATCH  /v1/webhooks/{id}                        401    401     403    403   403   403     403      ok    webhook  {"disabled": true}
DELETE /v1/webhooks/{id}                        401    401     403    403   403   403     403      ok    webhook
POST   /v1/webhooks/{id}/rotate                 401    401     403    403   403   403     403      ok    webhook  {}
POST   /v1/webhooks/{id}/test                   401    401     403    403   403   403     403      ok    webhook  {}
GET    /v1/deliveries                           401    401     403    403   403   403     403      ok    -
GET    /v1/deliveries/{id}                      401    401     403    403   403   403     403      ok    delivery
POST   /v1/deliveries/{id}/resend               401    401     403    403   403   403     403      ok    delivery {}
GET    /v1/notify/channels                      401    401     403    403   403   403     403      ok    -
POST   /v1/notify/test                          401    401     403    403   403   403     403      ok    channel  {"channel": "{id}"}
"#;

/// Served, but not described: the description itself.
const UNDESCRIBED: [&str; 1] = ["GET /openapi.json"];

struct Line<'a> {
    method: &'a str,
    /// With its query.
    address: &'a str,
    cells: Vec<&'a str>,
    thing: &'a str,
    body: String,
}

impl Line<'_> {
    fn parse(line: &str) -> Line<'_> {
        let mut words = line.split_whitespace();
        let mut word = || words.next().unwrap_or_else(|| panic!("this line is too short: {line}"));
        let (method, address) = (word(), word());
        let cells = WHO.iter().map(|_| word()).collect();
        let thing = word();
        Line { method, address, cells, thing, body: words.collect::<Vec<_>>().join(" ") }
    }

    /// About this thing; of a plan, its first entity; of a debate, its gate where it is named too.
    fn address(&self, thing: &str) -> String {
        if let Some((debate, gate)) = thing.split_once(' ') {
            return self.address.replace("{debate_id}", debate).replace("{id}", debate).replace("{request_id}", gate);
        }
        let address = ["{id}", "{digest}", "{session_id}", "{debate_id}"]
            .iter()
            .fold(self.address.to_owned(), |text, part| text.replace(part, thing));
        address.replace("{name}", "executive_summary_report")
    }

    fn operation(&self) -> String {
        let path = self.address.split('?').next().unwrap_or_default();
        format!("{} {path}", self.method)
    }
}

fn table() -> Vec<Line<'static>> {
    let lines = TABLE.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(Line::parse).collect()
}

#[test]
fn every_route_is_in_the_table_and_every_line_of_it_is_a_route() {
    let document = serde_json::to_value(folkmoot_server::document()).unwrap();
    let mut served: Vec<String> = UNDESCRIBED.map(str::to_owned).into();
    for (path, methods) in document["paths"].as_object().unwrap() {
        served.extend(methods.as_object().unwrap().keys().map(|method| format!("{} {path}", method.to_uppercase())));
    }
    let listed: Vec<String> = table().iter().map(Line::operation).collect();
    let missing: Vec<_> = served.iter().filter(|route| !listed.contains(route)).collect();
    assert!(
        missing.is_empty(),
        "{missing:?} are in /openapi.json and not in the table of tests/it/privileges.rs. Say who may: copy the line of a \
         similar route there, write `?` in each column, and run `cargo test -p folkmoot-server --test it privileges`, \
         which says who can."
    );
    let gone: Vec<_> = listed.iter().filter(|line| !served.contains(line)).collect();
    assert!(gone.is_empty(), "{gone:?} are in the table of tests/it/privileges.rs, but not in /openapi.json");
}

#[tokio::test]
async fn each_route_is_open_to_whom_the_table_says_and_to_nobody_else() {
    let node = Node::with(Setting { allow: vec!["127.0.0.0/8".to_owned()], ..with_workflows() }).await;
    let revoked = revoked(&node).await;
    let mut wrong = String::new();
    let mut calls = 0;
    for line in table() {
        let mut found = Vec::new();
        for (column, name) in WHO {
            let secret = match column {
                "revoked" => revoked.clone(),
                "nobody" => String::new(),
                _ => token(name),
            };
            let thing = make(&node, line.thing).await;
            let address = line.address(&thing);
            let gate = thing.split_once(' ').map_or("", |(_, gate)| gate);
            let body = line.body.replace("{id}", &thing).replace("{request_id}", gate);
            found.push(call(&node, line.method, &address, &secret, &body).await);
            calls += 1;
        }
        if found != line.cells {
            let told = line.cells.join(" ");
            writeln!(
                wrong,
                "{} {}\n  the table says: {told}\n  but it is:      {}",
                line.method,
                line.address,
                found.join(" ")
            )
            .unwrap();
        }
    }
    assert!(wrong.is_empty(), "the columns are {:?}\n{wrong}", WHO.map(|(column, _)| column));
    assert!(calls > 300, "only {calls} calls were made");
    node.verifies().await;
}

#[tokio::test]
async fn each_example_of_the_document_is_taken_from_whoever_may() {
    let node = Node::with(Setting { allow: vec!["127.0.0.0/8".to_owned()], ..with_workflows() }).await;
    let document = serde_json::to_value(folkmoot_server::document()).unwrap();
    let mut taken = 0;
    for line in table() {
        let path = line.address.split('?').next().unwrap();
        let body = &document["paths"][path][line.method.to_lowercase()]["requestBody"]["content"]["application/json"];
        let Some(schema) = body["schema"]["$ref"].as_str() else { continue };
        let usual = &document.pointer(schema.trim_start_matches('#')).unwrap()["example"];
        let example = if body["example"].is_object() { &body["example"] } else { usual };
        let may = line.cells.iter().position(|cell| *cell == "ok").unwrap_or_else(|| panic!("nobody may {path}"));
        if example.is_object() {
            let thing = make(&node, line.thing).await;
            let address = line.address(&thing);
            let found = call(&node, line.method, &address, &token(WHO[may].1), &example.to_string()).await;
            assert_eq!(found, "ok", "{} {address}: {example}", line.method);
            taken += 1;
        }
    }
    assert!(taken > 15, "only {taken} examples were found");
}

/// Whoever holds a body back until its token is revoked changes nothing with it, through no route.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_comes_after_the_revocation_is_taken_by_no_route() {
    let node = Node::with(Setting { allow: vec!["127.0.0.0/8".to_owned()], ..with_workflows() }).await;
    let mut held_back = 0;
    for line in table().iter().filter(|line| line.method != "GET" && !line.body.is_empty()) {
        let may =
            line.cells.iter().rposition(|cell| *cell == "ok").unwrap_or_else(|| panic!("nobody may {}", line.address));
        let name = WHO[may].1;
        let (role, _) = PEOPLE.iter().find(|(_, person)| *person == name).unwrap();
        let minted = mint(&node, name, role).await;
        let thing = make(&node, line.thing).await;
        let (address, body) = (line.address(&thing), line.body.replace("{id}", &thing));
        let request = HeldBack::send(&node, line.method, &address, &minted.secret, &body).await;
        revoke(&node, &minted).await;
        let answer = request.finish().await;
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (401, &json!("unauthenticated")),
            "{} {address}",
            line.method
        );
        held_back += 1;
    }
    assert!(held_back > 30, "only {held_back} bodies were held back");
}

/// What a route is about, made for one call.
async fn make(node: &Node, thing: &str) -> String {
    match thing {
        "-" => String::new(),
        "gate" => id(&node.opened(json!({"summary": "May I?", "timeout_ms": 3_600_000})).await),
        "draft" => {
            let allowed = json!(["approve", "reject", "adjust", "pause"]);
            id(&node.opened(json!({"summary": "Like this?", "kind": "checkpoint", "allowed": allowed})).await)
        }
        "question" => id(&node.asked(json!({"type": "DECISION", "text": "Which?"})).await),
        "halting" => id(&node.asked(json!({"type": "BLOCKING", "text": "Which?", "agent_id": "somebody"})).await),
        "run" => node.starts_own().await,
        "stopped" => {
            let run = node.starts("twice@1", Value::Null).await;
            node.until_is(&run, "stopped").await;
            run
        }
        "halt" => {
            let body = json!({"scope": "agent", "agent_id": "nobody-here", "reason": "stop"});
            id(&created(node.post("root-of-all", "/v1/halts", body).await))
        }
        "token" => {
            id(&created(node.post("root-of-all", "/v1/tokens", json!({"name": "dora", "role": "reviewer"})).await))
        }
        "content" => decided(node).await["artifacts"][0]["digest"].as_str().unwrap().to_owned(),
        "decided" => id(&decided(node).await),
        "name" => unique(),
        "plan" => plans::session(&plans::plan(node, 2, 2).await).to_owned(),
        "planned" => plans::session(&plans::plan(node, 1, 1).await).to_owned(),
        "debate" => debate(node).await.0,
        "asked" => {
            let (debate, gate) = debate(node).await;
            format!("{debate} {gate}")
        }
        "debated" => match known(node, "completed").await {
            Some(debate) => id(&debate),
            None => {
                let id = debates::start(node, json!({ "agents": 1 })).await;
                debates::over(node, &id).await;
                id
            }
        },
        "lesson" => id(&debates::lessons::lesson(node).await),
        "webhook" => id(&webhook(node).await),
        "channel" => webhook(node).await["name"].as_str().unwrap().to_owned(),
        "delivery" => {
            // Nobody answers to such a name any more, so it is dead at once, and can be sent again.
            let hook = webhook(node).await;
            let channel = hook["name"].as_str().unwrap();
            node.opened(json!({"summary": "May I?", "notification_channels": [channel]})).await;
            let path = format!("/v1/webhooks/{}", id(&hook));
            assert_eq!(node.send("root-of-all", "DELETE", &path, json!({})).await.status, 200);
            let path = format!("/v1/deliveries?state=dead&channel={channel}");
            loop {
                let found = node.get("root-of-all", &path).await.json();
                if let Some(delivery) = found["deliveries"].as_array().unwrap().first() {
                    break id(delivery);
                }
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        }
        unknown => panic!("the table speaks of a {unknown}, and `make` does not know how to make one"),
    }
}

/// A debate that waits at a gate, and the gate: whoever may not touch it leaves it for the next.
async fn debate(node: &Node) -> (String, String) {
    let id = match known(node, "paused").await {
        Some(debate) => id(&debate),
        None => debates::start(node, json!({ "agents": 1, "gates": debates::gates(&["proposal"]) })).await,
    };
    let gate = debates::waits(node, &id, "").await;
    (id, gate)
}

/// A debate of the owner's that is there already.
async fn known(node: &Node, status: &str) -> Option<Value> {
    let path = format!("/v1/debates?limit=1&status={status}");
    node.get("agent-a", &path).await.json()["debates"].as_array().unwrap().first().cloned()
}

/// A name, or a text, that nothing else has.
fn unique() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("thing-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A gate that is over, with content that nothing else shows.
async fn decided(node: &Node) -> Value {
    let artifacts = json!([{"name": "note", "media_type": "text/plain", "content": unique()}]);
    let gate = node.opened(json!({"summary": unique(), "artifacts": artifacts})).await;
    let approved = node.post("alice", &format!("/v1/gates/{}/approve", id(&gate)), json!({})).await;
    assert_eq!(approved.status, 200, "{approved:?}");
    gate
}

async fn webhook(node: &Node) -> Value {
    // Nothing listens there, and a test of it says so.
    let body = json!({"name": unique(), "url": "https://127.0.0.1:1/x"});
    created(node.post("root-of-all", "/v1/webhooks", body).await)
}

/// A token that was valid a moment ago, of an admin: whoever still heeds it would let everything
/// pass.
async fn revoked(node: &Node) -> String {
    let made = created(node.post("root-of-all", "/v1/tokens", json!({"name": "gone", "role": "admin"})).await);
    let path = format!("/v1/tokens/{}", id(&made));
    let secret = made["token"].as_str().unwrap().to_owned();
    assert_eq!(http::send(&node.url, "GET", "/v1/tokens", &secret, &[], "").await.status, 200, "it was valid");
    assert_eq!(http::send(&node.url, "DELETE", &path, &token("root-of-all"), &[], "").await.status, 200);
    secret
}

fn created(answer: http::Answer) -> Value {
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

/// The word for what this call comes to. Of a stream only the head is read.
async fn call(node: &Node, method: &str, address: &str, secret: &str, body: &str) -> String {
    let host = node.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).await.unwrap();
    let mut request = format!("{method} {address} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {}\r\n", body.len());
    if !secret.is_empty() {
        write!(request, "authorization: Bearer {secret}\r\n").unwrap();
    }
    if address.ends_with("/ws") {
        request += "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n";
        request += "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    }
    stream.write_all(format!("{request}\r\n{body}").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    let code = loop {
        let length = stream.read(&mut part).await.unwrap();
        assert_ne!(length, 0, "{method} {address} has no answer");
        answer.extend_from_slice(&part[..length]);
        let text = String::from_utf8_lossy(&answer);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        // The planner API has errors of its own shape.
        let refused = head.split(' ').nth(1).is_some_and(|status| status.starts_with('4'));
        if !refused {
            break String::new();
        }
        if let Ok(problem) = serde_json::from_str::<Value>(body) {
            break problem["code"].as_str().unwrap_or_default().to_owned();
        }
    };
    let status: u16 =
        String::from_utf8_lossy(&answer).split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    match (status, code.as_str()) {
        (101 | 200 | 201 | 202 | 204, "") => "ok".to_owned(),
        (401, "unauthenticated") => "401".to_owned(),
        (403, _) => "403".to_owned(),
        (404, code) if code.starts_with("unknown_") && code != "unknown_address" => "404".to_owned(),
        // Neither a success nor a matter of who asks: then the request is not right.
        (status, code) => format!("{status}:{code}"),
    }
}
