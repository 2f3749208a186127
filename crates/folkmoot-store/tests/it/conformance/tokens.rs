use folkmoot_core::{
    Command, Digest, Principal, Refusal, Role,
    token::{Token, TokenKind},
};
use folkmoot_store::{Error, Store};

use crate::support::*;

pub(crate) async fn a_minted_token_is_listed_with_its_hash(store: &impl Store) {
    let first = token_of(store.execute(mint("token-2", "alice", Role::Reviewer, "s1")).await);
    let second = token_of(store.execute(mint("token-1", "alice", Role::Reviewer, "s2")).await);
    let expected = Token {
        id: "token-2".parse().unwrap(),
        principal: Principal::new(name("alice"), Role::Reviewer),
        created_at: noon(),
        created_by: name("root"),
        revoked_at: None,
        kind: TokenKind::Minted,
    };
    assert_eq!(first, expected);
    let hash = |secret: &[u8]| *Digest::of(secret).as_bytes();
    assert_eq!(store.tokens().await, Ok(vec![(second, hash(b"s2")), (first, hash(b"s1"))]));
    let kinds: Vec<_> = assert_sound(store).await.into_iter().map(|event| event.fact.kind).collect();
    assert_eq!(kinds, ["token.created", "token.created"]);
}

pub(crate) async fn a_revoked_token_says_when(world: &World<impl Place>) {
    let store = &*world.store;
    let token = token_of(store.execute(mint("token-1", "alice", Role::Reviewer, "s1")).await);
    world.clock.advance(minutes(1));
    let revoked = Token { revoked_at: Some(noon().plus(minutes(1))), ..token };
    assert_eq!(token_of(store.execute(revoke("token-1")).await), revoked);
    world.clock.advance(minutes(1));
    assert_eq!(token_of(store.execute(revoke("token-1")).await), revoked);
    assert_eq!(store.tokens().await.unwrap()[0].0, revoked);
    assert_eq!(assert_sound(store).await.len(), 2);
}

pub(crate) async fn a_name_has_one_role(store: &impl Store) {
    store.execute(mint("token-1", "alice", Role::Reviewer, "s1")).await.unwrap();
    let other = refusal_of(store.execute(mint("token-2", "alice", Role::Admin, "s2")).await);
    assert_eq!(other, Refusal::RoleTaken { name: name("alice"), role: Role::Reviewer });
    let (first, second) = tokio::join!(
        biased;
        store.execute(mint("token-3", "bob", Role::Reviewer, "s3")),
        store.execute(mint("token-4", "bob", Role::Agent, "s4")),
    );
    token_of(first);
    assert_eq!(refusal_of(second), Refusal::RoleTaken { name: name("bob"), role: Role::Reviewer });
}

pub(crate) async fn a_secret_belongs_to_one_token(store: &impl Store) {
    store.execute(mint("token-1", "alice", Role::Reviewer, "same")).await.unwrap();
    let (before, copy, after) = tokio::join!(
        biased;
        store.execute(mint("token-2", "bob", Role::Reviewer, "other")),
        store.execute(mint("token-3", "carol", Role::Reviewer, "same")),
        store.execute(mint("token-4", "bob", Role::Reviewer, "another")),
    );
    token_of(before);
    token_of(after);
    assert!(matches!(copy, Err(Error::Database(_))), "{copy:?}");
    assert_eq!(store.tokens().await.unwrap().len(), 3);
    // Nothing of it stayed: carol has no role yet.
    token_of(store.execute(mint("token-5", "carol", Role::Viewer, "fifth")).await);
    assert_eq!(assert_sound(store).await.len(), 4);
}

pub(crate) async fn mint_and_revoke_sent_at_once_act_in_turn(store: &impl Store) {
    let (minted, revoked) = tokio::join!(
        biased;
        store.execute(mint("token-1", "alice", Role::Reviewer, "s1")),
        store.execute(revoke("token-1")),
    );
    assert_eq!(token_of(minted).revoked_at, None);
    assert_eq!(token_of(revoked).revoked_at, Some(noon()));
    assert_eq!(store.tokens().await.unwrap()[0].0.revoked_at, Some(noon()));
}

pub(crate) async fn an_unknown_token_cannot_be_revoked(store: &impl Store) {
    let refusal = refusal_of(store.execute(revoke("token-9")).await);
    assert_eq!(refusal, Refusal::UnknownToken { token: "token-9".parse().unwrap() });
}

fn shown(token: &str, command: Command) -> Command {
    Command { token: Some(token.parse().unwrap()), ..command }
}

pub(crate) async fn a_revoked_token_acts_no_more(store: &impl Store) {
    store.execute(mint("token-1", "alice", Role::Reviewer, "s1")).await.unwrap();
    let [first, second] = [opened(store, new_gate()).await, opened(store, new_gate()).await];
    gate_of(store.execute(shown("token-1", approve(&first.id, "alice"))).await);
    store.execute(revoke("token-1")).await.unwrap();
    let before = store.head().await.unwrap();
    for token in ["token-1", "token-9"] {
        let refused = store.execute(shown(token, approve(&second.id, "alice"))).await;
        assert_eq!(refusal_of(refused), Refusal::Unauthenticated, "{token}");
    }
    assert_eq!(store.head().await.unwrap(), before, "nothing of it is recorded");
    gate_of(store.execute(approve(&second.id, "alice")).await);
}

pub(crate) async fn an_event_names_the_token_of_its_command(store: &impl Store) {
    for (token, secret) in [("token-1", "s1"), ("token-2", "s2")] {
        store.execute(mint(token, "alice", Role::Reviewer, secret)).await.unwrap();
    }
    for token in ["token-1", "token-2"] {
        let gate = an_open_gate(store).await;
        gate_of(store.execute(shown(token, approve(&gate.id, "alice"))).await);
    }
    let events = assert_sound(store).await;
    let tokens: Vec<_> = events.iter().map(|event| event.fact.token_id.as_ref().map(|token| token.as_str())).collect();
    assert_eq!(tokens, [None, None, None, Some("token-1"), None, Some("token-2")]);
}

pub(crate) async fn a_revoked_token_is_not_told_what_it_did_before(store: &impl Store) {
    store.execute(mint("token-1", "agent-a", Role::Agent, "s1")).await.unwrap();
    let again = || shown("token-1", keyed(open(agent("agent-a"), new_gate()), "POST /v1/gates", "k1", "body"));
    let first = store.execute(again()).await;
    assert_eq!(store.execute(again()).await, first);
    store.execute(revoke("token-1")).await.unwrap();
    assert_eq!(refusal_of(store.execute(again()).await), Refusal::Unauthenticated);
    // Another token of the same principal may ask.
    store.execute(mint("token-2", "agent-a", Role::Agent, "s2")).await.unwrap();
    let other = Command { token: Some("token-2".parse().unwrap()), ..again() };
    assert_eq!(store.execute(other).await, first);
}

pub(crate) async fn what_is_sent_with_the_revocation_is_judged_in_turn(store: &impl Store) {
    store.execute(mint("token-1", "alice", Role::Reviewer, "s1")).await.unwrap();
    let [first, second] = [opened(store, new_gate()).await, opened(store, new_gate()).await];
    let (before, revoked, after) = tokio::join!(
        biased;
        store.execute(shown("token-1", approve(&first.id, "alice"))),
        store.execute(revoke("token-1")),
        store.execute(shown("token-1", approve(&second.id, "alice"))),
    );
    gate_of(before);
    token_of(revoked);
    assert_eq!(refusal_of(after), Refusal::Unauthenticated);
    assert_sound(store).await;
}
