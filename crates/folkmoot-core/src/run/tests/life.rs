use crate::transcript::check;

#[test]
fn a_run_lives_as_its_module_draws_it() {
    check(
        r#"
        09:00 bot starts r1 draft@1 "[]"           → pending
        09:00 system beats n1 for=1m               → unchanged: nothing
        09:00 system beats n2 for=1h               → unchanged: nothing
        09:00 system claims node=n1                → running on n1, claim 1
        09:01 system claims node=n2                → running on n2, claim 2
        09:02 system records nap sleeps for=8m     → waiting until 09:10:00, 1 attempt
        09:02 system parks due=09:10               → parked
        timer run=r1                               → 09:10:00
        09:10 system wakes                         → unchanged: nothing
        timer run=r1                               → none
        09:10 system claims node=n2                → running on n2, claim 3
        09:11 system stops "its code is unknown"   → stopped stuck
        09:12 system claims node=n2                → refused: run_not_ready
        09:13 alice resumes                        → pending
        09:14 system claims node=n2                → running on n2, claim 4
        09:15 system ends "42"                     → completed by system
        09:16 system claims node=n2                → refused: run_ended
        log of=run:r1                              → started, claimed, resumed, recorded, parked, resumed, stopped, reopened, resumed, ended
        runs                                       → r1: session r1, bot's custom
        "#,
    );
}

#[test]
fn a_run_of_somebody_elses_agent_has_no_worker() {
    check(
        r#"
        09:00 bot starts r1 session=s1     → outside
        09:01 system claims node=n1        → refused: run_not_ready
        09:01 system wakes                 → unchanged: nothing
        09:01 system claims node=n1        → refused: run_not_ready
        09:01 system parks                 → refused: lease_lost
        09:01 system stops                 → refused: lease_lost
        09:01 system ends "1"              → refused: lease_lost
        09:02 alice resumes                → refused: not_ours
        09:03 bot ends "1"                 → completed by bot
        09:04 bot ends "1"                 → unchanged: completed by bot
        log of=run:r1                      → started, ended
        "#,
    );
}

#[test]
fn every_state_but_the_last_can_be_cancelled() {
    check(
        r#"
        09:00 bot starts r1 draft@1                → pending
        09:00 bot cancels-run "no"                 → cancelled by bot
        09:01 bot starts r2 draft@1                → pending
        09:01 system claims node=n1                → running on n1, claim 1
        09:01 bot cancels-run "no"                 → cancelled by bot
        09:02 bot starts r3 draft@1                → pending
        09:02 system claims node=n1                → running on n1, claim 1
        09:02 system parks due=09:10               → parked
        09:02 alice cancels-run "no"               → cancelled by alice
        timer run=r3                               → none
        09:03 bot starts r4 draft@1                → pending
        09:03 system claims node=n1                → running on n1, claim 1
        09:03 system stops                         → stopped stuck
        09:03 ada cancels-run "no"                 → cancelled by ada
        09:04 bot starts r5                        → outside
        09:04 system cancels-run "no"              → cancelled by system
        09:05 ada cancels-run r1 "again"           → refused: run_ended
        09:05 ada cancels-run nobody "again"       → refused: unknown_run
        event 2 of=run:r1                          → bot: run.ended {"initiator":"bot","outcome":"cancelled","reason":"no","by":"bot","at":"2026-01-31T09:00:00.000000Z"}
        "#,
    );
}

#[test]
fn nothing_moves_a_run_that_is_over() {
    for end in ["system ends \"42\"", "system ends code=boom \"it broke\"", "bot cancels-run \"no\""] {
        let word = if end.contains("code") {
            "failed"
        } else if end.contains("bot") {
            "cancelled"
        } else {
            "completed"
        };
        let by = end.split(' ').next().unwrap();
        check(&format!(
            r#"
            09:00 bot starts r1 draft@1                → pending
            09:01 system claims node=n1                → running on n1, claim 1
            09:02 {end}                                → {word} by {by}
            09:03 system records a does "1"            → refused: run_ended
            09:03 system records a begins              → refused: run_ended
            09:03 system records g opens g1            → refused: run_ended
            09:03 system parks                         → refused: run_ended
            09:03 system stops                         → refused: run_ended
            09:03 system ends "43"                     → refused: run_ended
            09:03 system claims node=n2                → refused: run_ended
            09:03 bot records a does "1"               → refused: run_ended
            09:03 bot cancels-run                      → refused: run_ended
            09:03 alice resumes                        → refused: run_ended
            09:03 system wakes                         → unchanged: nothing
            09:04 bot opens g1 run=r1                  → refused: run_ended
            09:04 alice opens g1 run=r1                → refused: run_ended
            09:04 bot asks q1 CLARIFYING run=r1        → refused: run_ended
            09:04 bot starts r1                        → refused: run_exists
            wakes                                      → none
            log of=run:r1                              → started, claimed, ended
            "#
        ));
    }
}
