use super::Token;
use crate::{
    Capability,
    transcript::{check, play},
};

#[test]
fn only_admins_and_the_first_start_make_and_end_tokens() {
    check(
        "
        09:00 system mints id=t1 name=ada role=admin      → token of ada, admin
        09:01 ada mints id=t2 name=bob role=reviewer      → token of bob, reviewer
        09:02 bob mints id=t3 name=carol role=reviewer    → refused: role_may_not manage tokens
        09:02 bot mints id=t3 name=bot role=admin         → refused: role_may_not manage tokens
        09:02 vera mints id=t3 name=vera role=admin       → refused: role_may_not manage tokens
        09:03 bob revokes id=t1                           → refused: role_may_not manage tokens
        09:04 bot revokes id=t2                           → refused: role_may_not manage tokens
        log of=token:t2                                   → created
        ",
    );
}

#[test]
fn no_token_carries_a_name_that_the_log_uses_itself() {
    check(
        "
        09:00 ada mints id=t1 name=auto role=reviewer        → refused: invalid name
        09:00 ada mints id=t1 name=system role=admin         → refused: invalid name
        09:00 ada mints id=t1 name=timer role=agent          → refused: invalid name
        09:00 ada mints id=t1 name=timeout role=reviewer     → refused: invalid name
        09:00 ada mints id=t1 name=ai:judge role=reviewer    → refused: invalid name
        09:00 ada mints id=t1 name=aida role=reviewer        → token of aida, reviewer
        ",
    );
}

#[test]
fn a_name_has_one_role() {
    check(
        "
        09:00 ada mints id=t1 name=bob role=reviewer    → token of bob, reviewer
        09:01 ada mints id=t2 name=bob role=admin       → refused: role_taken
        09:02 ada mints id=t2 name=bob role=reviewer    → token of bob, reviewer
        09:03 ada revokes id=t1                         → token of bob, reviewer, revoked
        09:04 ada mints id=t3 name=bob role=agent       → refused: role_taken
        ",
    );
}

#[test]
fn a_token_is_revoked_once() {
    check(
        "
        09:00 ada mints id=t1 name=bob role=reviewer    → token of bob, reviewer
        09:01 ada revokes id=t1                         → token of bob, reviewer, revoked
        09:02 max revokes id=t1                         → unchanged: token of bob, reviewer, revoked
        09:03 ada revokes id=t9                         → refused: unknown_token
        log of=token:t1                                 → created, revoked
        ",
    );
}

#[test]
fn a_token_can_allow_to_halt() {
    check(
        "
        09:00 ada mints id=t1 name=mon role=agent can=halt    → token of mon, agent, can halt
        09:01 ada mints id=t2 name=mon role=agent             → token of mon, agent
        09:02 mon mints id=t3 name=mon role=agent can=halt    → refused: role_may_not manage tokens
        09:03 ada revokes id=t1                               → token of mon, agent, can halt, revoked
        ",
    );
}

#[test]
fn a_token_reads_back_also_from_before_there_were_capabilities() {
    let world = play("09:00 ada mints id=t1 name=mon role=agent can=halt\n09:00 ada mints id=t2 name=bot role=agent");
    let payloads: Vec<_> = world.log.iter().map(|event| event.fact.payload.as_str()).collect();
    let read = |payload| serde_json::from_str::<Token>(payload).unwrap();
    let tokens: Vec<_> = payloads.iter().copied().map(read).collect();
    assert_eq!(tokens, world.tokens.values().cloned().collect::<Vec<_>>());
    assert_eq!(tokens[0].principal.capabilities, [Capability::Halt]);
    let before = r#"{"id":"t2","name":"bot","role":"agent","created_at":"2026-01-31T09:00:00.000000Z","created_by":"ada","revoked_at":null}"#;
    assert_eq!((payloads[1], read(before)), (before, tokens[1].clone()));
}
