use super::*;

#[test]
fn pieces_have_every_line_once() {
    let text: String = (1..=100).map(|number| format!("line {number}\n")).collect();
    let cut = pieces(&text);
    assert_eq!(
        cut.iter().map(|piece| (piece.0, piece.1)).collect::<Vec<_>>(),
        [(1, 30), (31, 60), (61, 90), (91, 100)]
    );
    assert_eq!(cut.iter().map(|piece| piece.2).collect::<String>(), text);
    assert_eq!(pieces("no end"), [(1, 1, "no end")]);
    assert_eq!(pieces(""), []);
    let long = "x".repeat(PIECE_BYTES * 3);
    assert_eq!(pieces(&format!("a\n{long}\nb")), [(1, 1, "a\n"), (2, 2, &*format!("{long}\n")), (3, 3, "b")]);
}

#[test]
fn a_query_is_words_and_never_operators() {
    assert_eq!(expression("a AND b*"), Some("\"a\"* OR \"AND\"* OR \"b\"*".into()));
    assert_eq!(
        expression("text:\"x\" ^(y) NEAR(z, 2)"),
        Some("\"text\"* OR \"x\"* OR \"y\"* OR \"NEAR\"* OR \"z\"* OR \"2\"*".into())
    );
    assert_eq!(expression(" \"'*()- \0"), None);
}

#[test]
fn secrets_are_known_by_their_names() {
    for path in [
        ".env",
        "web/.env.production",
        "prod.env",
        "a/server.pem",
        "ID_RSA",
        "keys/id_ed25519",
        "home/.ssh/config",
        ".ssh",
        ".aws/credentials",
        "x/terraform.tfstate",
        ".npmrc",
        "config/secrets.yml",
        "store.p12",
        "a/.git-credentials",
    ] {
        assert!(is_secret(path), "{path}");
    }
    for path in [
        ".env.example",
        "src/id_map.rs",
        "id_rsa.pub",
        "src/secret.rs",
        "environment.rs",
        "docs/keys.md",
        "src/env/mod.rs",
    ] {
        assert!(!is_secret(path), "{path}");
    }
    let dashes = "-----";
    assert!(secret::holds_a_key(&format!("x\n{dashes}BEGIN RSA PRIVATE KEY{dashes}\nMII")));
    assert!(!secret::holds_a_key("a PRIVATE KEY is private"));
}
