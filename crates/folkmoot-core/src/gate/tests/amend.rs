use crate::transcript::check;

#[test]
fn new_content_is_a_new_revision_on_which_no_earlier_vote_counts() {
    check(
        r#"
        09:00 bot opens a "Deploy 1.4.2" quorum=2     → pending
        09:01 alice approves                          → pending, alice approve
        09:02 bot amends "Deploy 1.4.3"               → pending, revision 2
        timer                                         → 09:30:00
        09:03 bob approves                            → refused: digest_required
        09:03 bob approves digest=r1                  → refused: stale_digest
        09:03 bob approves digest=r2                  → pending, revision 2, bob approve
        09:04 alice rejects "what changed?"           → refused: digest_required
        09:04 alice approves digest=r2                → approved by alice, proceed
        log                                           → opened, vote, amended, refused, refused, vote, refused, decided
        "#,
    );
}

#[test]
fn the_same_content_changes_nothing() {
    check(
        r#"
        09:00 bot opens a "Deploy" quorum=2 artifacts=change.diff:+1                                 → pending
        09:01 alice approves                                                                         → pending, alice approve
        09:02 bot amends "Deploy" title=Deploy risk=medium artifacts=change.diff:+1                  → unchanged: pending, alice approve
        09:03 bot amends                                                                             → unchanged: pending, alice approve
        09:04 bot amends artifacts=change.diff:+2                                                    → pending, revision 2
        09:05 bot amends artifacts=                                                                  → pending, revision 3
        09:06 bot amends title=Release                                                               → pending, revision 4
        "#,
    );
}

#[test]
fn what_is_at_stake_never_shrinks() {
    check(
        "
        09:00 bot opens a risk=high        → pending
        09:01 bot amends risk=medium       → refused: weakens_policy risk
        09:02 bot amends risk=critical     → pending, revision 2
        09:03 bot amends risk=high         → refused: weakens_policy risk
        09:04 alice approves               → refused: digest_required
        09:05 alice approves digest=r1     → refused: stale_digest
        09:06 alice approves digest=r2     → approved by alice, proceed
        ",
    );
}

#[test]
fn what_is_raised_to_critical_is_not_its_initiators_to_decide() {
    check(
        "
        09:00 alice opens first run=run-1          → pending
        09:00 bob opens a run=run-1 risk=high      → pending
        09:01 bob amends risk=critical             → pending, revision 2
        09:02 alice approves digest=r2             → refused: self_review
        09:03 carol approves digest=r2             → approved by carol, proceed
        ",
    );
}

#[test]
fn a_gate_is_changed_a_bounded_number_of_times() {
    let changes: String = (2..=100).map(|n| format!("09:00 bot amends \"{n}\" → pending, revision {n}\n")).collect();
    check(&format!("09:00 bot opens a → pending\n{changes}09:01 bot amends \"101\" → refused: invalid gate"));
}

#[test]
fn only_the_requester_amends() {
    check(
        r#"
        09:00 bot opens a                  → pending
        09:01 alice amends "Delete"        → refused: not_requester amend
        09:01 ada amends "Delete"          → refused: not_requester amend
        09:01 vera amends "Delete"         → refused: not_requester amend
        09:01 elf amends "Delete"          → refused: unknown_gate
        09:01 system amends "Delete"       → refused: role_may_not amend a gate
        log                                → opened
        "#,
    );
}

#[test]
fn what_is_closed_or_overdue_is_not_amended() {
    check(
        r#"
        09:00 bot opens a                  → pending
        09:30 bot amends "Delete"          → refused: gate_overdue
        09:31 system expires               → timed_out by timeout, stop
        09:32 bot amends "Delete"          → refused: gate_decided by timeout
        "#,
    );
}

#[test]
fn an_amended_title_is_one_line_like_any_other() {
    check(
        "
        09:00 bot opens a                      → pending
        09:01 bot amends title=two{nl}lines    → refused: invalid title
        09:01 bot amends title=two{cr}lines    → refused: invalid title
        09:02 bot amends title=\"  \"          → refused: invalid title
        09:03 bot amends title=\" {300} \"     → pending, revision 2
        ",
    );
}

#[test]
fn where_silence_consents_new_content_gets_the_whole_time_again() {
    check(
        r#"
        policy on_timeout=approve
        09:00 bot opens a "Fix a typo"              → pending
        09:29:59 bot amends "Drop the database"     → pending, revision 2
        timer                                       → 09:59:59
        09:30 system expires                        → unchanged: pending, revision 2
        09:31 bot amends "Drop the database"        → unchanged: pending, revision 2
        timer                                       → 09:59:59
        09:59:59 system expires                     → timed_out by timeout, proceed
        "#,
    );
}

#[test]
fn where_silence_consents_no_amendment_voids_a_no() {
    check(
        r#"
        policy on_timeout=approve reject_quorum=2
        09:00 bot opens a "Fix a typo"              → pending
        09:01 alice approves                        → approved by alice, proceed
        09:02 bot opens b "Drop the database"       → pending
        09:03 alice rejects "never"                 → pending, alice reject
        09:04 bot amends "Drop the database "       → refused: invalid gate
        "#,
    );
}

#[test]
fn no_amendment_shortens_a_deadline() {
    check(
        r#"
        policy on_timeout=approve
        09:00 bot opens a "Fix a typo"              → pending
        09:01 alice extends by=5h                   → pending
        09:02 bot amends "Fix two"                  → pending, revision 2
        timer                                       → 14:01:00
        "#,
    );
}
