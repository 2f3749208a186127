//! In whatever order a node hears of tokens.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use folkmoot_core::{
    Principal, Role, Timestamp,
    token::{Token, TokenKind},
};
use shuttle::thread;

use super::{CredentialState, Credentials};
use crate::lock::{
    lock,
    shuttled::{in_any_order, switch},
    write,
};

const OLD: [u8; 32] = [1; 32];
const NEW: [u8; 32] = [2; 32];

fn token(id: &str) -> Token {
    let name: folkmoot_core::Name = "bob".parse().unwrap();
    let principal = Principal::new(name.clone(), Role::Reviewer);
    let created_at = Timestamp::from_micros(0);
    Token {
        id: id.parse().unwrap(),
        principal,
        created_at,
        created_by: name,
        kind: TokenKind::Minted,
        revoked_at: None,
    }
}

/// All tokens, as they were read, with the hashes of their secrets.
type Rows = Vec<(Token, [u8; 32])>;

/// One node revokes a token while another is made beside it, and others read all tokens: from the
/// log, and because somebody follows it. `learn` is how what was read gets into memory.
fn revoke_beside_mint(learn: fn(&Credentials, Rows)) {
    in_any_order(move || {
        let rows = Arc::new(Mutex::new(vec![(token("old"), OLD)]));
        let credentials = Arc::new(Credentials::default());
        credentials.learn(lock(&rows).clone());
        let (revoked, minted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));

        let (at, known, said) = (rows.clone(), credentials.clone(), revoked.clone());
        let revoker = thread::spawn(move || {
            lock(&at)[0].0.revoked_at = Some(Timestamp::from_micros(1));
            switch();
            known.end("old".parse().unwrap());
            said.store(true, Ordering::SeqCst);
        });
        let (at, known, said) = (rows.clone(), credentials.clone(), minted.clone());
        let minter = thread::spawn(move || {
            lock(&at).push((token("new"), NEW));
            switch();
            known.learn([(token("new"), NEW)]);
            said.store(true, Ordering::SeqCst);
        });
        let readers = [(); 2].map(|()| {
            let (rows, credentials) = (rows.clone(), credentials.clone());
            thread::spawn(move || {
                let read = lock(&rows).clone();
                switch();
                learn(&credentials, read);
            })
        });
        let asker = thread::spawn(move || {
            for _ in 0..4 {
                let (gone, there) = (revoked.load(Ordering::SeqCst), minted.load(Ordering::SeqCst));
                switch();
                assert!(!gone || credentials.of(&OLD).is_none(), "a token works after its revocation was acknowledged");
                assert!(!there || credentials.of(&NEW).is_some(), "a token that was handed out does not work");
            }
        });
        [revoker, minter, asker].into_iter().chain(readers).for_each(|task| task.join().expect("no panic"));
    });
}

#[test]
fn no_order_of_events_revives_a_revoked_token_or_loses_a_new_one() {
    revoke_beside_mint(|credentials, read| credentials.learn(read));
}

/// That the above can fail at all: to replace all of them by what was read lets an older reading
/// win.
#[test]
#[should_panic(expected = "a token")]
fn replacing_what_is_known_revives_a_token_in_some_order() {
    revoke_beside_mint(|credentials, read| {
        let fresh = Credentials::default();
        fresh.learn(read);
        let fresh = std::mem::take(&mut *write(&fresh.known));
        *write(&credentials.known) = CredentialState { ..fresh };
    });
}
