use crate::transcript::check;

#[test]
fn two_of_three_pass_the_gate() {
    check(
        r#"
        09:00 bot opens a quorum=2 reviewers=alice,bob,carol   → pending
        09:01 alice approves                                   → pending, alice approve
        09:02 dave approves                                    → refused: not_a_reviewer
        09:03 alice approves                                   → refused: already_voted
        09:04 alice rejects "changed my mind"                  → refused: already_voted
        09:05 carol approves "fine"                            → approved by carol, proceed
        decision                                               → {"request_id":"a","decision":"approved","reviewer":"carol","reason":"fine","decided_at":"2026-01-31T09:05:00.000000Z","digest":"its digest","revision":1,"outcome":"proceed","votes":[{"reviewer":"alice","choice":"approve","reason":"","at":"2026-01-31T09:01:00.000000Z"},{"reviewer":"carol","choice":"approve","reason":"fine","at":"2026-01-31T09:05:00.000000Z"}]}
        09:06 bob rejects "no"                                 → refused: gate_decided by carol
        "#,
    );
}

#[test]
fn one_rejection_ends_it() {
    check(
        r#"
        09:00 bot opens a quorum=3   → pending
        09:01 alice approves         → pending, alice approve
        09:02 bob approves           → pending, alice approve, bob approve
        09:03 carol rejects "no"     → rejected by carol, stop
        "#,
    );
}

#[test]
fn a_gate_can_ask_for_more_than_one_rejection() {
    check(
        r#"
        policy reject_quorum=2
        09:00 bot opens a                                    → pending
        09:01 alice rejects "no"                             → pending, alice reject
        09:02 alice rejects "no!"                            → refused: already_voted
        09:03 bob rejects "no"                               → rejected by bob, stop
        09:04 bot opens b                                    → pending
        09:05 alice rejects "no"                             → pending, alice reject
        09:06 bob approves                                   → approved by bob, proceed
        "#,
    );
}

#[test]
fn a_pause_needs_the_quorum_and_is_no_approval() {
    check(
        "
        09:00 bot opens a kind=checkpoint quorum=2   → pending
        09:01 alice approves                         → pending, alice approve
        09:02 bob pauses                             → pending, alice approve, bob pause
        09:03 carol pauses                           → paused by carol, proceed
        ",
    );
}

#[test]
fn an_adjustment_by_any_ends_it_like_a_rejection() {
    check(
        "
        09:00 bot opens a kind=proposal quorum=3   → pending
        09:01 alice approves                       → pending, alice approve
        09:02 bob adjusts feedback=smaller         → adjust_requested by bob, retry
        ",
    );
}

#[test]
fn those_who_object_count_together_however_they_put_it() {
    check(
        r#"
        policy reject_quorum=2
        09:00 bot opens a quorum=2 kind=proposal reviewers=alice,bob,carol   → pending
        09:01 alice approves                                                 → pending, alice approve
        09:02 bob rejects "no"                                               → pending, alice approve, bob reject
        09:03 carol adjusts feedback=smaller                                 → adjust_requested by carol, retry
        "#,
    );
}
