use crate::transcript::check;

#[test]
fn a_gate_waits_half_an_hour_for_anybody_who_may_decide() {
    check(
        r#"
        09:00 bot opens deploy          → pending
        timer                           → 09:30:00
        content                         → {"title":"Deploy 1.4.2","summary":"sha256:28dbf6fe…","phase":"merge","kind":"custom","risk":"medium","artifacts":[],"allowed":["approve","reject"],"on_timeout":"fail","reviewers":[],"quorum":1}
        decision                        → null
        09:01 alice approves "tested"   → approved by alice, proceed
        decision                        → {"request_id":"deploy","decision":"approved","reviewer":"alice","reason":"tested","decided_at":"2026-01-31T09:01:00.000000Z","digest":"its digest","revision":1,"outcome":"proceed"}
        timer                           → none
        log                             → opened, decided
        "#,
    );
}

#[test]
fn whoever_only_reads_opens_nothing() {
    check(
        "
        09:00 vera opens deploy         → refused: role_may_not open a gate
        09:00 system opens deploy       → refused: role_may_not open a gate
        09:00 alice opens deploy        → pending
        ",
    );
}

#[test]
fn a_gate_without_a_deadline_has_no_timer() {
    check(
        "
        09:00 bot opens deploy timeout=never   → pending
        timer                                  → none
        23:59 system expires                   → unchanged: pending
        23:59 alice approves                   → approved by alice, proceed
        ",
    );
}

#[test]
fn the_title_is_the_summarys_first_line() {
    check(
        r#"
        09:00 bot opens a "{nl}  Deploy{nl}to production"     → pending
        content                                               → {"title":"Deploy","summary":"sha256:1ea56989…","phase":"merge","kind":"custom","risk":"medium","artifacts":[],"allowed":["approve","reject"],"on_timeout":"fail","reviewers":[],"quorum":1}
        09:00 bot opens b "{400}é"                            → pending
        09:00 bot opens c "{299}é is cut before the letter"   → pending
        09:00 bot opens d title="two{nl}lines"                → refused: invalid title
        09:00 bot opens d title="two{cr}lines"                → refused: invalid title
        09:00 bot opens e title="  trimmed{nl}"               → pending
        "#,
    );
}

#[test]
fn a_gate_that_nobody_could_reject_is_none() {
    check(
        "
        09:00 bot opens deploy allowed=approve          → refused: invalid allowed
        09:00 bot opens deploy allowed=                 → refused: invalid allowed
        09:00 bot opens deploy allowed=reject,approve   → pending
        ",
    );
}

#[test]
fn artifacts_have_different_names() {
    check(
        "
        09:00 bot opens deploy artifacts=change.diff:+1,change.diff:-1   → refused: invalid artifacts
        09:00 bot opens deploy artifacts=change.diff:+1,test.log:ok      → pending
        ",
    );
}

#[test]
fn a_run_that_nobody_knows_starts_with_its_first_gate() {
    check(
        "
        09:00 bot opens a run=run-1                  → pending
        runs                                         → run-1: session run-1, bot's external
        log of=run:run-1                             → started
        09:01 bot opens b run=run-1                  → pending
        09:02 bot opens c run=run-2 session=shared   → pending
        runs                                         → run-1: session run-1, bot's external, run-2: session shared, bot's external
        log of=run:run-1                             → started
        09:03 bot opens d session=loose              → pending
        sessions                                     → loose, run-1, shared
        ",
    );
}

#[test]
fn an_agent_opens_no_gate_on_anothers_run() {
    check(
        "
        09:00 bot opens a run=run-1                  → pending
        09:01 elf opens b run=run-1                  → refused: not_your_run
        09:02 alice opens c run=run-1                → pending
        09:03 bot opens d run=run-1 session=other    → refused: invalid session_id
        09:04 bot opens e run=run-1 session=run-1    → pending
        ",
    );
}

#[test]
fn a_run_is_woken_when_its_gate_closes_and_not_before() {
    check(
        r#"
        09:00 bot opens a run=run-1 quorum=2                  → pending
        09:01 alice approves                                  → pending, alice approve
        09:02 bot approves                                    → refused: role_may_not decide
        09:03 bot amends "Deploy 1.4.3"                       → pending, revision 2
        09:04 alice extends by=1h                             → pending, revision 2
        wakes                                                 → none
        09:05 bob rejects "no" digest=r2                      → rejected by bob, stop
        wakes                                                 → run-1
        09:06 carol approves                                  → refused: gate_decided by bob
        09:07 system expires                                  → unchanged: rejected by bob, stop
        wakes                                                 → run-1
        09:10 bot opens b run=run-2 timeout=1m                → pending
        09:11 system expires                                  → timed_out by timeout, stop
        09:12 bot opens c run=run-3                           → pending
        09:13 bot cancels                                     → cancelled by bot, stop
        09:14 bot opens d                                     → pending
        09:15 alice approves                                  → approved by alice, proceed
        wakes                                                 → run-1, run-2, run-3
        "#,
    );
}

#[test]
fn the_named_channels_hear_of_opening_escalation_and_decision() {
    check(
        "
        policy tell=ops on_timeout=escalate
        09:00 bot opens a tell=mail,ops quorum=2   → pending
        outbox                                     → mail a gate.opened, ops a gate.opened
        09:01 alice approves                       → pending, alice approve
        09:30 system expires                       → pending, escalated, alice approve
        09:31 bob approves                         → approved by bob, proceed
        outbox                                     → mail a gate.opened, ops a gate.opened, mail a gate.escalated, ops a gate.escalated, mail a gate.decided, ops a gate.decided
        ",
    );
}

#[test]
fn the_same_question_is_asked_once() {
    check(
        r#"
        09:00 bot opens a "Deploy" key=k        → pending
        09:01 bot opens b "Deploy" key=k        → unchanged: existing a, pending
        09:02 bot opens c "Delete" key=k        → refused: dedupe_conflict a
        09:03 elf opens d "Deploy" key=k        → pending
        09:04 bot opens e "Deploy" key=other    → pending
        09:05 alice approves on=a               → approved by alice, proceed
        09:06 bot opens f "Deploy" key=k        → pending
        "#,
    );
}

#[test]
fn a_pending_duplicate_whose_time_is_over_is_settled_before_the_next_opens() {
    check(
        r#"
        09:00 bot opens a "Deploy" key=k run=run-1    → pending
        09:29:58 bot opens b "Deploy" key=k           → refused: dedupe_conflict a
        09:29:59 bot opens b "Deploy" key=k run=run-1 → unchanged: existing a, pending
        09:30 bot opens c "Deploy" key=k              → pending
        log on=a                                      → opened, decided
        log on=c                                      → opened
        wakes                                         → run-1
        timer on=a                                    → none
        timer on=c                                    → 10:00:00
        09:31 alice approves on=a                     → refused: gate_decided by timeout
        "#,
    );
}

#[test]
fn a_pending_duplicate_that_escalates_is_still_the_one_that_was_asked() {
    check(
        r#"
        09:00 bot opens a "Deploy" key=k on_timeout=escalate    → pending
        09:30 bot opens b "Deploy" key=k on_timeout=escalate    → existing a, pending, escalated
        log on=a                                                → opened, escalated
        09:31 bot opens c "Delete" key=k on_timeout=escalate    → refused: dedupe_conflict a
        10:00 bot opens d "Delete" key=k on_timeout=escalate    → pending
        log on=a                                                → opened, escalated, decided
        "#,
    );
}

#[test]
fn a_pending_duplicate_that_would_escalate_is_left_to_its_timer_when_the_opening_is_refused() {
    check(
        r#"
        09:00 bot opens a "Deploy" key=k on_timeout=escalate    → pending
        09:30 bot opens b "Delete" key=k on_timeout=escalate    → refused: dedupe_conflict a
        log on=a                                                → opened
        timer on=a                                              → 09:30:00
        "#,
    );
}
