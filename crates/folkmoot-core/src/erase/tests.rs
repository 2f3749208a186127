use super::{ContentStatus, Erasure, Erasures, erase};
use crate::{CommandId, Digest, Event, Fact, Head, Principal, Role, Timestamp, chain};

fn admin() -> Principal {
    Principal::new("root".parse().unwrap(), Role::Admin)
}

fn kept(text: &str) -> ContentStatus {
    let digest = Digest::of(text.as_bytes());
    ContentStatus { digest, present: true, erasures: 0, barred: false, used_at: Timestamp::from_micros(0) }
}

fn erasure(text: &str) -> Erasure {
    Erasure { digests: vec![Digest::of(text.as_bytes())], reason: "a key was in it".to_owned() }
}

#[test]
fn an_admin_erases_what_is_kept_and_only_once() {
    assert_eq!(erase(&erasure("a"), &admin(), &[kept("a")]), Ok(vec![kept("a")]));
    let barred = ContentStatus { barred: true, present: false, erasures: 1, ..kept("a") };
    assert_eq!(erase(&erasure("a"), &admin(), &[barred]), Ok(Vec::new()));
    let twice = Erasure { digests: vec![kept("a").digest; 2], ..erasure("a") };
    assert_eq!(erase(&twice, &admin(), &[kept("a")]), Ok(vec![kept("a")]));
}

#[test]
fn nobody_else_erases_and_nothing_goes_without_a_reason() {
    for role in [Role::Reviewer, Role::Agent, Role::Viewer] {
        let by = Principal::new("somebody".parse().unwrap(), role);
        assert_eq!(erase(&erasure("a"), &by, &[kept("a")]).unwrap_err().code(), "role_may_not");
    }
    let silent = Erasure { reason: " ".to_owned(), ..erasure("a") };
    assert_eq!(erase(&silent, &admin(), &[kept("a")]).unwrap_err().code(), "invalid");
    assert_eq!(erase(&erasure("b"), &admin(), &[kept("a")]).unwrap_err().code(), "unknown_content");
}

fn event(kind: &'static str, payload: String) -> Event {
    let fact = Fact {
        stream: "artifact".into(),
        stream_seq: 1,
        kind: kind.into(),
        version: 1,
        actor: "root".parse().unwrap(),
        on_behalf_of: None,
        session: None,
        command_id: "cmd-1".parse::<CommandId>().unwrap(),
        at: Timestamp::from_micros(0),
        payload,
        token_id: None,
    };
    chain::append(&mut Head::START.clone(), fact)
}

#[test]
fn erased_is_told_from_lost() {
    let (digest, text) = (Digest::of(b"a"), Some(&b"a"[..]));
    let nothing = Erasures::default();
    let told = |erasures: &Erasures, content| erasures.check(digest, content).map(|problem| problem.problem);
    assert_eq!(told(&nothing, text), None);
    assert!(told(&nothing, None).unwrap().contains("nobody has erased it"));
    assert!(told(&nothing, Some(b"b")).unwrap().contains("was changed"));

    let mut retired = Erasures::default();
    let payload = format!(r#"{{"digests":["{digest}"],"decided_before":"2026-01-31T09:00:00Z"}}"#);
    retired.learn(&event(super::RETIRED, payload));
    assert_eq!((told(&retired, None), told(&retired, text)), (None, None), "sent anew, it is kept again");

    let mut erased = retired.clone();
    erased.learn(&event(super::ERASED, format!(r#"{{"digest":"{digest}","reason":"a key"}}"#)));
    assert_eq!(told(&erased, None), None);
    assert!(told(&erased, text).unwrap().contains("is there again"));
}
