use folkmoot_core::{Digest, Principal, Refusal, Role, token::Token};
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
