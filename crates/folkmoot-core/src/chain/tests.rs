use std::borrow::Cow;

use super::{append, hash};
use crate::{Digest, Event, Fact, Head, transcript::time};

fn opened() -> Fact {
    Fact {
        stream: "gate-1".into(),
        stream_seq: 1,
        kind: Cow::Borrowed("gate.opened"),
        version: 1,
        actor: "bot".parse().unwrap(),
        on_behalf_of: Some("agent-7".parse().unwrap()),
        session: Some("s1".parse().unwrap()),
        command_id: "command-1".parse().unwrap(),
        at: time("09:00"),
        payload: r#"{"title":"Straße \"1\""}"#.to_owned(),
        token_id: None,
    }
}

fn decided() -> Fact {
    Fact {
        stream_seq: 2,
        kind: Cow::Borrowed("gate.decided"),
        actor: "alice".parse().unwrap(),
        on_behalf_of: None,
        session: None,
        command_id: "command-2".parse().unwrap(),
        at: time("09:05:00.000001"),
        payload: "{}".to_owned(),
        ..opened()
    }
}

/// The hashes were computed once with Python's hashlib, from the description at the top of
/// `chain.rs`.
#[test]
fn the_hash_is_the_one_that_the_documentation_describes() {
    let mut head = Head::START;
    let with_token = Fact { stream_seq: 3, token_id: Some("tok-1".parse().unwrap()), ..decided() };
    let hashes = [opened(), decided(), with_token].map(|fact| append(&mut head, fact).hash.hex());
    let known = [
        "09e42dfbcc3f3c8226af902ed6b888525c0ca836754cdce359201a79d1446f3b",
        "2d823dcfccf768bbe1cc7591193c0177e64a4e11e8a4b2da14a8812f70f1f7e2",
        "487090cd5909e50ce86859031fbba52235f181f2370f00c98f7a901ce2c5ad56",
    ];
    assert_eq!(hashes, known);
}

#[test]
fn an_event_is_put_after_the_one_before_it() {
    let mut head = Head::START;
    let first = append(&mut head, opened());
    assert_eq!(head, Head { position: 1, hash: first.hash });
    let second = append(&mut head, decided());
    let hash = hash(2, &decided(), first.hash);
    assert_eq!(second, Event { position: 2, fact: decided(), prev_hash: first.hash, hash });
}

#[test]
fn every_field_is_in_the_hash() {
    type Change = fn(&mut Fact);
    let changes: [(&str, Change); 11] = [
        ("stream", |fact| fact.stream = "gate-2".into()),
        ("stream_seq", |fact| fact.stream_seq = 2),
        ("type", |fact| fact.kind = Cow::Borrowed("gate.amended")),
        ("version", |fact| fact.version = 2),
        ("actor", |fact| fact.actor = "elf".parse().unwrap()),
        ("on_behalf_of", |fact| fact.on_behalf_of = None),
        ("session", |fact| fact.session = None),
        ("command_id", |fact| fact.command_id = "command-2".parse().unwrap()),
        ("at", |fact| fact.at = time("09:00:00.000001")),
        ("payload", |fact| fact.payload.push(' ')),
        ("token_id", |fact| fact.token_id = Some("tok-1".parse().unwrap())),
    ];
    let calm = hash(1, &opened(), Digest::ZERO);
    for (field, change) in changes {
        let mut fact = opened();
        change(&mut fact);
        assert_ne!(hash(1, &fact, Digest::ZERO), calm, "{field}");
    }
    assert_ne!(hash(2, &opened(), Digest::ZERO), calm, "position");
    assert_ne!(hash(1, &opened(), calm), calm, "prev_hash");
}

#[test]
fn text_cannot_move_from_one_field_to_the_next() {
    let of = |on_behalf_of: Option<&str>, session: Option<&str>| {
        let fact = Fact {
            on_behalf_of: on_behalf_of.map(|text| text.parse().unwrap()),
            session: session.map(|text| text.parse().unwrap()),
            ..opened()
        };
        hash(1, &fact, Digest::ZERO)
    };
    assert_ne!(of(Some("ab"), Some("c")), of(Some("a"), Some("bc")));
    assert_ne!(of(Some("a"), None), of(None, Some("a")));
}

#[test]
fn a_token_id_is_not_taken_for_another_field_or_for_none() {
    let of = |session: Option<&str>, token_id: Option<&str>| {
        let fact = Fact {
            session: session.map(|text| text.parse().unwrap()),
            token_id: token_id.map(|text| text.parse().unwrap()),
            ..opened()
        };
        hash(1, &fact, Digest::ZERO)
    };
    let hashes = [
        of(None, None),
        of(None, Some("a")),
        of(Some("a"), None),
        of(Some("a"), Some("a")),
        of(Some("a"), Some("b")),
        of(Some("ab"), Some("c")),
        of(Some("a"), Some("bc")),
    ];
    assert_eq!(std::collections::BTreeSet::from(hashes).len(), hashes.len());
    assert!("".parse::<crate::TokenId>().is_err(), "an empty id would be a field of no bytes");
}
