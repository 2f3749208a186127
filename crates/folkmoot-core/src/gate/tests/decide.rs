use crate::{gate::Choice, transcript::check};

#[test]
fn only_what_the_gate_allows_can_be_said() {
    check(
        r#"
        09:00 bot opens a                              → pending
        09:01 alice adjusts feedback=smaller           → refused: decision_not_allowed
        09:02 alice pauses                             → refused: decision_not_allowed
        09:03 bot opens b allowed=reject               → pending
        09:04 alice approves                           → refused: decision_not_allowed
        09:05 ada overrides "now"                      → refused: decision_not_allowed
        09:06 alice rejects "no"                       → rejected by alice, stop
        log                                            → opened, refused, refused, decided
        "#,
    );
}

#[test]
fn a_word_that_nobody_knows_is_no_decision() {
    for word in ["", "approved", "Approve", "approve ", "yes", "ok", "override"] {
        let error = word.parse::<Choice>().unwrap_err();
        assert_eq!(error.to_string(), format!("{word:?} is not one of approve, reject, adjust, pause"));
        assert!(serde_json::from_value::<Choice>(word.into()).is_err());
    }
}

#[test]
fn agents_and_viewers_do_not_decide_and_their_attempts_are_recorded() {
    check(
        r#"
        09:00 bot opens a                     → pending
        09:01 bot approves                    → refused: role_may_not decide
        09:02 elf approves                    → refused: role_may_not decide
        09:03 elf overrides "urgent"          → refused: role_may_not decide
        09:04 vera rejects "no"               → refused: role_may_not decide
        09:05 system approves                 → refused: role_may_not decide
        log                                   → opened, refused, refused, refused, refused
        09:06 alice approves                  → approved by alice, proceed
        09:07 elf rejects "too late"          → refused: role_may_not decide
        log                                   → opened, refused, refused, refused, refused, decided, refused
        "#,
    );
}

#[test]
fn nobody_decides_on_a_gate_of_their_own() {
    check(
        r#"
        09:00 alice opens a                      → pending
        09:01 alice approves                     → refused: own_gate
        09:02 alice rejects "never mind"         → refused: own_gate
        09:03 bob approves                       → approved by bob, proceed
        09:04 ada opens b                        → pending
        09:05 ada overrides "urgent"             → refused: own_gate
        09:06 max overrides "urgent"             → override by max, proceed
        "#,
    );
}

#[test]
fn nobody_opens_a_gate_in_a_persons_name() {
    check(
        r#"
        09:00 bot opens a for=alice              → refused: names_person
        09:00 bob opens b for=alice              → refused: names_person
        09:00 bot opens c for=vera               → refused: names_person
        09:01 bot opens d for=elf                → pending
        09:01 bot opens e for=nobody             → pending
        09:02 alice approves                     → approved by alice, proceed
        "#,
    );
}

#[test]
fn whoever_started_the_run_may_review_it_unless_that_is_denied() {
    check(
        r#"
        09:00 alice opens first run=run-1                               → pending
        09:01 bob opens a run=run-1                                     → pending
        09:02 alice approves                                            → approved by alice, proceed
        09:03 bob opens b run=run-1 self_review=deny                    → pending
        09:04 alice approves                                            → refused: self_review
        09:05 carol approves                                            → approved by carol, proceed
        09:06 bob opens c run=run-1 risk=critical                       → pending
        09:07 alice approves digest=r1                                  → refused: self_review
        09:08 bob opens d run=run-1 risk=critical self_review=allow     → pending
        09:09 alice approves digest=r1                                  → approved by alice, proceed
        policy self_review=deny
        09:10 bob opens e run=run-1                                     → pending
        09:11 alice approves                                            → refused: self_review
        policy self_review=allow
        09:12 bob opens f run=run-1 risk=critical                       → pending
        09:13 alice approves digest=r1                                  → approved by alice, proceed
        "#,
    );
}

#[test]
fn no_admin_overrides_where_self_review_is_denied_to_them() {
    check(
        r#"
        09:00 ada opens first run=run-1                    → pending
        09:01 bob opens a run=run-1 self_review=deny       → pending
        09:02 ada overrides "urgent"                       → refused: self_review
        09:03 max overrides "urgent"                       → override by max, proceed
        "#,
    );
}

#[test]
fn only_named_reviewers_decide() {
    check(
        r#"
        09:00 bot opens a reviewers=alice,bob    → pending
        09:01 carol approves                     → refused: not_a_reviewer
        09:02 ada approves                       → refused: not_a_reviewer
        09:03 bob approves                       → approved by bob, proceed
        09:04 bot opens b reviewers=bot,alice    → refused: invalid reviewers
        09:04 bot opens b reviewers=ghost        → refused: invalid reviewers
        09:04 alice opens b reviewers=bob,vera   → refused: invalid reviewers
        "#,
    );
}

#[test]
fn a_rejection_says_why() {
    check(
        r#"
        09:00 bot opens a                → pending
        09:01 alice rejects              → refused: reason_required
        09:02 alice rejects "  "         → refused: reason_required
        09:03 alice rejects "untested"   → rejected by alice, stop
        "#,
    );
}

#[test]
fn an_adjustment_says_how() {
    check(
        r#"
        09:00 bot opens a kind=proposal                          → pending
        09:01 alice adjusts                                      → refused: feedback_required
        09:02 alice adjusts "why" feedback="  " edited=          → refused: feedback_required
        09:03 alice approves edited=instead                      → refused: invalid edited
        09:04 alice rejects "no" edited=instead                  → refused: invalid edited
        09:05 alice adjusts edited=instead                       → adjust_requested by alice, retry
        decision                                                 → {"request_id":"a","decision":"adjust_requested","reviewer":"alice","reason":"","edited":"sha256:99262a02…","decided_at":"2026-01-31T09:05:00.000000Z","digest":"its digest","revision":1,"outcome":"retry"}
        09:06 bot opens b kind=proposal                          → pending
        09:07 alice adjusts feedback=smaller                     → adjust_requested by alice, retry
        "#,
    );
}

#[test]
fn each_kind_of_gate_has_its_own_words() {
    check(
        r#"
        09:00 bot opens a kind=proposal                                → pending
        09:01 alice pauses                                             → refused: decision_not_allowed
        09:02 alice adjusts feedback=smaller                           → adjust_requested by alice, retry
        09:03 bot opens b kind=checkpoint                              → pending
        09:04 alice adjusts feedback=smaller                           → adjust_strategy by alice, retry
        09:05 bot opens c kind=checkpoint                              → pending
        09:06 alice pauses                                             → paused by alice, proceed
        09:07 bot opens d kind=tool allowed=approve,reject,adjust      → pending
        09:08 alice adjusts feedback=smaller                           → adjust_requested by alice, retry
        09:09 bot opens e kind=phase                                   → pending
        09:10 alice adjusts feedback=smaller                           → refused: decision_not_allowed
        "#,
    );
}

#[test]
fn an_override_beats_the_quorum_and_the_list_of_reviewers() {
    check(
        r#"
        09:00 bot opens a quorum=2 reviewers=alice,bob   → pending
        09:01 alice approves                             → pending, alice approve
        09:02 bob overrides "urgent"                     → refused: role_may_not override
        09:03 ada overrides                              → refused: reason_required
        09:04 ada forces choice=pause "urgent"           → refused: decision_not_allowed
        09:05 ada overrides "urgent"                     → override by ada, proceed
        decision                                         → {"request_id":"a","decision":"override","reviewer":"ada","reason":"urgent","decided_at":"2026-01-31T09:05:00.000000Z","digest":"its digest","revision":1,"outcome":"proceed","votes":[{"reviewer":"alice","choice":"approve","reason":"","at":"2026-01-31T09:01:00.000000Z"},{"reviewer":"ada","choice":"approve","reason":"urgent","at":"2026-01-31T09:05:00.000000Z"}]}
        log                                              → opened, vote, refused, refused, refused, decided
        "#,
    );
}

#[test]
fn an_admin_rejects_by_force_too() {
    check(
        r#"
        09:00 bot opens a quorum=2 reviewers=alice,bob       → pending
        09:01 bob forces choice=reject "no"                  → refused: role_may_not override
        09:01 ada forces choice=reject                       → refused: reason_required
        09:01 ada forces choice=reject "not on my watch"     → rejected by ada, stop
        09:02 bot opens b kind=checkpoint                    → pending
        09:02 ada forces choice=pause "urgent"               → refused: invalid force
        "#,
    );
}

/// Where silence consents, who can object decides what happens: that is not an agent's to choose.
#[test]
fn where_silence_consents_an_agent_chooses_nobody_and_everybody_may_object() {
    check(
        r#"
        policy on_timeout=approve
        09:00 bot opens a reviewers=alice            → refused: weakens_policy reviewers
        09:00 bot opens b quorum=2                   → refused: weakens_policy quorum
        09:00 bot opens c for=elf                    → refused: weakens_policy on_behalf_of
        09:00 bot opens d on_timeout=fail quorum=2   → pending
        policy on_timeout=approve reject_quorum=2
        09:00 bot opens e reject_quorum=1            → refused: weakens_policy reject_quorum
        policy on_timeout=approve reviewers=alice,bob
        09:00 bot opens f reviewers=alice            → refused: weakens_policy reviewers
        09:00 bot opens g reviewers=bob,alice        → pending
        09:01 carol approves                         → refused: not_a_reviewer
        09:01 bot rejects "no"                       → refused: role_may_not decide
        09:01 carol rejects "not like this"          → rejected by carol, stop
        09:02 bot opens h                            → pending
        09:02 ada rejects "no"                       → rejected by ada, stop
        policy on_timeout=fail reviewers=alice,bob
        09:02 bot opens i                            → pending
        09:02 carol rejects "no"                     → refused: not_a_reviewer
        "#,
    );
}

#[test]
fn an_override_beats_neither_the_deadline_nor_a_decision_nor_the_digest() {
    check(
        r#"
        09:00 bot opens a risk=critical          → pending
        09:01 ada overrides "urgent"             → refused: digest_required
        09:30 ada overrides "urgent" digest=r1   → refused: gate_overdue
        09:31 bot opens b                        → pending
        09:32 alice rejects "no"                 → rejected by alice, stop
        09:33 ada overrides "urgent"             → refused: gate_decided by alice
        "#,
    );
}

#[test]
fn an_admin_who_voted_may_still_override() {
    check(
        r#"
        policy quorum=2 reject_quorum=2
        09:00 bot opens a                            → pending
        09:01 ada rejects "not yet"                  → pending, ada reject
        09:02 ada overrides "now it must"            → override by ada, proceed
        decision                                     → {"request_id":"a","decision":"override","reviewer":"ada","reason":"now it must","decided_at":"2026-01-31T09:02:00.000000Z","digest":"its digest","revision":1,"outcome":"proceed","votes":[{"reviewer":"ada","choice":"approve","reason":"now it must","at":"2026-01-31T09:02:00.000000Z"}]}
        "#,
    );
}

#[test]
fn a_decision_is_about_what_was_seen() {
    check(
        r#"
        09:00 bot opens a "Deploy 1.4.2"         → pending
        09:01 bot amends "Deploy 1.4.3"          → pending, revision 2
        09:02 alice approves digest=r1           → refused: stale_digest
        09:03 alice rejects "no" digest=r1       → refused: stale_digest
        09:04 alice approves digest=r2           → approved by alice, proceed
        09:05 bot opens b                        → pending
        09:06 alice approves                     → approved by alice, proceed
        "#,
    );
}

#[test]
fn a_critical_gate_is_not_decided_unseen() {
    check(
        r#"
        09:00 bot opens a risk=critical          → pending
        09:01 alice approves                     → refused: digest_required
        09:02 alice rejects "no"                 → refused: digest_required
        09:03 alice approves digest=r1           → approved by alice, proceed
        "#,
    );
}

#[test]
fn one_decision_wins_and_the_others_are_told_whose() {
    check(
        r#"
        09:00 bot opens a                → pending
        09:01 alice approves             → approved by alice, proceed
        09:01 bob rejects "no"           → refused: gate_decided by alice
        09:01 alice approves             → refused: gate_decided by alice
        09:02 alice approves on=nothing  → refused: unknown_gate
        "#,
    );
}
