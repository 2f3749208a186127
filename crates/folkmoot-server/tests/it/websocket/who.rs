//! Who may open a socket.

use folkmoot_server::Origin;
use serde_json::json;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::Socket;
use crate::{
    http,
    node::{Node, Setting, everywhere, token},
};

#[tokio::test]
async fn a_browser_says_who_it_is_in_the_subprotocol_and_hears_nothing_of_it_back() {
    let node = Node::start().await;
    let bearer = format!("folkmoot.bearer.{}", token("vera"));
    let both = format!("folkmoot.v1, {bearer}");
    let (mut socket, selected) =
        Socket::knock(&node, "/v1/ws?after=0", &[("sec-websocket-protocol", &both)]).await.unwrap();
    assert_eq!(selected.as_deref(), Some("folkmoot.v1"));
    assert_eq!(socket.frame().await, json!({ "position": 0 }));
    let wrong = "folkmoot.v1, folkmoot.bearer.wrong-wrong-wrong-wrong";
    for protocols in [bearer.as_str(), wrong, "folkmoot.v1", "folkmoot.v1, folkmoot.bearer."] {
        let refused = Socket::knock(&node, "/v1/ws", &[("sec-websocket-protocol", protocols)]).await.err();
        assert_eq!(refused, Some((401, "unauthenticated".to_owned())), "{protocols}");
    }
    assert_eq!(Socket::knock(&node, "/v1/ws", &[]).await.err(), Some((401, "unauthenticated".to_owned())));
}

#[tokio::test]
async fn only_pages_of_this_server_and_of_those_that_are_listed_may_read() {
    let origins = vec!["https://board.example".parse::<Origin>().unwrap()];
    let node = Node::with(Setting { origins, ..Setting::default() }).await;
    let host = node.url.trim_start_matches("http://");
    let port = host.rsplit(':').next().unwrap();
    let authorization = format!("Bearer {}", token("vera"));
    #[rustfmt::skip]
    let cases = [
        (Some(format!("http://{host}")), true),
        (Some(format!("HTTP://{host}")), true),
        (Some(format!("https://{host}")), true),
        (Some("https://board.example".to_owned()), true),
        (Some("https://board.example:443".to_owned()), true),
        (Some("https://BOARD.example".to_owned()), true),
        (None, true),
        (Some("http://board.example".to_owned()), false),
        (Some("https://board.example:8443".to_owned()), false),
        (Some("https://board.example.evil.test".to_owned()), false),
        (Some("https://board.example@evil.test".to_owned()), false),
        (Some("https://board.example/".to_owned()), false),
        (Some("https://evil.test".to_owned()), false),
        (Some(format!("http://localhost:{port}")), false),
        (Some(format!("http://{}", host.trim_end_matches(|c: char| c != ':').trim_end_matches(':'))), false),
        (Some(format!("file://{host}")), false),
        (Some("null".to_owned()), false),
        (Some(String::new()), false),
    ];
    for path in ["/v1/ws", "/api/ws"] {
        for (origin, allowed) in &cases {
            let mut headers = vec![("authorization", authorization.as_str())];
            headers.extend(origin.as_deref().map(|origin| ("origin", origin)));
            let refused = Socket::knock(&node, path, &headers).await.err();
            let expected = (!allowed).then(|| (403, "foreign_origin".to_owned()));
            assert_eq!(refused, expected, "{path} {origin:?}");
        }
        let two =
            [("authorization", authorization.as_str()), ("origin", &format!("http://{host}")), ("origin", "null")];
        assert_eq!(Socket::knock(&node, path, &two).await.err(), Some((403, "foreign_origin".to_owned())), "two");
    }
}

#[tokio::test]
async fn what_is_no_websocket_is_told_so() {
    let node = Node::start().await;
    let answer = node.get("vera", "/v1/ws").await;
    assert_eq!((answer.status, answer.code().as_str()), (426, "upgrade_required"));
    assert!(answer.head.contains("upgrade: websocket"), "{}", answer.head);
    let upgrade = [("connection", "upgrade"), ("upgrade", "websocket"), ("sec-websocket-version", "8")];
    let answer = http::send(&node.url, "GET", "/v1/ws", &token("vera"), &upgrade, "").await;
    assert_eq!((answer.status, answer.code().as_str()), (426, "upgrade_required"));
    let authorization = format!("Bearer {}", token("vera"));
    for (path, code) in [("/v1/ws?after=4711", "bad_position"), ("/v1/ws?before=1", "bad_query")] {
        let refused = Socket::knock(&node, path, &[("authorization", &authorization)]).await.err();
        assert_eq!(refused, Some((400, code.to_owned())), "{path}");
    }
}

/// Whichever server it is open at, and whichever is told that the token is worth nothing.
#[tokio::test]
async fn a_revoked_token_ends_its_socket() {
    for nodes in everywhere().await {
        let (here, there) = (nodes.first().unwrap(), nodes.last().unwrap());
        let made = here.post("root-of-all", "/v1/tokens", json!({"name": "eve", "role": "viewer"})).await.json();
        let authorization = format!("Bearer {}", made["token"].as_str().unwrap());
        let (mut eve, _) = Socket::knock(here, "/v1/ws", &[("authorization", &authorization)]).await.unwrap();
        eve.frame().await;
        let admin = there.client("root-of-all");
        admin.revoke_token(&made["id"].as_str().unwrap().parse().unwrap()).await.unwrap();
        // She may hear of other things first, but not for long.
        assert_eq!(eve.closed().await, (CloseCode::Policy, "the token was revoked".to_owned()));
    }
}
